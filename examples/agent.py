"""An agent is killed between its act and the result. The next process goes on, and the tool does not act twice."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from agent_memory import AgentMemory


def pay(ledger: Path, key: str, amount: int) -> str:
    """A tool that acts once for each key."""
    paid = dict(line.split() for line in ledger.read_text().splitlines())
    if key not in paid:
        with ledger.open("a") as file:
            file.write(f"{key} {amount}\n")
    return f"paid {amount}"


def live(folder: str, *, dies: bool) -> None:
    with AgentMemory("ada", store=f"{folder}/memory.db") as memory:
        agent = memory.agents.create("bookkeeper", "Pay each bill once.")
        in_flight = agent.resume().in_flight
        with agent.cycle() as c:
            known = in_flight.proposal if in_flight else None
            proposal = c.propose("pay", {"amount": 40}, key=known.key if known else None)
            said = pay(Path(folder, "ledger"), str(proposal.key), proposal.arguments["amount"])
            if dies:
                os.kill(os.getpid(), signal.SIGKILL)
            c.result(said)


if len(sys.argv) > 1:
    live(sys.argv[1], dies=True)
else:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "ledger").touch()
        killed = subprocess.run([sys.executable, __file__, folder], check=False)
        print("the first process was killed:", killed.returncode == -signal.SIGKILL)
        live(folder, dies=False)
        with AgentMemory("ada", store=f"{folder}/memory.db") as memory:
            agent = memory.agents.get("bookkeeper")
            for cycle in reversed(memory.agents.cycles(agent.id)):
                print(cycle.index, cycle.status)
        print("payments:", len(Path(folder, "ledger").read_text().splitlines()))
