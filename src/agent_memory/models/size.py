"""Numbers of bytes as people read them."""

from __future__ import annotations


def sized(number: float) -> str:
    """`163840` is `160 kB`."""
    for unit in ("bytes", "kB", "MB"):
        if number < 1024:
            return f"{number:.0f} {unit}"
        number /= 1024
    return f"{number:.1f} GB"
