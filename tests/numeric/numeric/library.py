# SPDX-License-Identifier: MIT
#
# libkudzu.so through ctypes.  Prototypes, structs and constants are read from the public headers,
# so a new function needs no line here.
#
# call(name, ...) takes a function's inputs in the order of its prototype.  It supplies the rest:
# the `kz_array **out` in front, the device, the options (a dictionary, or None), and the error.
# Operands become arrays on the device for the time of the call, and results become numpy arrays.

import ctypes
import glob
import re
from ctypes import Structure, byref, c_char_p, c_double, c_float, c_int, c_int32, c_int64, \
    c_size_t, c_uint32, c_uint64, c_void_p

import numpy as np

from numeric.operands import Operand, from_raw, raw_dtype

# kz_dtype has these numbers.
DTYPES = ["", "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
          "float16", "bfloat16", "float32", "float64", "complex64", "complex128",
          "float8_e4m3fn", "float8_e5m2"]


class Arg(Structure):
    _fields_ = [("kind", c_int32), ("width", c_int32), ("size", c_int64), ("value", c_uint64)]


SCALARS = {"int": c_int, "int32_t": c_int32, "int64_t": c_int64, "uint32_t": c_uint32,
           "uint64_t": c_uint64, "size_t": c_size_t, "double": c_double, "float": c_float,
           "kz_dtype": c_uint32, "char": ctypes.c_char, "uint8_t": ctypes.c_uint8}


class Refused(Exception):
    """A call that returned a status other than KZ_OK."""

    def __init__(self, status, message):
        super().__init__(f"{status}: {message}")
        self.status = status


class Result:
    def __init__(self, value, dtype):
        self.value, self.dtype = value, dtype


class Handle:
    """What a function put into a parameter that is no array; released by its owner."""

    def __init__(self, address):
        self.address = address


class Headers:
    """The enums, structs and prototypes of include/kudzu."""

    def __init__(self, folder):
        text = "".join(open(name).read() for name in sorted(glob.glob(folder + "/kudzu/*.h")))
        text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
        self.defines = {name: int(value, 0) for name, value in
                        re.findall(r"^#define (KZ_\w+) (\d\w*)u?$", text, flags=re.M)
                        if re.fullmatch(r"\d+|0x[0-9a-fA-F]+", value)}
        text = re.sub(r"^#(.*\\\n)*.*$", "", text, flags=re.M)
        self.types = dict(SCALARS, kz_arg=Arg)
        for body, name in re.findall(r"typedef enum \w+ \{(.*?)\} (\w+);", text, flags=re.S):
            self.types[name] = c_int
            for constant, value in re.findall(r"(KZ_\w+) = (-?\w+)", body):
                self.defines[constant] = int(value, 0)
        self.structs = dict(re.findall(r"typedef struct (\w+) \{([^{}]*)\} \1;", text))
        self.prototypes = {name: (result.strip(), parameters) for result, name, parameters in
                           re.findall(r"KZ_API\s+(?:KZ_NODISCARD\s+)?([\w\s*]*?)(\w+)\(([^()]*)\);",
                                      text)}

    def type(self, words):
        words = re.sub(r"\b(const|volatile|struct)\b", " ", words).split()
        if words == ["void"]:
            return None
        if "*" in "".join(words):
            return c_void_p
        if words[0] not in self.types:
            self.types[words[0]] = type(words[0], (Structure,),
                                        {"_fields_": self.fields(self.structs[words[0]])})
        return self.types[words[0]]

    def fields(self, body):
        fields = []
        for declaration in filter(str.strip, body.split(";")):
            words, name, count = re.fullmatch(r"\s*(.*?)(\w+)(?:\[(\w+)\])?\s*", declaration,
                                              flags=re.S).groups()
            kind = self.type(words)
            if count:
                kind = kind * int(self.defines.get(count, count))
            fields.append((name, kind))
        return fields

    def parameters(self, name):
        """(type as written, name) of each parameter."""
        text = " ".join(self.prototypes[name][1].split())
        return [re.fullmatch(r"(.*?)(\w+)(?:\[\d*\])?", each.strip()).groups()
                for each in text.split(",") if each.strip() != "void"]


