# SPDX-License-Identifier: MIT
#
# What gdb needs to know of kernels on Kudzu's CPU device.  `kudzu debug` has gdb read this file, and
# `kudzu debug --script` prints it, for other programs that run gdb.
#
# Under a debugger one worker runs the threads of a block, one after the other.  A thread that waits
# returns from the function kudzu_launch; its variables stay in its part of memory, the slot, whose
# layout is in the debug information of kudzu_launch.

import gdb
import os

YIELDS = ["", "at a barrier", "at a barrier", "for others to go on", "in a trap",
          "for the threads of its warp"]


def kudzu_check_gdb():
    """Kernels are full of inlined functions, whose address ranges gdb knows since version 10."""
    digits = "".join(c if c.isdigit() else " " for c in gdb.VERSION).split()
    if digits and int(digits[0]) < 10:
        raise gdb.GdbError("kudzu debug: gdb %s is too old; expected 10 or newer" % gdb.VERSION)


class KudzuThread:
    """A thread of the running block, known by its slot."""

    def __init__(self, slot):
        self.slot = slot

    def head(self):
        return self.slot["head"].dereference()

    def number(self):
        return int(self.slot["first"])

    def extents(self, name):
        return tuple(int(self.head()[name][axis]) for axis in "xyz")

    def other(self, number):
        return KudzuThread(self.slot + (number - self.number()))

    def count(self):
        x, y, z = self.extents("blockDim")
        return x * y * z

    def index_of(self, number):
        x, y, _ = self.extents("blockDim")
        return (number % x, number // x % y, number // (x * y))

    def has_begun(self, other):
        return (int(other.head()["grid"]) == int(self.head()["grid"])
                and other.extents("blockIdx") == self.extents("blockIdx"))

    def state(self, number):
        """What the thread with this number in the block does."""
        other = self.other(number)
        if number == self.number():
            return "running"
        if not self.has_begun(other):
            return "not begun"
        if int(other.slot["resume"]) == 0:
            return "ended"
        return "waiting %s, line %d" % (YIELDS[int(other.slot["yield"]) % len(YIELDS)],
                                      int(other.head()["line"]))


def kudzu_frames():
    """The frames of the kernel and of kudzu_launch, which calls it; None: no kernel runs here."""
    frame, last = gdb.newest_frame(), None
    for _ in range(200):
        if frame is None:
            return None, None
        if frame.name() == "kudzu_launch":
            return last, frame
        last, frame = frame, frame.older()
    return None, None


def kudzu_thread():
    """The thread that runs."""
    launch = kudzu_frames()[1]
    if launch is None:
        raise gdb.GdbError("no kernel runs in this thread of the program")
    return KudzuThread(launch.read_var("kudzu_slot"))


def kudzu_parse_index(text, extents):
    """A number, or x,y,z."""
    try:
        parts = [int(part) for part in text.replace(",", " ").split()]
    except ValueError:
        parts = []
    parts += [0] * (3 - len(parts)) if parts else []
    if len(parts) != 3 or not all(0 <= i < n for i, n in zip(parts, extents)):
        raise gdb.GdbError("expected an index such as 3 or 3,0,1 within (%d,%d,%d)" % extents)
    return parts[0] + extents[0] * (parts[1] + extents[1] * parts[2])


def kudzu_symbols(frame):
    """The variables that a frame sees, the innermost first."""
    seen, block = set(), frame.block()
    while block is not None:
        for symbol in block:
            if (symbol.is_variable or symbol.is_argument) and symbol.name not in seen:
                seen.add(symbol.name)
                yield symbol
        if block.function is not None:
            return
        block = block.superblock


class KudzuCommand(gdb.Command):
    """Blocks and threads of the kernel that runs on Kudzu's CPU device.

One worker runs one block after the other, and in a block one thread until it waits for others."""

    def __init__(self):
        super().__init__("kudzu", gdb.COMMAND_RUNNING, prefix=True)


class KudzuBlocks(gdb.Command):
    """Say which block of the grid runs."""

    def __init__(self):
        super().__init__("kudzu blocks", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        thread = kudzu_thread()
        grid, block = thread.extents("gridDim"), thread.extents("blockIdx")
        print("block (%d,%d,%d) of the grid (%d,%d,%d) runs, with (%d,%d,%d) threads"
              % (block + grid + thread.extents("blockDim")))
        print("the others have ended, have not begun, or wait for all at a grid barrier")


class KudzuThreads(gdb.Command):
    """List the threads of the block that runs: which one runs, and what the others do."""

    def __init__(self):
        super().__init__("kudzu threads", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        thread, first = kudzu_thread(), 0
        states = [thread.state(i) for i in range(thread.count())]
        for i in range(1, len(states) + 1):
            if i < len(states) and states[i] == states[first]:
                continue
            text = "(%d,%d,%d)" % thread.index_of(first)
            if i - 1 > first:
                text += " to (%d,%d,%d)" % thread.index_of(i - 1)
            print("%s %s: %s" % ("*" if states[first] == "running" else " ", text, states[first]))
            first = i


class KudzuShow(gdb.Command):
    """Print what the variables of the kernel are in another thread of the block: kudzu show X[,Y[,Z]]

They are those that the kernel has at the place where the thread that runs is, as the other thread
has left them.  Nothing runs."""

    def __init__(self):
        super().__init__("kudzu show", gdb.COMMAND_DATA)

    def moved(self, value, here, there):
        """The same variable in another thread; None: it is not a thread's own."""
        if value.address is None:
            return None
        address = int(value.address)
        frame, local = int(here.slot["head"]), int(here.slot["local"])
        stride = int(there.slot["head"]) - frame
        size = abs(stride) // max(1, abs(there.number() - here.number())) or 1
        if frame <= address < frame + size:
            address += stride
        elif local <= address < local + int(here.slot["local_size"]):
            address += int(there.slot["local"]) - local
        else:
            return None
        return gdb.Value(address).cast(value.type.pointer()).dereference()

    def invoke(self, argument, from_tty):
        here = kudzu_thread()
        number = kudzu_parse_index(argument, here.extents("blockDim"))
        there, frame = here.other(number), kudzu_frames()[0]
        print("thread (%d,%d,%d): %s" % (here.index_of(number) + (here.state(number),)))
        if not here.has_begun(there) or frame is None:
            return
        for symbol in kudzu_symbols(frame):
            value = self.moved(symbol.value(frame), here, there)
            if value is not None:
                print("%s = %s" % (symbol.name, value))


class KudzuPlace(gdb.Breakpoint):
    """An internal breakpoint at an address, which stops if `wants` says so."""

    def __init__(self, address, wants=None):
        super().__init__("*%d" % address, internal=True)
        self.silent = True
        self.wants = wants

    def stop(self):
        return self.wants is None or bool(self.wants())


class KudzuKernel:
    """Where the code of a kernel begins, and its lines."""

    def __init__(self):
        kernel, launch = kudzu_frames()
        if kernel.find_sal().symtab is None:
            raise gdb.GdbError("kernel '%s' has no line information: compile it with -lineinfo,"
                               " or with -G for variables, too" % kernel.name())
        self.entry = int(launch.function().value().address)
        block = gdb.block_for_pc(self.entry)
        while block.superblock.function is not None:
            block = block.superblock
        lines = kernel.find_sal().symtab.linetable()
        self.lines = {line.pc for line in lines if block.start <= line.pc < block.end}

    def run_until(self, wants):
        """Go on until the worker goes on with a slot that is wanted, and then to its first line;
        or until something else stops the program.  Whether it was the slot."""
        entry = KudzuPlace(self.entry, lambda: wants(int(gdb.parse_and_eval("$rdi"))))
        try:
            gdb.execute("continue", to_string=True)
        finally:
            entry.delete()
        if not gdb.selected_thread() or gdb.newest_frame().pc() != self.entry:
            return False
        places = [KudzuPlace(line) for line in self.lines]
        try:
            gdb.execute("continue", to_string=True)
        finally:
            for place in places:
                place.delete()
        return True


class KudzuUntil(gdb.Command):
    """Run until a thread of the block goes on: kudzu until X[,Y[,Z]]

The threads before it run as they would without a debugger.  A breakpoint may stop one of them
first."""

    def __init__(self):
        super().__init__("kudzu until", gdb.COMMAND_RUNNING)

    def invoke(self, argument, from_tty):
        here = kudzu_thread()
        number = kudzu_parse_index(argument, here.extents("blockDim"))
        if here.state(number) == "ended":
            raise gdb.GdbError("thread (%d,%d,%d) has ended" % here.index_of(number))
        slot = int(here.other(number).slot)
        if KudzuKernel().run_until(lambda at: at == slot):
            gdb.execute("frame")


# --- Steps of a thread that waits ---

kudzu_stepping = None  # the kernel and the thread that the user steps
kudzu_stop = None      # why the program has stopped last


def kudzu_note_stop(event):
    global kudzu_stop
    kudzu_stop = event


def kudzu_before_step():
    global kudzu_stepping
    kudzu_stepping = None
    if not gdb.selected_thread() or kudzu_frames()[0] is None:
        return
    try:
        kudzu_stepping = KudzuKernel(), kudzu_thread().slot
    except gdb.GdbError as error:  # in a hook gdb would not show it
        print(error)


def kudzu_after_step():
    """gdb has waited for the step in a script; at the prompt it runs hooks too early, and
kudzu_before_prompt comes when the step is over."""
    thread = gdb.selected_thread()
    if not thread or not thread.is_running():
        kudzu_follow_step()


def kudzu_follow_step():
    """If the step has left the kernel because the thread waits, go on until it does; if it has ended,
until the next one begins."""
    global kudzu_stepping
    stepping, kudzu_stepping = kudzu_stepping, None
    if (stepping is None or not gdb.selected_thread() or kudzu_frames()[1] is not None
            or isinstance(kudzu_stop, (gdb.BreakpointEvent, gdb.SignalEvent))):
        return
    kernel, slot = stepping
    if kernel.run_until(lambda at: at == int(slot) or int(slot["resume"]) == 0):
        gdb.execute("frame")


def kudzu_before_prompt():
    thread = gdb.selected_thread()
    if kudzu_stepping is not None and thread and not thread.is_running():
        kudzu_follow_step()


def kudzu_define_hooks():
    for command in ("step", "next", "finish", "until", "advance"):
        for hook, function in (("hook", "before"), ("hookpost", "after")):
            gdb.execute("define %s-%s\npython kudzu_%s_step()\nend" % (hook, command, function))


# --- Failures ---

class KudzuFailure(gdb.Breakpoint):
    """Stops where the device fails a kernel or reports what a check has found, if the kernel is
still there."""

    def __init__(self, function):
        super().__init__(function, internal=True)
        self.seen = set()

    def stop(self):
        return kudzu_frames()[1] is not None and self.is_new()

    def is_new(self):
        """Whether it is the first failure of the launch, or another report than those before."""
        frame = gdb.newest_frame()
        try:
            if frame.name() == "rt_fail":
                return int(frame.read_var("warp")["fail"]["code"]) == 0
            report = frame.read_var("report")
            key = (int(report["check"]), int(report["kernel"]),
                   int(report["sides"][0]["line"]), int(report["sides"][1]["line"]))
        except gdb.error:
            return True
        is_new = key not in self.seen
        self.seen.add(key)
        return is_new


def kudzu_note_library(event):
    """When the driver is loaded."""
    name = os.path.basename(event.new_objfile.filename)
    if name.startswith(("libkudzu-cpu.so", "libcuda.so")):
        for function in ("rt_fail", "report_add"):
            if gdb.lookup_global_symbol(function) or gdb.lookup_static_symbol(function):
                KudzuFailure(function)


def kudzu_failure_text():
    """What the device says of a failure at which it stops, or None."""
    frame = gdb.newest_frame()
    while frame is not None and frame.name() in ("rt_fail", "rt_deny", "report_add"):
        try:
            if frame.name() == "report_add":
                return frame.read_var("report")["sides"][0]["what"].string()
            if frame.name() == "rt_deny":
                return frame.read_var("text").string()
        except (gdb.error, ValueError):
            return None
        frame = frame.older()
    return None


def kudzu_show_failure(event):
    """Select the frame that has failed, instead of the device's own."""
    if not isinstance(event, gdb.BreakpointEvent) or not any(
            isinstance(breakpoint, KudzuFailure) for breakpoint in event.breakpoints):
        return
    launch = kudzu_frames()[1]
    frame = gdb.newest_frame()
    while frame is not None and frame != launch:
        if frame.type() == gdb.INLINE_FRAME and frame.pc() == launch.pc():
            frame.select()
            text = kudzu_failure_text()
            if text:
                print("kudzu: " + text)
            gdb.execute("frame")
            return
        frame = frame.older()


kudzu_check_gdb()
# A kernel is compiled when the program is running.
gdb.execute("set breakpoint pending on")
for kudzu_command in (KudzuCommand, KudzuBlocks, KudzuThreads, KudzuShow, KudzuUntil):
    kudzu_command()
kudzu_define_hooks()
gdb.events.stop.connect(kudzu_note_stop)
gdb.events.before_prompt.connect(kudzu_before_prompt)
gdb.events.new_objfile.connect(kudzu_note_library)
gdb.events.stop.connect(kudzu_show_failure)
