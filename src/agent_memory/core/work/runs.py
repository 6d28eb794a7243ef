"""Runs: a beginning, steps in order, an end with an outcome and what it all cost. P7."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any, cast

from agent_memory.core.work.ground import Ground, WorkStep
from agent_memory.models.draft import Draft
from agent_memory.models.errors import Conflict, NotFound
from agent_memory.models.kinds.kind import joined_key
from agent_memory.models.kinds.run import Run, RunStep, Spent
from agent_memory.models.model import jsonable, new_id
from agent_memory.models.moment import from_micros, to_micros
from agent_memory.models.record import Record
from agent_memory.ports.changes import Expect
from agent_memory.ports.records import Filter, View

MOST_STEPS = 10_000
SECOND = 1_000_000


def start(ground: Ground, title: str, payload: dict[str, Any], conversation_id: str | None) -> Run:
    draft = Draft(kind="run", id=new_id(), text=title, payload=payload, conversation_id=conversation_id, source="agent")
    ground.take(lambda: WorkStep(ground.author, [draft]))
    return Run.of(ground.own("run", str(draft.id))[0])


def step(ground: Ground, id: str, title: str, data: Any, spent: Spent) -> RunStep:
    """The next step; refused when the run has ended."""
    data = jsonable(data, "data")

    def read() -> WorkStep:
        run, author = ground.own("run", id)
        if run.payload["status"] == "ended":
            raise Conflict(f"run {id!r} has ended", hint="start another run", field="id")
        last = ground.last(author, "step", ("run_id", id))
        number = last.payload["index"] + 1 if last else 1
        payload = {"run_id": id, "index": number, "data": data, **spent.model_dump()}
        draft = Draft(kind="step", id=new_id(), text=title, payload=payload, source="agent")
        expect = [Expect(run.version, id=id), Expect(0, kind="step", key=joined_key(id, number))]
        return WorkStep(author, [draft], expect, answer=draft.id)

    return RunStep.of(ground.own("step", cast(str, ground.take(read).answer))[0])


def end(ground: Ground, id: str, outcome: Any, success: bool, spent: Spent, aborted: bool = False) -> Run:
    """No step can come between the sums and the end. The same end twice ends it once; what was aborted stays so."""
    outcome = jsonable(outcome, "outcome")

    def read() -> WorkStep:
        run, author = ground.own("run", id)
        if run.payload["status"] == "ended":
            same = (run.payload.get("outcome"), run.payload.get("success")) == (outcome, success)
            if same or run.payload.get("aborted"):
                return WorkStep(author)
            raise Conflict(f"run {id!r} has ended already", hint="start another run", field="id")
        steps = _steps(ground, ground.view(author), id)
        now = ground.clock()
        said: dict[str, Any] = {"status": "ended", "success": success, "outcome": outcome, "aborted": aborted}
        said["ended_at"] = from_micros(now).isoformat()
        said |= {name: getattr(spent, name) for name in ("tokens", "money")}
        for name in ("tokens", "money"):
            known = [one.payload[name] for one in steps if one.payload.get(name) is not None]
            if said[name] is None and known:
                said[name] = round(sum(known), 9)
        said["seconds"] = (
            max(0.0, (now - to_micros(run.valid_from)) / SECOND) if spent.seconds is None else spent.seconds
        )
        after = joined_key(id, steps[-1].payload["index"] + 1 if steps else 1)
        expect = [Expect(run.version, id=id), Expect(0, kind="step", key=after)]
        return WorkStep(author, [replace(Draft.of(run), payload={**run.payload, **said})], expect)

    ground.take(read)
    return Run.of(ground.own("run", id)[0])


def abort(ground: Ground, id: str, why: str) -> None:
    """End a run that has used up its budget, unless it has ended or is somebody else's."""
    with suppress(Conflict, NotFound):
        end(ground, id, why, False, Spent(), aborted=True)


def get(ground: Ground, view: View, id: str) -> Run:
    """One run, with its steps."""
    found = ground.records.get(view, [id])
    if not found or found[0].kind != "run":
        raise NotFound(f"no run {id!r}", field="id")
    return Run.of(found[0]).model_copy(update={"steps": [*map(RunStep.of, _steps(ground, view, id))]})


def _steps(ground: Ground, view: View, id: str) -> list[Record]:
    found = ground.records.find(view, Filter(kinds=("step",), fields=(("run_id", id),)), limit=MOST_STEPS)
    return sorted(found, key=lambda one: one.payload["index"])
