"""What kind of file system holds a path, where the system says so."""

from __future__ import annotations

from pathlib import Path

MOUNTS = Path("/proc/mounts")
NETWORK = frozenset(
    ["9p", "afs", "ceph", "cifs", "davfs", "gluster", "lustre", "ncpfs", "nfs", "nfs4", "smb3", "smbfs"]
)
NETWORK_FUSE = ("fuse.sshfs", "fuse.rclone", "fuse.s3fs", "fuse.glusterfs", "fuse.ceph", "fuse.gcsfuse", "fuse.davfs")


def on_network(kind: str) -> bool:
    return kind in NETWORK or kind.startswith(NETWORK_FUSE)


def file_system(path: Path, mounts: Path = MOUNTS) -> str | None:
    """The type of the mount that holds a path; None where the system does not say."""
    try:
        lines = mounts.read_text("utf-8", "replace").splitlines()
    except OSError:
        return None
    real = nearest(path).resolve()
    best, kind = -1, None
    for line in lines:
        fields = line.split(" ")
        if len(fields) < 3:
            continue
        point = Path(_unescaped(fields[1]))
        if real.is_relative_to(point) and len(point.parts) >= best:  # a later mount hides an earlier one
            best, kind = len(point.parts), fields[2]
    return kind


def _unescaped(text: str) -> str:
    for code, character in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        text = text.replace(code, character)
    return text


def nearest(path: Path) -> Path:
    """The path, or the first folder above it that exists."""
    return next((place for place in (path, *path.parents) if place.exists()), path)
