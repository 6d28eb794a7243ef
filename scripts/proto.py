"""Write the .proto file and the lock of its field numbers from the table of operations.

python scripts/proto.py            writes the files
python scripts/proto.py --check    exits 1 when one of them is not what would be written
"""

from __future__ import annotations

import sys
from pathlib import Path

from agent_memory.app import memory
from agent_memory.interfaces import grpc
from agent_memory.interfaces.grpc import lock
from agent_memory.interfaces.grpc.schema import FILE, schema
from agent_memory.interfaces.grpc.text import text

FOLDER = Path(grpc.__path__[0])


def main() -> int:
    assert memory  # imports every namespace, and so fills the table
    made = schema()
    stale = 0
    for path, written in ((FOLDER / "proto" / FILE, text(made)), (FOLDER / lock.NAME, lock.written(made.lock))):
        if "--check" in sys.argv:
            stale |= not path.exists() or path.read_text("utf-8") != written
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(written, "utf-8")
    return int(stale)


if __name__ == "__main__":
    sys.exit(main())
