"""No network, no telemetry, no key: the main path opens no socket. C14, P10, E1."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

GUARDED = """
import sys
opened = []
def guard(event, args):
    if event.startswith("socket."):
        opened.append((event, args))
sys.addaudithook(guard)
from agent_memory import AgentMemory
memory = AgentMemory(user_id="ada", conversation_id="c")
memory.records.add("the model is loaded for this")
assert memory.recall("model")[0].text
memory.close()
import os
assert os.environ["ORT_DISABLE_TELEMETRY"] == "1"
assert opened == [], opened
"""


@pytest.mark.requirement("P10", "C14")
def test_no_socket_is_ever_opened() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}
    ran = subprocess.run([sys.executable, "-c", GUARDED], env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


MEASURED = """
from agent_memory import AgentMemory
def resident():
    status = open("/proc/self/status").read()
    return next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS"))
memory = AgentMemory(user_id="ada")
memory.embedder.embed("the model is loaded for this")
model = resident()
for number in range(200):
    memory.records.add(f"note {number}: the service restarted after a deploy of build {number * 7}")
memory.recall("restarts")
print(model, resident())
"""


@pytest.mark.requirement("E1")
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_a_small_store_takes_little_beside_the_model() -> None:
    """What both take in MB is measured by `benchmarks/resident.py`: it depends on the machine."""
    ran = subprocess.run([sys.executable, "-c", MEASURED], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    model, all_of_it = map(int, ran.stdout.split())
    assert all_of_it < 1.5 * model
