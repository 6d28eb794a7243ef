"""Write tests/data/store-<version>.sql: a store of this release, for the tests of later ones. Run once per release."""

from __future__ import annotations

import sqlite3
import tempfile
from pathlib import Path

from agent_memory import AgentMemory, Entity, Fact, Goal, Turn, __version__
from agent_memory.engines.sqlite.schema import APPLICATION_ID, migrations


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.db"
        with AgentMemory(user_id="ada", conversation_id="c1", store=f"sqlite:///{path}") as memory:
            memory.records.add("staging listens on port 5433")
            memory.user.set_preference("git", "merge style", "merge")
            memory.user.set_preference("git", "merge style", "rebase")
            for index, text in enumerate(("hello", "what changed?", "the port")):
                memory.store_turn(Turn(conversation_id="c1", index=index, role="user", content=text))
            ada = memory.upsert_entity(Entity(name="Ada", type="Person"))
            memory.semantic.store_fact(Fact(claim="Ada is on call", source="user_stated", entity_ids=[ada.id]))
            memory.add_goal(Goal(description="upgrade Postgres"))
            memory.records.forget([memory.records.add("to be forgotten").id])
            memory.recall("port")
        connection = sqlite3.connect(path)
        target = Path(__file__).parent.parent / "tests" / "data" / f"store-{__version__}.sql"
        head = [f"PRAGMA application_id = {APPLICATION_ID};", f"PRAGMA user_version = {max(migrations())};"]
        target.write_text("\n".join([*connection.iterdump(), *head]) + "\n")
        connection.close()


if __name__ == "__main__":
    main()
