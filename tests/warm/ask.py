"""Stands for a command that another process runs (`keep.py`): hands over what it got, passes signals on, ends alike.

It imports next to nothing, since it runs for every command. What an interpreter reads when it starts cannot be told to
one that runs: who says something of that gets a fresh one.
"""

import marshal
import os
import signal
import socket
import sys

READ_AT_THE_START = (b"PYTHON", b"LC_", b"LANG", b"LD_", b"MALLOC_", b"OMP_", b"OPENBLAS_")
OF_NO_MATTER = (b"PYTHONUNBUFFERED", b"PYTHONDONTWRITEBYTECODE")
PASSED_ON = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)


def interpreter(environment: "dict[bytes, bytes]") -> "dict[bytes, bytes]":
    """What of it counts when Python starts, or a library is loaded."""
    kept = {name: value for name, value in environment.items() if name.startswith(READ_AT_THE_START)}
    return {name: value for name, value in kept.items() if name not in OF_NO_MATTER}


def main(address: str, how: str, words: "list[str]") -> None:
    environment = dict(os.environb)
    umask = os.umask(0)
    os.umask(umask)
    asking = socket.socket(socket.AF_UNIX)
    try:
        asking.connect(address)
        order = (words, environment, os.getcwdb(), umask, how == "-P", os.getsid(0) == os.getpid())
    except OSError:  # nobody waits, or the folder is gone
        return
    said = marshal.dumps(order)
    socket.send_fds(asking, [len(said).to_bytes(8, "big")], [0, 1, 2])
    asking.sendall(said)
    pid = int.from_bytes(asking.recv(8), "big")
    if not pid:
        return
    for number in PASSED_ON:
        signal.signal(number, lambda number, _: os.kill(pid, number))
    nothing = os.open(os.devnull, os.O_RDWR)
    for end in (0, 1, 2):  # who waits for the end of a pipe waits for the command alone
        os.dup2(nothing, end)
    status = int.from_bytes(asking.recv(8), "big", signed=True)
    if status < 0:
        signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)


if __name__ == "__main__":
    _, address, how, *words = sys.argv
    main(address, how, words)
    fresh = ["-P"] if how == "-P" else []
    os.execv(sys.executable, [sys.executable, *fresh, "-m", "agent_memory.interfaces.cli", *words])
