"""Give back memory that loading left behind and nobody needs.

Two things, worth 10 MB together: what the C allocator has freed but kept, and the pages of onnxruntime's own code
that only its start-up ran through (it registers thousands of kernels; we use ten). The system reads a page of code
again should it be needed. Only Linux is known to gain from this; elsewhere nothing happens.
"""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path

_DONTNEED = 4  # MADV_DONTNEED
_LIBRARY = "onnxruntime"


def release() -> None:
    """Never fails: where it does not work, the process is somewhat larger."""
    if sys.platform != "linux":
        return
    system = ctypes.CDLL(None)
    trim = getattr(system, "malloc_trim", None)  # glibc has it, musl does not
    if trim is not None:
        trim(0)
    try:
        mappings = Path("/proc/self/maps").read_text("utf-8", "replace").splitlines()
    except OSError:
        return
    for mapping in mappings:
        span, access, *_, file = mapping.split(maxsplit=5)
        # Code alone: it is never written to, so that dropping a page cannot lose anything.
        if access == "r-xp" and _LIBRARY in file.rpartition("/")[2]:
            start, end = (int(address, 16) for address in span.split("-"))
            system.madvise(ctypes.c_void_p(start), ctypes.c_size_t(end - start), _DONTNEED)
