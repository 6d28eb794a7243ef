"""What it costs to understand a command and to ask 200 patterns of it.

python benchmarks/shell.py
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

from agent_memory.core.rules.shell import matches, pattern, understand
from small import at_most

LINES = {
    "short": "git merge main",
    "typical": 'cd /repo && FOO=1 git -C sub commit -m "a message" --no-verify | tee log.txt',
    "wrapped": "sudo -u me env A=1 bash -lc 'cd /repo && timeout 5 git push --force origin main'",
    "script": "set -e\n" + "\n".join(f'if test -f "f{n}"; then git add "f{n}" > out{n}; fi' for n in range(50)),
}


def median(call: Callable[[], object], times: int = 300) -> float:
    taken, times = [], at_most(times, 2)
    for _ in range(times):
        started = time.perf_counter()
        call()
        taken.append(time.perf_counter() - started)
    return statistics.median(taken) * 1_000


def main() -> None:
    started = time.perf_counter()
    understand("git merge")
    print(f"first call, with the import of the grammar: {(time.perf_counter() - started) * 1_000:.1f} ms")
    patterns = [pattern(f"git sub{n} --option{n}") for n in range(100)]
    patterns += [pattern(f"program{n} word -x") for n in range(100)]
    print("| line | commands | understand, ms | 200 patterns, ms |\n|---|---|---|---|")
    for name, line in LINES.items():
        commands = understand(line).commands
        reading = median(lambda line=line: understand(line))  # type: ignore[misc]
        asking = median(lambda some=commands: [matches(one, argv) for argv in some for one in patterns])  # type: ignore[misc]
        print(f"| {name} | {len(commands)} | {reading:.2f} | {asking:.2f} |")


if __name__ == "__main__":
    main()
