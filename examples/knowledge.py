"""A folder of documents that changes, and a memory that follows: `python examples/knowledge.py`."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from agent_memory import AgentMemory
from agent_memory.models.errors import InvalidInput

RUNBOOK = """# Checkout

## Alerts

| alert | first step |
|---|---|
| queue too long | scale the workers |
| database slow | look for long transactions |

## Deploys

Deploys are frozen on Fridays.
"""


def main() -> None:
    with TemporaryDirectory() as folder, AgentMemory("ada", store=f"{folder}/memory.db") as memory:
        docs = Path(folder, "docs")
        docs.mkdir()
        (docs / "checkout.md").write_text(RUNBOOK)
        (docs / "travel.html").write_text("<h1>Travel</h1><h2>Trains</h2><p>Book trains in first class.</p>")
        (docs / "old.txt").write_text("The office is in the old harbour.")
        (docs / "broken.pdf").write_text("not a PDF")

        told = memory.knowledge.sync(docs)
        print("read:", ", ".join(told.added), "- skipped:", *(one.path for one in told.skipped))
        hit = memory.knowledge.search("what do I do when the database is slow?", 1)[0]
        print(" > ".join(hit.metadata["headings"]), "- whole table:", "scale the workers" in hit.content)

        (docs / "checkout.md").write_text(RUNBOOK.replace("Fridays", "Thursdays and Fridays"))
        (docs / "old.txt").unlink()
        told = memory.knowledge.sync(docs)
        print(f"changed: {told.changed}, chunks updated: {told.chunks_updated}, gone: {told.gone}")
        print(memory.knowledge.search("when are deploys frozen?", 1)[0].content.splitlines()[-1])

        (docs / "checkout.md").unlink()
        try:
            memory.knowledge.sync(docs)
        except InvalidInput as error:
            print("refused:", error.message)


if __name__ == "__main__":
    main()
