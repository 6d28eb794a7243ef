"""One answer of the doctor."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class CheckState(StrEnum):
    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True)
class Diagnosis:
    """One answer. `fix` says what to do when it is not ok."""

    name: str
    state: CheckState
    detail: str
    fix: str = ""
