# SPDX-License-Identifier: MIT
"""What PyTorch takes for samples/16_iris: 100 epochs of its network, warm, as lines of JSON.

usage: iris_python.py [cuda | cpu]

Eager, as the course has it; on a GPU also with an epoch as a CUDA graph.  The same weights and
rows as the sample's, so the first losses must agree.
"""
import json
import pathlib
import re
import sys
import time

import numpy as np
import torch

DEVICE = sys.argv[1] if len(sys.argv) > 1 else "cuda"
ROUNDS = 11
EPOCHS = 100
TESTED = 30
FIRST_LOSS = 1.15071142  # as the course prints it


def read_rows():
    """The rows to train with, as iris_split of samples/iris.h has them, and their kinds."""
    text = (pathlib.Path(__file__).parent.parent / "samples/iris.h").read_text(encoding="ascii")
    table = text[text.index("iris[IRIS_ROWS]"):text.index("};", text.index("iris[IRIS_ROWS]"))]
    rows = np.array(re.findall(r"(\d\.\d)f", table), dtype=np.float32).reshape(150, 4)
    order = np.random.RandomState(33).permutation(150)[TESTED:]
    return torch.tensor(rows[order]), torch.tensor(order // 50)


def make(capturable):
    """The network and its optimizer, new."""
    torch.manual_seed(32)
    layers = [torch.nn.Linear(4, 8), torch.nn.Linear(8, 9), torch.nn.Linear(9, 3)]
    model = torch.nn.Sequential(layers[0], torch.nn.ReLU(), layers[1], torch.nn.ReLU(),
                                layers[2]).to(DEVICE)
    return model, torch.optim.Adam(model.parameters(), lr=0.01, capturable=capturable)


def settle():
    """All that was asked for is done."""
    if DEVICE == "cuda":
        torch.cuda.synchronize()


def epoch(model, optimizer, rows, kinds):
    """One step with all rows; its loss, on the device."""
    loss = torch.nn.functional.cross_entropy(model(rows), kinds)
    optimizer.zero_grad(set_to_none=False)
    loss.backward()
    optimizer.step()
    return loss.detach()


def fit_eager(rows, kinds):
    """Seconds of 100 epochs, and the first loss."""
    model, optimizer = make(False)
    settle()
    start = time.perf_counter()
    losses = [epoch(model, optimizer, rows, kinds) for _ in range(EPOCHS)]
    settle()
    return time.perf_counter() - start, losses[0].item()


def fit_graph(rows, kinds):
    """The same with a graph of an epoch, which is made outside of what is timed."""
    model, optimizer = make(True)
    first = torch.nn.functional.cross_entropy(model(rows), kinds).item()
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            epoch(model, optimizer, rows, kinds)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        epoch(model, optimizer, rows, kinds)
    settle()
    start = time.perf_counter()
    for _ in range(EPOCHS):
        graph.replay()
    settle()
    return time.perf_counter() - start, first


def report(what, fit, rows, kinds):
    """Time it some times, after once that is not measured."""
    samples = []
    for i in range(ROUNDS + 1):
        seconds, loss = fit(rows, kinds)
        if abs(loss - FIRST_LOSS) > 1e-4:
            sys.exit(f"iris_python.py: the first loss is {loss}, expected {FIRST_LOSS}")
        if i > 0:
            samples.append(seconds * 1e3)
    samples.sort()
    print(json.dumps({
        "case": "iris: 100 epochs, warm", "what": what, "unit": "ms",
        "median": float(f"{samples[ROUNDS // 2]:.6g}"), "low": float(f"{samples[1]:.6g}"),
        "high": float(f"{samples[ROUNDS - 2]:.6g}"), "rounds": ROUNDS}), flush=True)


def main():
    rows, kinds = (x.to(DEVICE) for x in read_rows())
    version = f"torch {torch.__version__}"
    report(f"{version}, eager", fit_eager, rows, kinds)
    if DEVICE == "cuda":
        report(f"{version}, CUDA graph", fit_graph, rows, kinds)


main()
