"""Is this folder on a network filesystem? SQLite's write-ahead log needs memory that all its readers share.

On NFS, Lustre and their like that does not work across machines, so the store falls back to a rollback journal.
"""

from __future__ import annotations

import os
from pathlib import Path

NETWORK = frozenset(
    # Kernel names, as /proc/mounts shows them.
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "lustre", "gpfs", "beegfs", "ceph", "glusterfs", "afs", "9p", "panfs"}
)


def on_a_network(folder: Path, mounts: Path = Path("/proc/mounts")) -> bool:
    """Whether the mount that holds `folder` is remote; False where there is no such table to ask."""
    try:
        table = mounts.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    inside = os.path.join(os.path.realpath(folder), "")
    longest, kind = "", ""
    for line in table.splitlines():
        fields = line.split(" ")
        if len(fields) < 3:
            continue
        mount = os.path.join(_unescaped(fields[1]), "")
        if inside.startswith(mount) and len(mount) >= len(longest):  # the later of two mounts covers the earlier
            longest, kind = mount, fields[2]
    return kind in NETWORK or kind.startswith("fuse.")  # sshfs, s3fs, gcsfuse: a local one only loses some speed


def _unescaped(path: str) -> str:
    for code, character in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        path = path.replace(code, character)
    return path
