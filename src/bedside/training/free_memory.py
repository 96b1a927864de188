"""How much memory is free on a device, as far as that can be known without asking it to allocate anything."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import torch

UNKNOWN = 2 << 30  # bytes taken to be free where nobody says (macOS, Windows): the least that trains anything today
CGROUP = Path("/sys/fs/cgroup")


def free_memory(device: torch.device) -> int:
    """Bytes that could be allocated there."""
    if device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
        return int(free + torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device))
    if device.type == "mps":
        return max(0, int(torch.mps.recommended_max_memory()) - int(torch.mps.current_allocated_memory()))
    known = [each for each in (_of_the_machine(), _of_the_container()) if each is not None]
    return min(known, default=UNKNOWN)


def _of_the_machine() -> int | None:
    with suppress(OSError, ValueError):
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) << 10
    return None


def _of_the_container() -> int | None:
    """Of a container with a limit; files that are only cached count as free."""
    with suppress(OSError, ValueError):
        limit = int((CGROUP / "memory.max").read_text())  # "max" is not a number: no limit
        used = int((CGROUP / "memory.current").read_text())
        fields = dict(line.split() for line in (CGROUP / "memory.stat").read_text().splitlines())
        return max(0, limit - used + int(fields.get("inactive_file", 0)))
    return None
