# SPDX-License-Identifier: MIT
"""A line of what a benchmark in Python measures, as bench/run.sh has them."""
import json


def report(case, what, unit, samples):
    """The median and the quartiles."""
    samples = sorted(samples)
    low = len(samples) // 4
    print(json.dumps({"case": case, "what": what, "unit": unit,
                      "median": float(f"{samples[len(samples) // 2]:.6g}"),
                      "low": float(f"{samples[low]:.6g}"),
                      "high": float(f"{samples[-1 - low]:.6g}"),
                      "rounds": len(samples)}, separators=(",", ":")), flush=True)
