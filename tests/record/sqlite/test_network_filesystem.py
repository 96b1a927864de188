"""Telling a network filesystem by the table of mounts."""

from __future__ import annotations

from pathlib import Path

import pytest

from bedside.record.sqlite.network_filesystem import on_a_network

MOUNTS = """\
/dev/vda / ext4 rw 0 0
tmpfs /scratch tmpfs rw 0 0
server:/home /home nfs4 rw 0 0
/dev/nvme0 /home/local xfs rw 0 0
10.0.0.1@tcp:/fs /lustre/my\\040project lustre rw 0 0
me@host: /mnt/ssh fuse.sshfs rw 0 0
nonsense
"""


@pytest.mark.parametrize(
    ("folder", "remote"),
    [
        ("/runs", False),
        ("/scratch/runs", False),
        ("/home/me/runs", True),
        ("/home/local/runs", False),
        ("/homeless/runs", False),
        ("/lustre/my project/runs", True),
        ("/mnt/ssh/runs", True),
    ],
)
def test_the_mount_that_holds_the_folder_decides(tmp_path: Path, folder: str, remote: bool) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(MOUNTS)
    assert on_a_network(Path(folder), mounts) is remote


def test_without_a_table_it_is_taken_for_local(tmp_path: Path) -> None:
    assert on_a_network(tmp_path, tmp_path / "nothing") is False
