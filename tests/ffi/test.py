#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
#
# usage: tests/ffi/test.py FOLDER      FOLDER has libkudzu.so
#
# The library through Python's ctypes: nothing of C but the symbols of the shared object.  Structs
# are declared here by hand, as a binding does, and their sizes compared with the library's.
# docs/ffi.md shows test_vecadd.

import ctypes
import sys
import unittest
from ctypes import POINTER, Structure, byref, c_char_p, c_double, c_float, c_int, c_int32, c_int64, \
    c_size_t, c_uint32, c_uint64, c_void_p


class Dim3(Structure):
    _fields_ = [("x", c_int64), ("y", c_int64), ("z", c_int64)]


class Shape(Structure):
    _fields_ = [("ndim", c_int64), ("dims", c_int64 * 16)]


class Axes(Structure):
    _fields_ = [("count", c_int64), ("items", c_int64 * 16)]


# The unions of kz_arg hold 8 bytes each, and what is in them is the library's business.
class Arg(Structure):
    _fields_ = [("kind", c_int32), ("width", c_int32), ("size", c_int64), ("value", c_uint64)]


class Args(Structure):
    _fields_ = [("items", POINTER(Arg)), ("count", c_size_t)]


class Var(Structure):
    _fields_ = [("name", c_char_p), ("value", Arg)]


class Slice(Structure):
    _fields_ = [("kind", c_int32), ("reserved", c_int32), ("start", c_int64), ("stop", c_int64),
                ("step", c_int64)]


class Slices(Structure):
    _fields_ = [("items", POINTER(Slice)), ("count", c_int64)]


class LaunchOptions(Structure):
    _fields_ = [("size", c_size_t), ("stream", c_void_p), ("shared_size", c_int64),
                ("cooperative", c_int32), ("reserved_int", c_int32), ("reserved", c_void_p * 4)]


STRUCTS = {"kz_dim3": Dim3, "kz_shape": Shape, "kz_axes": Axes, "kz_arg": Arg, "kz_args": Args,
           "kz_var": Var, "kz_slice": Slice, "kz_slices": Slices,
           "kz_launch_options": LaunchOptions}

# Numbers that never change, from docs/ffi.md.
OK, COMPILE, ARGUMENT = 0, 9, 13
I32, F32 = 4, 12
OP_ADD, REDUCE_SUM = 1, 1
ARG_UINT, ARG_IN, ARG_OUT = 3, 11, 12
OMIT = -2**63

handle, text = c_void_p, c_char_p
SIGNATURES = {
    "kz_version_string": (text,),
    "kz_struct_init": (c_size_t, c_void_p, c_size_t, text),
    "kz_error_create": (handle,),
    "kz_error_release": (None, handle),
    "kz_error_clear": (None, handle),
    "kz_error_status": (c_int, handle),
    "kz_error_domain": (c_int, handle),
    "kz_error_code": (c_int32, handle),
    "kz_error_flags": (c_uint32, handle),
    "kz_error_message": (text, handle),
    "kz_error_name": (text, handle),
    "kz_error_call": (text, handle),
    "kz_error_hint": (text, handle),
    "kz_error_file": (text, handle),
    "kz_error_log": (text, handle),
    "kz_error_line": (c_int32, handle),
    "kz_error_column": (c_int32, handle),
    "kz_error_format": (c_size_t, handle, text, c_size_t),
    "kz_dim": (Dim3, c_int64, c_int64, c_int64),
    "kz_shape_from": (Shape, POINTER(c_int64), c_int64),
    "kz_axes_from": (Axes, POINTER(c_int64), c_int64),
    "kz_arg_f32": (Arg, c_float),
    "kz_arg_f64": (Arg, c_double),
    "kz_arg_int": (Arg, c_int64, c_int32),
    "kz_arg_array": (Arg, handle),
    "kz_arg_strided": (Arg, handle),
    "kz_arg_pointer": (Arg, c_int, c_void_p, c_int64),
    "kz_slice_range": (Slice, c_int64, c_int64, c_int64),
    "kz_slice_index": (Slice, c_int64),
    "kz_device_open": (c_int, POINTER(handle), text, handle),
    "kz_device_close": (None, handle),
    "kz_device_name": (text, handle),
    "kz_module_compile": (c_int, POINTER(handle), handle, text, c_void_p, handle),
    "kz_module_kernel": (c_int, POINTER(handle), handle, text, handle),
    "kz_module_release": (None, handle),
    "kz_array_from": (c_int, POINTER(handle), handle, c_uint32, Shape, c_void_p, c_int64, handle),
    "kz_array_zeros": (c_int, POINTER(handle), handle, c_uint32, Shape, handle),
    "kz_array_arange": (c_int, POINTER(handle), handle, c_uint32, Arg, Arg, Arg, handle),
    "kz_array_slice": (c_int, POINTER(handle), handle, Slices, handle),
    "kz_array_get": (c_int, handle, c_void_p, c_int64, handle),
    "kz_array_format": (c_int, handle, text, c_int64, POINTER(c_int64), handle),
    "kz_array_release": (None, handle),
    "kz_launch_args": (c_int, handle, Dim3, Dim3, c_void_p, POINTER(Arg), c_size_t, handle),
    "kz_apply": (c_int, POINTER(handle), c_int, c_void_p, handle, Args),
    "kz_reduce": (c_int, POINTER(handle), c_int, handle, Axes, c_void_p, handle),
    "kz_eval_vars": (c_int, POINTER(handle), text, c_void_p, POINTER(Var), c_size_t, handle),
}

