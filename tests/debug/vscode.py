#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""usage: tests/debug/vscode.py PROJECT

Debug a project of `kudzu new` by its launch.json as Microsoft's C/C++ extension does: the same
commands of gdb's machine interface, in the order of its engine.  The user's part is a breakpoint in
kernel.cu, set before the program runs.
"""
import json
import os
import queue
import re
import subprocess
import sys
import threading

# Of the kernel that the project has.
LINE = "\t\ty[i] += "
END = "}\n"


class Gdb:
    """gdb, as a program sees it that drives it."""

    def __init__(self):
        self.process = subprocess.Popen(["gdb", "--interpreter=mi"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        text=True)
        self.lines = queue.Queue()
        self.said = []
        self.token = 0
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line.rstrip("\n"))
        self.lines.put(None)

    def wait_for(self, begin):
        """The next line that begins so; what it takes out of the queue is not waited for again."""
        while True:
            line = self.lines.get(timeout=60)
            if line is None:
                raise RuntimeError("gdb has ended before it said '%s'" % begin)
            self.said.append(line)
            if line.startswith(begin):
                return line

    def send(self, command, result="done"):
        self.token += 1
        self.process.stdin.write("%d%s\n" % (self.token, command))
        self.process.stdin.flush()
        line = self.wait_for("%d^" % self.token)
        if not line.startswith("%d^%s" % (self.token, result)):
            raise RuntimeError("%s: expected '%s', got: %s" % (command, result, line))
        return line

    def console(self, command):
        return self.send('-interpreter-exec console "%s"'
                         % command.replace("\\", "\\\\").replace('"', '\\"'))

    def run(self, command):
        """A command that lets the program run; how it stops."""
        self.send(command, "running")
        return self.wait_for("*stopped")


def expect(text, *parts):
    for part in parts:
        if part not in text:
            raise RuntimeError("expected '%s' in: %s" % (part, text))


def quoted(path):
    return '"%s"' % path if " " in path else path


def line_of(path, mark):
    with open(path) as source:
        return next(i for i, text in enumerate(source, 1) if text.startswith(mark))


def debug(gdb, project):
    def with_folder(text):
        return text.replace("${workspaceFolder}", project)

    with open(os.path.join(project, ".vscode", "launch.json")) as file:
        launch = json.load(file)["configurations"][0]
    if launch["type"] != "cppdbg" or launch["MIMode"] != "gdb":
        raise RuntimeError("launch.json is not for gdb")
    for setup in launch["setupCommands"]:
        gdb.console(with_folder(setup["text"]))
    gdb.console("set pagination off")
    gdb.send("-gdb-set auto-solib-add on")
    gdb.send("-environment-cd " + quoted(with_folder(launch["cwd"])))
    gdb.send("-file-exec-and-symbols " + quoted(with_folder(launch["program"])))
    entry = gdb.send("-break-insert -f main")
    for variable in launch["environment"]:
        gdb.console("set env %s %s" % (variable["name"], variable["value"]))
    kernel = os.path.join(project, "kernel.cu")
    line = line_of(kernel, LINE)
    expect(gdb.send("-break-insert -f " + quoted("%s:%d" % (kernel, line))), 'addr="<PENDING>"')
    expect(gdb.run("-exec-run"), 'func="main"')
    gdb.send("-break-delete " + re.search('number="([0-9]+)"', entry).group(1))

    # The editor shows the file that `fullname` names, at `line`.
    at = 'fullname="%s",line="%%d"' % kernel
    expect(gdb.run("-exec-continue"), 'reason="breakpoint-hit"', 'func="saxpy"', at % line)
    expect(gdb.send("-thread-info"), 'current-thread-id="')
    expect(gdb.send("-stack-list-frames 0 1000"), 'level="0"', 'func="saxpy"', at % line,
           'func="kudzu_launch"', 'func="main",file="main.c"')
    expect(gdb.send("-stack-list-variables 0"), 'name="i"', 'name="x"', 'name="n"',
           'name="threadIdx"')
    for expression, value in (("i", "0"), ("n", "8"), ("x[3]", "3"), ("threadIdx.x", "0")):
        expect(gdb.send('-var-create - * "%s"' % expression), 'value="%s"' % value)
    block = gdb.send('-var-create - * "blockDim"')
    name = re.search('name="([^"]+)"', block).group(1)
    children = '-var-list-children --simple-values "%s" 0 1000'
    expect(gdb.send(children % name), 'name="%s.public"' % name)  # of a type of C++
    expect(gdb.send(children % (name + ".public")), 'exp="x"', 'exp="z"')

    # The same line for the next thread; then a step to the end of the kernel.
    expect(gdb.run("-exec-continue"), at % line)
    expect(gdb.send('-data-evaluate-expression "i"'), 'value="1"')
    stopped = gdb.run("-exec-next")
    expect(stopped, 'reason="end-stepping-range"', at % line_of(kernel, END))
    gdb.send("-break-delete 2")
    expect(gdb.run("-exec-continue"), 'reason="exited-normally"')
    gdb.send("-gdb-exit", "exit")


def main():
    gdb = Gdb()
    try:
        debug(gdb, os.path.realpath(sys.argv[1]))
    except (RuntimeError, queue.Empty) as error:
        print("\n".join(gdb.said[-30:]))
        print("vscode: %s" % (str(error) or "gdb has said nothing for a minute"))
        gdb.process.kill()
        return 1
    print("as expected")
    return 0


if __name__ == "__main__":
    sys.exit(main())
