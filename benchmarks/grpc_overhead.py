"""What a unary gRPC call costs over the same call in this process: one of each in turn, on one store.

python benchmarks/grpc_overhead.py [--n 10000] [--calls 300]

The server is a process of its own. No question is asked twice, and each side is first in every second pair; the ratio
is of the medians of the wall time.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

from small import at_most

os.environ["AGENT_MEMORY_PROCEDURES"] = "false"  # this repository has pages of its own

WORDS = "tea train river letter window garden winter music doctor island paper bridge coffee market".split()
SERVER = """
import sys
from agent_memory.app.service import Service
from agent_memory.interfaces.grpc.server import start
service = Service()
door = start(service, port=0)
print(door.port, flush=True)
sys.stdin.read()
door.stop()
service.close()
"""


def text(number: int) -> str:
    return " ".join(WORDS[number * step % len(WORDS)] for step in range(1, 9)) + f" {number}"


def timed(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return (time.perf_counter() - begun) * 1000


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--n", type=int, default=10_000)
    parser.add_argument("--calls", type=int, default=300)
    asked = parser.parse_args()
    asked.n, asked.calls = at_most(asked.n, 20), at_most(asked.calls, 2)
    os.environ["AGENT_MEMORY_HOME"] = tempfile.mkdtemp()
    import grpc

    from agent_memory.app.operations import TABLE
    from agent_memory.app.service import CallerClaim, Service
    from agent_memory.interfaces.grpc import descriptor
    from agent_memory.interfaces.grpc.schema import schema

    service = Service()
    ada = service.identify(CallerClaim(user="ada"))
    for start in range(0, asked.n, 1000):
        records = [{"text": text(number)} for number in range(start, min(start + 1000, asked.n))]
        written = service.call(TABLE["records.add_many"], ada, {"records": records, "embed": True})
    server = subprocess.Popen([sys.executable, "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    channel = grpc.insecure_channel(f"127.0.0.1:{int(server.stdout.readline())}")
    made = schema()
    pool = descriptor.pool_of(descriptor.file_of(made))
    methods = {one.operation.name: one for one in made.methods if one.operation}

    def over(name: str, said: dict[str, object]) -> object:
        method = methods[name]
        takes, gives = (descriptor.message_class(pool, one.name) for one in (method.request, method.response))
        call = channel.unary_unary(method.path, takes.SerializeToString, gives.FromString)
        return call(takes(**said), metadata=[("x-memory-user", "ada")], timeout=60)

    def compare(name: str, said: Callable[[int], dict[str, object]]) -> None:
        sides = (lambda asking: service.call(TABLE[name], ada, asking), lambda asking: over(name, asking))
        taken: tuple[list[float], list[float]] = ([], [])
        for number in range(-at_most(20, 1), asked.calls):
            for side in (0, 1) if number % 2 else (1, 0):
                spent = timed(lambda number=number, side=side: sides[side](said(2 * number + side)))
                if number >= 0:
                    taken[side].append(spent)
        ours, theirs = (statistics.median(side) for side in taken)
        print(f"{name:14} in process {ours:6.2f} ms   gRPC {theirs:6.2f} ms   ratio {theirs / ours:.2f}")

    compare("recall", lambda number: {"query": text(number * 37 % asked.n), "k": 10})
    compare("records.get", lambda number: {"id": written[number % len(written)].id})
    channel.close()
    server.communicate("")
    service.close()


if __name__ == "__main__":
    main()
