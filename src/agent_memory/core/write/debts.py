"""Forgetting in places outside: it is owed from the transaction on that erased the record or tenant, until it is
paid."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple

from agent_memory.models.errors import AgentMemoryError, StoreError
from agent_memory.models.record import Scope
from agent_memory.ports import spans
from agent_memory.ports.debts import Debt, DebtStore, OutsidePlace, Owed

SLICE = 500  # records that a place is told of at once
MOST = 200  # characters of an error that are kept
_log = spans.log(__name__)


class Debts(NamedTuple):
    """What is owed (None: the engine has no places outside), and the places that can be told from here."""

    store: DebtStore | None
    outside: Mapping[str, OutsidePlace]

    @property
    def left(self) -> int:
        """How many records and tenants all places together must still forget."""
        return sum(one.left for one in self.store.standing()) if self.store else 0

    def pay(self) -> bool:
        """Tell every place within reach what to forget; whether nothing is owed any more, there or elsewhere. It never
        fails: what was erased is committed, and a later write or the job tries again."""
        if self.store is None:
            return True
        try:
            for one in self.store.standing():
                if one.left and one.place in self.outside:
                    self._pay(self.store, one)
            return not self.left
        except StoreError as error:  # somebody else is writing, for long
            _log.warning("what places outside have forgotten could not be noted: %s", error.message)
            return False

    def _pay(self, store: DebtStore, owed: Owed) -> None:
        while debts := store.owed(owed.place, SLICE):
            if trouble := self._told(owed.place, debts):
                if trouble != owed.error:  # said once, and not at every attempt
                    store.failed(owed.place, trouble)
                    _log.warning("%s has not forgotten yet what was erased: %s", owed.place, trouble)
                return
            store.paid(debts)

    def _told(self, place: str, debts: list[Debt]) -> str:
        """What went wrong; nothing, where all went well."""
        whose: defaultdict[Scope, list[str]] = defaultdict(list)
        for one in debts:
            if one.id is not None:
                whose[one.scope].append(one.id)
        try:
            for tenant in {one.scope.tenant for one in debts if one.id is None}:
                self.outside[place].forget_tenant(tenant)
            for scope, ids in whose.items():
                self.outside[place].forget(scope, ids)
        except Exception as error:  # noqa: BLE001 - whatever a plug-in raises, the debt stands and is shown with it
            return shown(error)
        return ""


def shown(error: Exception) -> str:
    """What it says, in one line, to be kept; that of a stranger with its type."""
    if isinstance(error, AgentMemoryError):
        return redacted(error.message)
    return redacted(f"{type(error).__name__}: {error}")


def redacted(text: str) -> str:
    """One line, without the password of an address."""
    return re.sub(r"(://)[^/@\s]*@", r"\1", " ".join(text.split()))[:MOST]
