"""The paths of an embedded PostgreSQL cluster in the data folder, and whether its server responds."""

import os
import pwd
import socket
import sys
import tempfile
from pathlib import Path
from urllib.parse import quote

from msgspec import Struct

from tollhouse.platform.database import roles

MAJOR = 18
SOCKET_PATH_MAX = 90
OWNER = "tollhouse"


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
