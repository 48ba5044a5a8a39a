# SPDX-License-Identifier: MIT
"""What the tools that check random kernels share: addresses, guards, and the loop over seeds."""
import argparse
import ctypes
import json
import os
import random
import re
import subprocess
import sys
import tempfile

KERNELS = 40            # that a seed makes

# What a thread's address is made of, beside the PTX that computes it in %x.
PLACES = {
	"own": (lambda t, n: t, "mov.u32 %x, %t;"),
	"exchanged": (lambda t, n: t ^ n, "xor.b32 %x, %t, {n};"),
	"multiple": (lambda t, n: t * (n | 1) & 127,
		"mul.lo.u32 %x, %t, {odd}; and.b32 %x, %x, 127;"),
	"shared": (lambda t, n: t >> n % 6, "shr.u32 %x, %t, {shift};"),
	"one": (lambda t, n: n, "mov.u32 %x, {n};"),
	"reversed": (lambda t, n: 127 - t, "sub.u32 %x, 127, %t;"),
}
# Which threads make an access.
GUARDS = {
	"below": (lambda t, n: t < n, "setp.lt.u32 %p, %t, {n};"),
	"from": (lambda t, n: t >= n, "setp.ge.u32 %p, %t, {n};"),
	"each": (lambda t, n: t % n == 0, "rem.u32 %y, %t, {n}; setp.eq.u32 %p, %y, 0;"),
	"single": (lambda t, n: t == n, "setp.eq.u32 %p, %t, {n};"),
}


def place_text(place, n):
	return PLACES[place][1].format(n=n, odd=n | 1, shift=n % 6)


class Driver:
	"""The functions of the CPU device's driver, with a context."""

	def __init__(self, build):
		self.cuda = ctypes.CDLL(os.path.join(build, "kudzu-cpu/libcuda.so.1"))
		self("cuInit", 0)
		self("cuCtxCreate_v2", ctypes.byref(ctypes.c_void_p()), 0, 0)

	def __call__(self, name, *args):
		code = getattr(self.cuda, name)(*args)
		if code:
			sys.exit(f"{name}: {code}")

	def load(self, path):
		module = ctypes.c_void_p()
		self("cuModuleLoad", ctypes.byref(module), path.encode())
		return module

	def alloc(self, size):
		address = ctypes.c_uint64()
		self("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
		return address

	def launch(self, module, name, blocks, threads, args):
		"""With a line before what is reported."""
		function = ctypes.c_void_p()
		values = (ctypes.c_void_p * len(args))(*map(ctypes.addressof, args))
		self("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
		print(f"LAUNCH {name}", file=sys.stderr, flush=True)
		self("cuLaunchKernel", function, blocks, 1, 1, threads, 1, 1, 0, None, values, None)
		self("cuCtxSynchronize")


def run_apart(driver, folder, plan):
	"""In a process of its own: launch kernels, each in a context, which a fault ends."""
	for name, blocks, threads, dynamic, sizes in json.loads(plan):
		context, function = ctypes.c_void_p(), ctypes.c_void_p()
		driver("cuCtxCreate_v2", ctypes.byref(context), 0, 0)
		module = driver.load(f"{folder}/{name}.ptx")
		args = [driver.alloc(size) for size in sizes]
		values = (ctypes.c_void_p * 2)(*map(ctypes.addressof, args))
		driver("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
		print(f"LAUNCH {name}", file=sys.stderr, flush=True)
		driver("cuLaunchKernel", function, blocks, 1, 1, threads, 1, 1, dynamic, None,
			values, None)
		print(f"code {driver.cuda.cuCtxSynchronize()}", file=sys.stderr, flush=True)
		driver.cuda.cuCtxDestroy_v2(context)


def check_apart(build, kernels, what, draw, widths, compare):
	"""Run kernels, which have text(), and compare what is reported of each."""
	plan = json.dumps([[k.name, k.blocks, k.threads, k.sizes["dynamic"],
		[k.sizes["first"], k.sizes["second"]]] for k in kernels])
	wrong = 0
	with tempfile.TemporaryDirectory() as folder:
		for kernel in kernels:
			with open(f"{folder}/{kernel.name}.ptx", "w") as file:
				file.write("\n".join(kernel.text()) + "\n")
		for width in widths:
			tier = draw.choice("12")
			text = run_again(build, folder, [plan], KUDZU_CHECK=what,
				KUDZU_CPU_WIDTH=width, KUDZU_CPU_TIER=tier)
			parts = re.split(r"LAUNCH (\w+)\n", text)
			parts = dict(zip(parts[1::2], parts[2::2]))
			wrong += sum(compare(k, f"width {width}, tier {tier}, {k.name}",
				parts[k.name]) for k in kernels)
	return wrong


def run_again(build, path, rest, **settings):
	"""Call the tool's `run` in a process of its own; what it printed on stderr."""
	done = subprocess.run([sys.executable, sys.argv[0], build, "--run", path, *rest],
		env=dict(os.environ, KUDZU_CACHE="0", **settings), capture_output=True, text=True)
	if done.returncode != 0:
		sys.exit(f"{settings}: {done.stderr[-1000:]}")
	return done.stderr


def main(usage, run, check):
	"""check(build, draw, seed, widths) returns how many answers are wrong."""
	parser = argparse.ArgumentParser(usage=usage.split("\n\n")[1][7:])
	parser.add_argument("build")
	parser.add_argument("--seeds", default="1:20")
	parser.add_argument("--widths", default="1,8,16,32")
	parser.add_argument("--run", nargs="+", help=argparse.SUPPRESS)
	options = parser.parse_args()
	if options.run:
		return run(Driver(options.build), *options.run)
	first, last = map(int, options.seeds.split(":"))
	wrong = sum(check(options.build, random.Random(seed), seed, options.widths.split(","))
		for seed in range(first, last + 1))
	print(f"{(last - first + 1) * KERNELS} kernels, {wrong} wrong answers")
	sys.exit(wrong > 0)
