"""Commands in separate processes, on real pipes and with real signals.

Importing takes a second, so that one process imports the package and forks for each command. The
child ends as any Python process: its threads and its output are finalised.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

#: Modules that the commands import late.
WARM = ("eigenstream.persistence", "eigenstream.streams.text", "scipy.linalg", "pyarrow.dataset")


class Process:
    """A running command, with its standard output and errors in files."""

    def __init__(self, server, pid, folder):
        self.server, self.pid, self.folder = server, pid, folder

    def send(self, number):
        """Send a signal."""
        os.kill(self.pid, number)

    def code(self, seconds=100):
        """Wait for the end, and return the exit code, or "hangs" after this time."""
        return self.server.ask({"pid": self.pid, "seconds": seconds})

    @property
    def out(self):
        return (self.folder / f"{self.name}.out").read_text()

    @property
    def errors(self):
        return (self.folder / f"{self.name}.err").read_text()


class Processes:
    """Starts commands in a folder."""

    def __init__(self, folder):
        self.folder, self.count = Path(folder), 0
        self.server = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
        )

    def ask(self, request):
        self.server.stdin.write(json.dumps(request) + "\n")
        self.server.stdin.flush()
        return json.loads(self.server.stdout.readline())

    def start(self, *arguments, stdin=os.devnull, stdout=None):
        """Start a command. ``stdin`` and ``stdout`` may be the paths of named pipes."""
        self.count += 1
        process = Process(self, None, self.folder)
        process.name = f"process{self.count}"
        files = [str(stdin), str(stdout or f"{process.name}.out"), f"{process.name}.err"]
        request = {"folder": str(self.folder), "arguments": list(map(str, arguments))}
        process.pid = self.ask(request | {"files": files})
        return process

    def run(self, *arguments, **how):
        """Return the exit code and both outputs of a command."""
        process = self.start(*arguments, **how)
        return process.code(), process.out, process.errors

    def pipe(self):
        """Return the path of a new named pipe."""
        self.count += 1
        path = self.folder / f"pipe{self.count}"
        os.mkfifo(path)
        return path

    def close(self):
        self.server.stdin.close()
        self.server.wait(30)


def ended(pid, seconds):
    """Return the exit code of a child, or "hangs" after it was killed."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return "hangs"


def serve():
    """Answer requests, and return in a child that is to run the command line."""
    for line in sys.stdin:
        request = json.loads(line)
        if "pid" in request:
            print(json.dumps(ended(request["pid"], request["seconds"])), flush=True)
            continue
        child = os.fork()
        if child == 0:
            for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
                if signal.getsignal(number) is signal.SIG_IGN:  # below nohup
                    signal.signal(number, signal.SIG_DFL)
            os.chdir(request["folder"])
            flags = [os.O_RDONLY, *[os.O_WRONLY | os.O_CREAT | os.O_TRUNC] * 2]
            for number, (path, flag) in enumerate(zip(request["files"], flags, strict=True)):
                os.dup2(os.open(path, flag), number)
            sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115
            sys.argv = ["eigenstream", *request["arguments"]]
            return
        print(json.dumps(child), flush=True)
    os._exit(0)


if __name__ == "__main__":
    from importlib import import_module

    from eigenstream.cli import main

    for module in WARM:
        import_module(module)
    serve()
    main()
