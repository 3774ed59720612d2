"""The configuration of the embedded PostgreSQL, for the memory of the machine, with the operator's own file after it."""

FILE, CUSTOM_FILE = "tollhouse.conf", "custom.conf"
"""In the folder of the database: the file that each start writes, and the one in which operators override it."""
MIB = 1024 * 1024
GIB = 1024 * MIB
BUFFERS_MIN, BUFFERS_USUAL, BUFFERS_MAX = 32 * MIB, 128 * MIB, GIB
WAL_MIN, WAL_MAX = 512 * MIB, 2 * GIB
SLOT_WAL_MAX = "4GB"
CACHE_MIN = 256 * MIB
CONNECTIONS, CONNECTIONS_OF_LARGE, LARGE = 100, 200, 8 * GIB


def settings_for(memory_bytes: int) -> dict[str, str]:
    """The settings for a machine with this memory, most of which belongs to the file cache and to other programs.

    - `max_connections`: 100, from 8 GiB on 200. A web process needs up to 12, a worker up to 20.
    - `shared_buffers`: 128 MiB; a 32nd of a smaller memory, at least 32 MiB; a 128th of a larger one, at most 1 GiB. What is
      not in it is read from the file cache of the kernel.
    - `effective_cache_size`: half, which the planner expects to be cached.
    - `max_wal_size`: the WAL between two checkpoints, from 512 MiB to 2 GiB. After a crash it is replayed in seconds.
    - `checkpoint_timeout`: pages are written in full to the WAL once in each interval, so a longer one writes less.
    - `max_slot_wal_keep_size`: the WAL that is kept for a WAL archive that fails, so that it never fills the disk.
    - `wal_compression`: of these pages, most of the WAL after a checkpoint. They become a fifth.
    """
    return {
        "max_connections": str(CONNECTIONS if memory_bytes < LARGE else CONNECTIONS_OF_LARGE),
        "shared_buffers": _mebibytes(_buffers_bytes(memory_bytes)),
        "effective_cache_size": _mebibytes(max(memory_bytes // 2, CACHE_MIN)),
        "max_wal_size": _mebibytes(min(max(_power_of_two(memory_bytes // 8), WAL_MIN), WAL_MAX)),
        "checkpoint_timeout": "15min",
        "max_slot_wal_keep_size": SLOT_WAL_MAX,
        "wal_compression": "pglz",
    }


def configuration(original: str, memory_bytes: int) -> str:
    """The text of the file: the configuration at the path `original`, ours, and the operator's. The last value counts."""
    lines = [
        f"# Written at each start. Your own settings go into {CUSTOM_FILE} beside this file, which is read after it.",
        f"include '{original}'",
        *(f"{name} = '{value}'" for name, value in settings_for(memory_bytes).items()),
        f"include_if_exists '{CUSTOM_FILE}'",
    ]
    return "\n".join(lines) + "\n"


def _buffers_bytes(memory_bytes: int) -> int:
    of_small, of_large = _power_of_two(memory_bytes // 32), _power_of_two(memory_bytes // 128)
    return max(BUFFERS_MIN, min(of_small, BUFFERS_USUAL), min(of_large, BUFFERS_MAX))


def _power_of_two(number: int) -> int:
    """The largest power of two that is not larger."""
    return 1 << (number.bit_length() - 1)


def _mebibytes(count: int) -> str:
    return f"{count // MIB}MB"
