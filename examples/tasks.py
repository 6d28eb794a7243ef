"""Two workers share tasks that depend on each other. One dies with a task in its hands; the other takes it over."""

import tempfile
import time

from agent_memory import AgentMemory
from agent_memory.models.errors import LeaseLost

with tempfile.TemporaryDirectory() as folder, AgentMemory("ada", store=f"{folder}/memory.db") as memory:
    build = memory.tasks.add("build the image")
    test = memory.tasks.add("test the image", depends_on=[build.id])
    memory.tasks.add("push the image", depends_on=[build.id, test.id])

    _, lost = memory.tasks.claim("a worker that dies", lease_seconds=0.1)
    while True:
        task, token = memory.tasks.claim("a worker that lives")
        if task is None:
            if not memory.tasks.list("running"):
                break
            time.sleep(0.05)
            continue
        memory.tasks.finish(token, "ok")
        print("done:", task.description)
    try:
        memory.tasks.finish(lost, "late")
    except LeaseLost:
        print("the dead worker's report is refused")
