"""Files that hold memories."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def private(file: Path) -> Iterator[BinaryIO]:
    """Memories are nobody else's business, whatever the file that stood there allowed: a new one takes its place, once
    it is whole. What is not a file (a pipe, a device) is written to as it is."""
    if file.exists() and not file.is_file():
        with file.open("wb") as target:
            yield target
        return
    file = file.resolve()  # a link stays one
    number, name = tempfile.mkstemp(prefix=f".{file.name[:50]}.", dir=file.parent)  # mode 0600
    try:
        with os.fdopen(number, "wb") as target:
            yield target
            target.flush()
            os.fsync(target.fileno())
        Path(name).replace(file)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
