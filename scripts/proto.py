"""Write the .proto file and the lock of its field numbers from the table of operations.

python scripts/proto.py            writes the files
python scripts/proto.py --check    exits 1 when one of them is not what would be written
python scripts/proto.py --publish FILE    writes the descriptors of a release, which later ones are held against
"""

from __future__ import annotations

import sys
from pathlib import Path

from google.protobuf import descriptor_pb2, struct_pb2, timestamp_pb2

from agent_memory.app import memory
from agent_memory.interfaces import grpc
from agent_memory.interfaces.grpc import lock
from agent_memory.interfaces.grpc.descriptor import file_of
from agent_memory.interfaces.grpc.schema import FILE, Schema, schema
from agent_memory.interfaces.grpc.text import text

FOLDER = Path(grpc.__path__[0])


def published(made: Schema) -> bytes:
    """A FileDescriptorSet with everything that it needs: what `buf breaking` compares with."""
    files = descriptor_pb2.FileDescriptorSet()
    for known in (struct_pb2, timestamp_pb2):
        known.DESCRIPTOR.CopyToProto(files.file.add())
    files.file.append(file_of(made))
    return files.SerializeToString(deterministic=True)


def main() -> int:
    assert memory  # imports every namespace, and so fills the table
    made = schema()
    if sys.argv[1:2] == ["--publish"]:
        Path(sys.argv[2]).write_bytes(published(made))
        return 0
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
