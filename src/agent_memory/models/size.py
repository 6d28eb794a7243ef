"""Numbers as people read them: of bytes, and of things."""

from __future__ import annotations


def sized(number: float) -> str:
    """`163840` is `160 kB`."""
    for unit in ("bytes", "kB", "MB"):
        if number < 1024:
            return f"{number:.0f} {unit}"
        number /= 1024
    return f"{number:.1f} GB"


def counted(number: int, one: str, many: str | None = None) -> str:
    """`1 record`, `2 records`; `many` where it is not made by an s."""
    return f"{number} {one if number == 1 else many or one + 's'}"
