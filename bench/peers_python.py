# SPDX-License-Identifier: MIT
"""The workers of bench_peers for PyCUDA, cuda.core and CuPy; bench/peers.h has the orders.

usage: peers_python.py pycuda|cuda.core|cupy cpu|cuda FOLDER

FOLDER is for the cache of compiled kernels.  Each class below calls its package as its manual
does, and checks nothing.  The function `obey` measures and checks.
"""
import ctypes
import sys
import time

ENGINE, DEVICE, FOLDER = sys.argv[1:4]
IS_GPU = DEVICE == "cuda"
ARCH = "compute_89"  # of the CPU device, which takes PTX; for a GPU the packages choose

try:
    import numpy as np
except ImportError:
    print("absent not installed: numpy", flush=True)
    sys.exit()

THREADS = 32
NUMBERED = """extern "C" __global__ void numbered(int *x, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) {
		x[i] = %d + i;
	}
}
"""
LAUNCHED = """extern "C" __global__ void one(float *y)
{
	y[0] += 1;
}
extern "C" __global__ void six(float a, const float *x, float *y, int n,
	long long step, double b)
{
	y[0] += a * x[0] * n * step * (float)b;
}
"""


class PyCUDA:
    """SourceModule, or what it does with PTX; functions called and prepared; memcpy_*."""

    def __init__(self):
        import pycuda
        import pycuda.autoinit
        import pycuda.compiler
        import pycuda.driver

        self.driver = pycuda.driver
        self.compiler = pycuda.compiler
        self.version = f"PyCUDA {pycuda.VERSION_TEXT}"
        self.wait = self.driver.Context.synchronize

    def compile(self, source, name):
        if IS_GPU:
            return self.compiler.SourceModule(source, no_extern_c=True).get_function(name)
        ptx = self.compiler.compile(source, no_extern_c=True, target="ptx", arch=ARCH)
        return self.driver.module_from_buffer(ptx).get_function(name)

    def call(self, kernel, threads, args):
        block = (threads, 1, 1)
        return lambda: kernel(*args, block=block, grid=(1, 1))

    def prepared(self, kernel, threads, args):
        kernel.prepare([arg.dtype if isinstance(arg, np.generic) else np.intp for arg in args])
        block = (threads, 1, 1)
        args = [arg if isinstance(arg, np.generic) else np.intp(int(arg)) for arg in args]
        return lambda: kernel.prepared_call((1, 1), block, *args)

    def device_memory(self, size):
        return self.driver.mem_alloc(size)

    def part(self, memory, offset, _size):
        return int(memory) + offset

    def pinned(self, size):
        host = self.driver.pagelocked_empty(size // 8, np.uint64)
        return host, host

    def pageable(self, host):
        return host

    def htod(self, memory, host):
        self.driver.memcpy_htod(memory, host)

    def dtoh(self, host, memory):
        self.driver.memcpy_dtoh(host, memory)


class CudaCore:
    """Program with a FileStreamProgramCache, launch, Buffer.copy_from."""

    def __init__(self):
        from cuda import core
        from cuda.core.utils import FileStreamProgramCache

        self.core = core
        self.version = f"cuda.core {core.__version__}"
        self.device = core.Device()
        self.device.set_current()
        self.stream = self.device.create_stream()
        self.cache = FileStreamProgramCache(FOLDER)
        self.wait = self.stream.sync
        self.pinned_memory = core.LegacyPinnedMemoryResource()

    def compile(self, source, name):
        options = None if IS_GPU else self.core.ProgramOptions(arch=ARCH)
        program = self.core.Program(source, "c++", options)
        code = program.compile("cubin" if IS_GPU else "ptx", cache=self.cache)
        return code.get_kernel(name)

    def call(self, kernel, threads, args):
        config = self.core.LaunchConfig(grid=1, block=threads)
        launch, stream = self.core.launch, self.stream
        return lambda: launch(stream, config, kernel, *args)

    prepared = None

    def device_memory(self, size):
        return self.device.allocate(size, stream=self.stream)

    def part(self, memory, offset, size):
        return self.core.Buffer.from_handle(int(memory.handle) + offset, size)

    def pinned(self, size):
        host = self.pinned_memory.allocate(size)
        words = (ctypes.c_uint64 * (size // 8)).from_address(int(host.handle))
        return np.frombuffer(words, np.uint64), host

    def pageable(self, host):
        """A handle that owns nothing: so copies take the host's memory."""
        return self.core.Buffer.from_handle(host.ctypes.data, host.nbytes, owner=host)

    def htod(self, memory, host):
        memory.copy_from(host, stream=self.stream)
        self.stream.sync()

    def dtoh(self, host, memory):
        host.copy_from(memory, stream=self.stream)
        self.stream.sync()


class CuPy:
    """RawModule; ndarray.set and get."""

    def __init__(self):
        import cupy
        import cupyx

        self.cupy = cupy
        self.cupyx = cupyx
        self.version = f"CuPy {cupy.__version__}"
        self.wait = cupy.cuda.Device().synchronize

    def compile(self, source, name):
        return self.cupy.RawModule(code=source).get_function(name)

    def call(self, kernel, threads, args):
        grid, block = (1,), (threads,)
        return lambda: kernel(grid, block, args)

    prepared = None

    def device_memory(self, size):
        return self.cupy.empty(size // 8, np.uint64)

    def part(self, memory, offset, size):
        return memory[offset // 8:(offset + size) // 8]

    def pinned(self, size):
        host = self.cupyx.empty_pinned(size // 8, np.uint64)
        return host, host

    def pageable(self, host):
        return host

    def htod(self, memory, host):
        memory.set(host)
        self.wait()

    def dtoh(self, host, memory):
        memory.get(out=host)


class WrongResult(Exception):
    """What a peer computed or copied is not what it should be."""


class Worker:
    """Measures one engine.  Methods return the seconds of one call, or None if it has no such."""

    def __init__(self, engine):
        self.engine = engine
        self.word = np.zeros(1, np.uint64)
        self.word_handle = engine.pageable(self.word)
        self.numbers = engine.device_memory(THREADS * 4)
        self.x, self.y = engine.device_memory(8), engine.device_memory(8)
        self.poke(self.x, np.float32(1))
        self.kernels = {}
        self.size = self.is_pinned = self.memory = self.host = self.handle = None
        self.serial = 0

    def poke(self, memory, value):
        """Set the first bytes of 8 on the device."""
        self.word[:] = 0
        self.word.view(value.dtype)[0] = value
        self.engine.htod(memory, self.word_handle)

    def peek(self, memory, dtype):
        self.engine.dtoh(self.word_handle, memory)
        return self.word.view(dtype)[0]

    def compile(self, number):
        engine, source = self.engine, NUMBERED % int(number)
        start = time.perf_counter()
        kernel = engine.compile(source, "numbered")
        engine.call(kernel, THREADS, (self.numbers, np.int32(THREADS)))()
        engine.wait()
        seconds = time.perf_counter() - start
        last = self.peek(engine.part(self.numbers, (THREADS - 2) * 4, 8), np.int32)
        if last != int(number) + THREADS - 2:
            raise WrongResult
        return seconds

    def kernel(self, name):
        if name not in self.kernels:
            self.kernels[name] = self.engine.compile(LAUNCHED, name)
        return self.kernels[name]

    def launch(self, arguments, calls, make=None):
        engine, calls = self.engine, int(calls)
        six = (np.float32(2), self.x, self.y, np.int32(1), np.int64(1), np.float64(0.5))
        kernel = self.kernel("six" if arguments == "6" else "one")
        run = (make or engine.call)(kernel, 1, six if arguments == "6" else (self.y,))
        self.poke(self.y, np.float32(0))
        engine.wait()
        start = time.perf_counter()
        for _ in range(calls):
            run()
        seconds = (time.perf_counter() - start) / calls
        engine.wait()
        if self.peek(self.y, np.float32) != calls:
            raise WrongResult
        return seconds

    def prepared(self, arguments, calls):
        make = self.engine.prepared
        return self.launch(arguments, calls, make) if make else None

    def take_memory(self, is_pinned, size):
        """Memory for copies, touched once."""
        if (size, is_pinned) == (self.size, self.is_pinned):
            return
        self.memory = self.host = self.handle = None
        self.memory = self.engine.device_memory(size)
        if is_pinned:
            self.host, self.handle = self.engine.pinned(size)
        else:
            self.host = np.empty(size // 8, np.uint64)
            self.handle = self.engine.pageable(self.host)
        self.host[:] = 1
        self.engine.htod(self.memory, self.handle)
        self.size, self.is_pinned = size, is_pinned

    def copy(self, is_htod, kind, size, calls):
        """The same as Kudzu's: what no copy has carried must be on the other side afterwards."""
        engine, size, calls = self.engine, int(size), int(calls)
        self.take_memory(kind == "pinned", size)
        memory, host, handle = self.memory, self.host, self.handle
        self.serial += 1
        serial, last = np.uint64(self.serial), size // 8 - 1
        marks = {i: engine.part(memory, i * 8, 8) for i in (0, last // 2, last)}
        for i, part in marks.items():
            if is_htod:
                host[i] = serial
            else:
                self.poke(part, serial)
        start = time.perf_counter()
        if is_htod:
            for _ in range(calls):
                engine.htod(memory, handle)
        else:
            for _ in range(calls):
                engine.dtoh(handle, memory)
        seconds = (time.perf_counter() - start) / calls
        for i, part in marks.items():
            if (self.peek(part, np.uint64) if is_htod else host[i]) != serial:
                raise WrongResult
        return seconds

    def htod(self, *order):
        return self.copy(True, *order)

    def dtoh(self, *order):
        return self.copy(False, *order)


def one_line(error):
    """An exception as one line of an answer."""
    if isinstance(error, WrongResult):
        return "wrong result"
    return f"{type(error).__name__}: {error}".strip().splitlines()[0][:200]


def main():
    engines = {"pycuda": PyCUDA, "cuda.core": CudaCore, "cupy": CuPy}
    try:
        worker = Worker(engines[ENGINE]())
    except ModuleNotFoundError as error:
        print("absent not installed:", error.name, flush=True)
        return
    except Exception as error:  # whatever a package raises
        print("absent not measured: " + ("no GPU" if ENGINE == "cupy" and not IS_GPU
                                         else one_line(error)), flush=True)
        return
    print("ready", worker.engine.version, flush=True)
    for line in sys.stdin:
        order, *arguments = line.split()
        try:
            seconds = getattr(worker, order)(*arguments)
            print("none" if seconds is None else f"ok {seconds:.9g}", flush=True)
        except Exception as error:
            print("failed", one_line(error), flush=True)


main()