class Library:
    def __init__(self, build, headers):
        self.headers = Headers(headers)
        self.c = ctypes.CDLL(build + "/libkudzu.so")
        self.declared = {}
        self.err = self.function("kz_error_create")()
        self.device = c_void_p()
        self.stream = c_void_p()
        self.ok(self.function("kz_device_open")(byref(self.device), None, self.err))
        self.ok(self.function("kz_stream_create")(byref(self.stream), self.device, 0, self.err))

    def close(self):
        self.function("kz_stream_release")(self.stream)
        self.function("kz_device_close")(self.device)
        self.function("kz_error_release")(self.err)

    def has(self, name):
        return name in self.headers.prototypes

    def number(self, constant):
        return self.headers.defines[constant]

    def function(self, name):
        if name not in self.declared:
            function = getattr(self.c, name)
            result = self.headers.prototypes[name][0]
            function.restype = c_char_p if result == "const char *" else self.headers.type(result)
            function.argtypes = [self.headers.type(words)
                                 for words, _ in self.headers.parameters(name)]
            self.declared[name] = function
        return self.declared[name]

    def ok(self, status):
        if not status:
            return
        message = self.function("kz_error_message")(self.err).decode()
        self.function("kz_error_clear")(self.err)
        raise Refused(self.function("kz_status_name")(status).decode(), message)

    # Arrays

    def shape(self, name, dims):
        struct = self.headers.type(name)()
        if dims is None:
            struct.count = -1
            return struct
        items = struct.dims if name == "kz_shape" else struct.items
        setattr(struct, "ndim" if name == "kz_shape" else "count", len(dims))
        items[:len(dims)] = dims
        return struct

    def upload(self, operand):
        """Two handles: of all the memory of an operand, and of its view."""
        raw, whole, view = operand.raw, c_void_p(), c_void_p()
        self.ok(self.function("kz_array_from")(
            byref(whole), self.device, DTYPES.index(operand.dtype),
            self.shape("kz_shape", raw.shape), raw.ctypes.data, raw.nbytes, self.err))
        strides = (c_int64 * max(1, len(operand.shape)))(*operand.strides)
        self.ok(self.function("kz_array_view")(
            byref(view), whole, self.shape("kz_shape", operand.shape), strides, operand.offset,
            self.err))
        return whole, view

    def download(self, array):
        dtype = DTYPES[self.function("kz_array_dtype")(array)]
        shape = self.function("kz_array_shape")(array)
        raw = np.empty(tuple(shape.dims[:shape.ndim]), raw_dtype(dtype))
        self.ok(self.function("kz_array_get")(array, raw.ctypes.data, raw.nbytes, self.err))
        return Result(from_raw(raw, dtype), dtype)

    def memory(self, whole, operand):
        raw = np.empty_like(operand.raw)
        self.ok(self.function("kz_array_get")(whole, raw.ctypes.data, raw.nbytes, self.err))
        return raw

    # Calls

    def arg(self, value, call):
        """A kz_arg, as KZ_ARG captures a C number or an array."""
        def bits(number):
            return c_int64.from_buffer_copy(c_double(number)).value

        if isinstance(value, Operand):
            return Arg(self.number("KZ_ARG_ARRAY"), 0, 0, call.array(value).value)
        if isinstance(value, (bool, int, np.integer)):
            return Arg(self.number("KZ_ARG_INT"), 8, 0, c_uint64(int(value)).value)
        if isinstance(value, complex):
            return Arg(self.number("KZ_ARG_COMPLEX"), 0, bits(value.imag),
                       c_uint64(bits(value.real)).value)
        return Arg(self.number("KZ_ARG_F64"), 8, 0, c_uint64(bits(value)).value)

    def convert(self, words, value, call):
        """An input as the parameter of this type wants it."""
        kind = self.headers.type(words)
        if words.strip() == "kz_arg":
            return self.arg(value, call)
        if isinstance(value, Operand):
            return call.array(value)
        if words.strip() in ("kz_shape", "kz_axes"):
            return self.shape(words.strip(), value)
        if words.strip() == "kz_arrays":
            items = (c_void_p * max(1, len(value)))(*[call.array(each) for each in value])
            call.keep.append(items)
            return kind(ctypes.addressof(items), len(value))
        if words.strip() == "const kz_var *":
            items = (self.headers.type("kz_var") * len(value))()
            for item, (name, each) in zip(items, value.items()):
                item.name = self.address(name.encode(), call)
                item.value = self.convert("kz_arg", each, call)
            call.keep.append(items)
            return ctypes.addressof(items)
        if words.strip() == "kz_dtype":
            return DTYPES.index(value)
        if isinstance(value, Handle):
            return value.address
        if isinstance(value, str):
            value = value.encode()
        if isinstance(value, bytes):
            return self.address(value, call)
        if isinstance(value, np.ndarray):
            return value.ctypes.data
        if isinstance(value, (ctypes.Array, Structure)) and kind is c_void_p:
            call.keep.append(value)
            return ctypes.addressof(value)
        return value

    def address(self, text, call):
        call.keep.append(ctypes.create_string_buffer(text))
        return ctypes.addressof(call.keep[-1])

    def options(self, words, values, call):
        if values is None:
            return None
        name = re.search(r"kz_\w+", words).group()
        struct = self.headers.type(name)()
        size = self.function("kz_struct_init")(byref(struct), ctypes.sizeof(struct), name.encode())
        assert size == ctypes.sizeof(struct), f"{name} has {size} bytes"
        for key, value in values.items():
            assert hasattr(struct, key), f"{name} has no {key}"
            if key == "dtype":
                value = DTYPES.index(value)
            setattr(struct, key, call.array(value) if isinstance(value, Operand) else value)
        call.keep.append(struct)
        return ctypes.addressof(struct)

    def call(self, name, *inputs, **options):
        """The outputs of a function: arrays as Result, other objects as Handle."""
        parameters = self.headers.parameters(name)
        inputs, arguments, outs, call = list(inputs), [], [], Call(self)
        leading = True
        try:
            for words, parameter in parameters:
                words = words.strip()
                leading = leading and words.count("*") == 2 and "const" not in words
                if leading:
                    outs.append((words, c_void_p(0xdead)))
                    arguments.append(byref(outs[-1][1]))
                elif words == "kz_error *":
                    arguments.append(self.err)
                elif words == "kz_device *":
                    arguments.append(self.device)
                elif parameter == "options":
                    arguments.append(self.options(words, options or None, call))
                else:
                    assert inputs, f"{name}: no input for {words}{parameter}"
                    arguments.append(self.convert(words, inputs.pop(0), call))
            assert not inputs, f"{name}: more inputs than parameters"
            status = self.function(name)(*arguments)
            if status:
                call.refused(outs)
            self.ok(status)
            return call.results(outs)
        finally:
            call.end()


class Call:
    """What lives as long as a call: the operands on the device, and memory that it points to."""

    def __init__(self, library):
        self.library, self.keep, self.arrays = library, [], []

    def array(self, operand):
        if operand is None:
            return None
        for known, _, view in self.arrays:
            if known is operand:
                return view
        self.arrays.append((operand, *self.library.upload(operand)))
        return self.arrays[-1][2]

    def refused(self, outs):
        assert all(out.value is None for _, out in outs), "*out is not NULL after a failure"

    def results(self, outs):
        library, results = self.library, []
        for words, out in outs:
            if not words.startswith("kz_array "):
                results.append(Handle(out))
                continue
            if out.value is None:
                continue  # an output that the call does not have
            results.append(library.download(out))
            library.function("kz_array_release")(out)
        for operand, whole, _ in self.arrays:
            operand.look_at(library.memory(whole, operand))
        return results

    def end(self):
        for _, whole, view in self.arrays:
            self.library.function("kz_array_release")(view)
            self.library.function("kz_array_release")(whole)
