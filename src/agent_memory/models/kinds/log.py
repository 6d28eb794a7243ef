"""What an agent saw, thought and got: the plain records of a run; and what people wrote by hand. L4, P7."""

from __future__ import annotations

from functools import partial
from typing import Any

from pydantic import ConfigDict

from agent_memory.models.kinds.kind import Kind, joined_key
from agent_memory.models.model import Model, Name


class LogPayload(Model):
    """Optionally tied to an agent, a cycle and a run; what else it holds is the writer's."""

    model_config = ConfigDict(extra="allow")

    agent_id: Name | None = None
    cycle_id: Name | None = None
    run_id: Name | None = None
    metadata: dict[str, Any] | None = None


class NotePayload(Model):
    """A section of a page that somebody writes by hand: `path` is below the root of its repository."""

    repository: Name
    path: Name
    section: str


_log = partial(Kind, payload=LogPayload, indexed=("agent_id", "cycle_id", "run_id"))
LOGS = (
    _log("observation", "observations", merges=True),
    _log("plan", "plans"),
    _log("result", "results"),
    _log("summary", "summaries", retells=True),
)

NOTE, WORKING_NOTE = "note", "working_note"
_note = partial(
    Kind,
    payload=NotePayload,
    key=lambda text, payload: f"{joined_key(payload['path'], payload['section'])}\x1f{payload['repository']}",
    succeeds=True,
    indexed=("repository", "path"),
)
KINDS = (*LOGS, _note(NOTE, "notes"), _note(WORKING_NOTE, "working_notes", tier="working"))
