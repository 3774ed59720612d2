"""An embedded PostgreSQL cluster in the data folder: its paths, whether its server responds, and its configuration."""

import os
import pwd
import socket
import sys
import tempfile
from pathlib import Path
from urllib.parse import quote

from msgspec import Struct, structs

from tollhouse.platform.database import roles
from tollhouse.platform.machine import GIB
from tollhouse.platform.settings.config import Settings

MAJOR = 18
SOCKET_PATH_MAX = 90
OWNER = "tollhouse"
CONFIGURATION_FILE, CUSTOM_FILE = "tollhouse.conf", "custom.conf"
"""In the folder of the database: the file that each start writes, and the one in which operators override it."""
MIB = 1024 * 1024

BUFFERS_MIN, BUFFERS_USUAL, BUFFERS_MAX = 32 * MIB, 128 * MIB, GIB
WAL_MIN, WAL_MAX = 512 * MIB, 2 * GIB
SLOT_WAL_MAX = "4GB"
CACHE_MIN = 256 * MIB
CONNECTIONS, CONNECTIONS_OF_LARGE, LARGE = 100, 200, 8 * GIB


class Cluster(Struct, frozen=True):
    """The paths of one embedded server. `account` runs it if the supervisor is root, which PostgreSQL rejects."""

    folder: Path
    binaries: Path
    account: pwd.struct_passwd | None
    major: int = MAJOR

    @property
    def uid(self) -> int | None:
        """The account's user id; None for the current user."""
        return self.account.pw_uid if self.account else None

    @property
    def gid(self) -> int | None:
        """The account's group id; None for the current group."""
        return self.account.pw_gid if self.account else None

    @property
    def no_groups(self) -> list[int] | None:
        """No supplementary groups of root for the account."""
        return [] if self.account else None

    @property
    def data(self) -> Path:
        """The data folder, named by major version: a newer major version starts beside it."""
        return self.folder / f"data-{self.major}"

    @property
    def older_majors(self) -> list[int]:
        """The older major versions of PostgreSQL that have a data folder beside this one, newest first."""
        found = [int(file.parent.name.removeprefix("data-")) for file in self.folder.glob("data-*[0-9]/PG_VERSION")]
        return sorted((major for major in found if major < self.major), reverse=True)

    @property
    def identifier(self) -> str:
        """The system identifier that initdb gave the cluster: in every version, the first 8 bytes of its control file."""
        with (self.data / "global" / "pg_control").open("rb") as file:
            return str(int.from_bytes(file.read(8), sys.byteorder))

    @property
    def sockets(self) -> Path:
        """The folder of the socket: in the data folder, or a short private one if that path is too long for a socket."""
        inside = self.folder / "run"
        if len(str(inside)) <= SOCKET_PATH_MAX:
            return inside
        return Path(tempfile.gettempdir()) / f"tollhouse-{os.getuid()}-{self.folder.stat().st_ino}"

    @property
    def dsn(self) -> str:
        """The DSN of the owner role: for migrations, backups and restoring."""
        return self._dsn(OWNER)

    @property
    def application_dsn(self) -> str:
        """The DSN of the application role of web and worker."""
        return self._dsn(roles.APPLICATION)

    def settings(self, settings: Settings) -> Settings:
        """The settings for this database."""
        return structs.replace(settings, database_url=self.application_dsn, migration_database_url=self.dsn)

    def _dsn(self, role: str) -> str:
        return f"postgresql://{role}@/tollhouse?host={quote(str(self.sockets), safe='')}"

    @property
    def responses(self) -> bool:
        """Whether a server of this cluster accepts connections."""
        if not self.ready:
            return False
        with socket.socket(socket.AF_UNIX) as probe:
            try:
                probe.connect(str(self.sockets / ".s.PGSQL.5432"))
            except OSError:
                return False
        return True

    @property
    def ready(self) -> bool:
        """Whether the server says that it takes connections."""
        lines = self._pid_file()
        return len(lines) > 7 and lines[7].strip() == "ready"  # noqa: PLR2004 - the status is the eighth line

    @property
    def pid(self) -> int | None:
        """The server's process id, if it runs or crashed."""
        lines = self._pid_file()
        return int(lines[0]) if lines and lines[0].strip().isdigit() else None

    def _pid_file(self) -> list[str]:
        try:
            return (self.data / "postmaster.pid").read_text().splitlines()
        except (FileNotFoundError, NotADirectoryError):
            return []


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