kudzu = ctypes.CDLL(sys.argv.pop(1) + "/libkudzu.so")
for name, (result, *parameters) in SIGNATURES.items():
    function = getattr(kudzu, name)
    function.restype, function.argtypes = result, parameters

SOURCE = b"""
__global__ void vecadd(const float *a, const float *b, float *c, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		c[i] = a[i] + b[i];
}
"""


def shape(*dims):
    return kudzu.kz_shape_from((c_int64 * len(dims))(*dims), len(dims))


def made(function, *arguments):
    """What a function of the library puts into its first parameter."""
    out = handle()
    assert function(byref(out), *arguments) == OK
    return out


class TestFfi(unittest.TestCase):
    def setUp(self):
        self.err = kudzu.kz_error_create()
        self.dev = made(kudzu.kz_device_open, None, self.err)

    def tearDown(self):
        self.assertEqual(kudzu.kz_error_message(self.err), b"")
        kudzu.kz_error_release(self.err)
        kudzu.kz_device_close(self.dev)

    def array(self, values):
        host = (c_float * len(values))(*values)
        return made(kudzu.kz_array_from, self.dev, F32, shape(len(values)), host,
                    ctypes.sizeof(host), self.err)

    def values(self, array, count, ctype=c_float):
        host = (ctype * count)()
        self.assertEqual(kudzu.kz_array_get(array, host, ctypes.sizeof(host), self.err), OK)
        return list(host)

    def text(self, array):
        length = c_int64()
        self.assertEqual(kudzu.kz_array_format(array, None, 0, byref(length), self.err), OK)
        buffer = ctypes.create_string_buffer(length.value + 1)
        self.assertEqual(kudzu.kz_array_format(array, buffer, len(buffer), None, self.err), OK)
        self.assertEqual(len(buffer.value), length.value)
        return buffer.value.decode()

    def test_structs_are_as_large_as_the_library_says(self):
        for name, struct in STRUCTS.items():
            size = kudzu.kz_struct_init(None, 0, name.encode())
            self.assertEqual(size, ctypes.sizeof(struct), name)
        self.assertEqual(kudzu.kz_struct_init(None, 0, b"kz_nothing"), 0)
        self.assertEqual(kudzu.kz_struct_init(None, 0, None), 0)

    def test_a_struct_is_initialized_if_there_is_room(self):
        options = LaunchOptions(shared_size=1)
        size = ctypes.sizeof(options)
        kudzu.kz_struct_init(byref(options), size - 1, b"kz_launch_options")
        self.assertEqual(options.shared_size, 1)
        kudzu.kz_struct_init(byref(options), size, b"kz_launch_options")
        self.assertEqual((options.size, options.shared_size), (size, 0))

    def test_a_struct_gets_the_defaults_of_its_macro(self):
        scan = (c_int64 * 16)()
        kudzu.kz_struct_init(byref(scan), ctypes.sizeof(scan), b"kz_scan_options")
        self.assertEqual(scan[1], -1)  # the axis
        integrate = (ctypes.c_double * 32)()
        kudzu.kz_struct_init(byref(integrate), ctypes.sizeof(integrate), b"kz_integrate_options")
        self.assertEqual(integrate[4:6], [1, 1])  # dx, dy

    def test_vecadd(self):
        mod = made(kudzu.kz_module_compile, self.dev, SOURCE, None, self.err)
        vecadd = made(kudzu.kz_module_kernel, mod, b"vecadd", self.err)
        n = 1000
        a, b = self.array(range(n)), self.array([0.5] * n)
        c = made(kudzu.kz_array_zeros, self.dev, F32, shape(n), self.err)
        args = (Arg * 4)(*map(kudzu.kz_arg_array, (a, b, c)), kudzu.kz_arg_int(n, 4))
        options = LaunchOptions()
        kudzu.kz_struct_init(byref(options), ctypes.sizeof(options), b"kz_launch_options")
        self.assertEqual(kudzu.kz_launch_args(vecadd, kudzu.kz_dim(4, 1, 1), Dim3(256, 1, 1),
                                              byref(options), args, 4, self.err), OK)
        self.assertEqual(self.values(c, n), [i + 0.5 for i in range(n)])
        for array in (a, b, c):
            kudzu.kz_array_release(array)
        kudzu.kz_module_release(mod)

    def test_host_memory_as_an_argument(self):
        mod = made(kudzu.kz_module_compile, self.dev, SOURCE, None, self.err)
        vecadd = made(kudzu.kz_module_kernel, mod, b"vecadd", self.err)
        a, b, c = (c_float * 4)(1, 2, 3, 4), (c_float * 4)(10, 20, 30, 40), (c_float * 4)()
        args = (Arg * 4)(kudzu.kz_arg_pointer(ARG_IN, a, 16), kudzu.kz_arg_pointer(ARG_IN, b, 16),
                         kudzu.kz_arg_pointer(ARG_OUT, c, 16), kudzu.kz_arg_int(4, 4))
        self.assertEqual(kudzu.kz_launch_args(vecadd, Dim3(1, 1, 1), Dim3(4, 1, 1), None, args, 4,
                                              self.err), OK)
        self.assertEqual(list(c), [11, 22, 33, 44])
        kudzu.kz_module_release(mod)

    def test_a_wrong_argument_is_told_by_functions(self):
        mod = made(kudzu.kz_module_compile, self.dev, SOURCE, None, self.err)
        vecadd = made(kudzu.kz_module_kernel, mod, b"vecadd", self.err)
        a = self.array([1, 2])
        args = (Arg * 4)(*map(kudzu.kz_arg_array, (a, a, a)), kudzu.kz_arg_f32(2.5))
        status = kudzu.kz_launch_args(vecadd, Dim3(1, 1, 1), Dim3(2, 1, 1), None, args, 4, self.err)
        self.assertEqual(status, ARGUMENT)
        self.assertEqual(kudzu.kz_error_status(self.err), ARGUMENT)
        self.assertIn(b"argument 4 of 'vecadd'", kudzu.kz_error_message(self.err))
        self.assertEqual(kudzu.kz_error_domain(self.err), 0)
        self.assertEqual(kudzu.kz_error_code(self.err), 0)
        self.assertEqual(kudzu.kz_error_flags(self.err), 0)
        kudzu.kz_error_clear(self.err)
        kudzu.kz_array_release(a)
        kudzu.kz_module_release(mod)

    def test_a_strided_array_is_passed_on_purpose_only(self):
        mod = made(kudzu.kz_module_compile, self.dev, SOURCE, None, self.err)
        vecadd = made(kudzu.kz_module_kernel, mod, b"vecadd", self.err)
        a = self.array([1, 2, 3, 4])
        odd = made(kudzu.kz_array_slice, a,
                   Slices((Slice * 1)(kudzu.kz_slice_range(1, OMIT, 2)), 1), self.err)
        for pass_array, want in ((kudzu.kz_arg_array, ARGUMENT), (kudzu.kz_arg_strided, OK)):
            args = (Arg * 4)(kudzu.kz_arg_array(a), pass_array(odd), kudzu.kz_arg_array(a),
                             kudzu.kz_arg_int(1, 4))
            status = kudzu.kz_launch_args(vecadd, Dim3(1, 1, 1), Dim3(1, 1, 1), None, args, 4,
                                          self.err)
            self.assertEqual(status, want)
            kudzu.kz_error_clear(self.err)
        self.assertEqual(self.values(a, 4), [3, 2, 3, 4])
        for array in (a, odd):
            kudzu.kz_array_release(array)
        kudzu.kz_module_release(mod)

    def test_a_compile_error_is_told_by_functions(self):
        out = handle()
        status = kudzu.kz_module_compile(byref(out), self.dev,
                                         b"__global__ void k()\n{\n\tx = 1;\n}",
                                         None, self.err)
        self.assertEqual((status, out.value), (COMPILE, None))
        self.assertEqual(kudzu.kz_error_file(self.err), b"kernel.cu")
        self.assertEqual((kudzu.kz_error_line(self.err), kudzu.kz_error_column(self.err)), (3, 2))
        self.assertIn(b'"x" is undefined', kudzu.kz_error_log(self.err))
        self.assertEqual(kudzu.kz_error_name(self.err), b"NVRTC_ERROR_COMPILATION")
        self.assertNotEqual(kudzu.kz_error_call(self.err), b"")
        self.assertIsNotNone(kudzu.kz_error_hint(self.err))
        buffer = ctypes.create_string_buffer(kudzu.kz_error_format(self.err, None, 0) + 1)
        kudzu.kz_error_format(self.err, buffer, len(buffer))
        self.assertIn(b"kernel.cu:3:2: error: ", buffer.value)
        kudzu.kz_error_clear(self.err)

    def test_no_error_is_an_error_that_says_ok(self):
        for name, (_, *parameters) in SIGNATURES.items():
            if name.startswith("kz_error_") and parameters == [handle]:
                self.assertIn(getattr(kudzu, name)(None), (0, b"", None), name)

    def test_operations_reductions_and_expressions(self):
        a = self.array([1, 2, 3])
        args = (Arg * 2)(kudzu.kz_arg_array(a), kudzu.kz_arg_f64(0.5))
        b = made(kudzu.kz_apply, OP_ADD, None, self.err, Args(args, 2))
        self.assertEqual(self.values(b, 3), [1.5, 2.5, 3.5])
        total = made(kudzu.kz_reduce, REDUCE_SUM, b, kudzu.kz_axes_from(None, -1), None, self.err)
        self.assertEqual(self.values(total, 1), [7.5])
        c = made(kudzu.kz_eval_vars, b"2*a + n", None,
                 (Var * 2)(Var(b"a", kudzu.kz_arg_array(a)), Var(b"n", kudzu.kz_arg_int(1, 4))), 2,
                 self.err)
        self.assertEqual(self.values(c, 3), [3, 5, 7])
        for array in (a, b, c, total):
            kudzu.kz_array_release(array)

    def test_views_and_numbers_in_a_row(self):
        row = made(kudzu.kz_array_arange, self.dev, I32, kudzu.kz_arg_int(0, 4),
                   kudzu.kz_arg_int(10, 4), kudzu.kz_arg_int(1, 4), self.err)
        odd = made(kudzu.kz_array_slice, row,
                   Slices((Slice * 1)(kudzu.kz_slice_range(1, OMIT, 2)), 1), self.err)
        self.assertEqual(self.values(odd, 5, c_int32), [1, 3, 5, 7, 9])
        self.assertEqual(self.text(odd), "[1 3 5 7 9]\n")
        kudzu.kz_array_release(row)
        kudzu.kz_array_release(odd)

    def test_a_text_that_does_not_fit_is_cut(self):
        a = self.array([1, 2])
        buffer = ctypes.create_string_buffer(b"xxxxxxxx", 9)
        length = c_int64()
        self.assertEqual(kudzu.kz_array_format(a, buffer, 4, byref(length), self.err), OK)
        self.assertEqual((buffer.raw[:5], length.value), (b"[1.\0x", len("[1. 2.]\n")))
        kudzu.kz_array_release(a)


if __name__ == "__main__":
    unittest.main()
