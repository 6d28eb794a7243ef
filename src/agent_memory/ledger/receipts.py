"""Receipts: what may be kept of one that comes late, how long, and what is known of accesses.

A line may wait in a buffer, of this process or another, while something is erased; what it may then still tell is
decided under the write lock.
"""

from __future__ import annotations

from agent_memory.ports.receipts import JUST_NOW, Accesses, ReceiptLine


def kept(line: ReceiptLine, erased: int) -> ReceiptLine:
    """`erased`: the last line that erased something of what its reader sees. If that came later than the receipt,
    nobody can compare the words any more: then it does not tell what was asked."""
    return line if line.seq >= erased else line.without_query()


def witnesses(now: int, span: int) -> tuple[int, int]:
    """Before something is deleted because its time is over: between which moments something must have been written or
    asked, for the clock to be believed.

    A clock that is years ahead would take everything at once. Nothing stored can tell such a clock from a long pause,
    except what comes after: in real time, the store is used again and again. So a moment is believed only if something
    leads up to it in the span before it, though not just now. Until then things are kept for longer.
    """
    return now - span, now - span // JUST_NOW


def until(count: int, later: int, last: int | None, *, known: bool) -> Accesses:
    """All accesses that ever were, without those that came later; unless some of these may have expired (`known`: the
    moment is not before what is still known one by one)."""
    return Accesses(count - later if known or later == count else None, last)
