"""A real PgBouncer before the database server of the tests, configured by the file in `deploy`."""

import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
from msgspec import Struct

from tests.running import free_port
from tollhouse.instance.database import embedded
from tollhouse.platform.database import roles
from tollhouse.platform.database.connections import role_settings_missing
from tollhouse.platform.database.pool import SESSION_SETTINGS

FILE = Path(__file__).parents[1] / "deploy" / "pgbouncer" / "pgbouncer.ini"
PROGRAM = os.environ.get("PGBOUNCER") or shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
KEEPS_NAMED_STATEMENTS = (1, 21)
STARTS_WITHIN_S = 60


class PgBouncer(Struct, frozen=True):
    """A running PgBouncer, which serves every database of the server."""

    port: int

    def url(self, dsn: str) -> str:
        """The URL of the database of `dsn` through it, with the role of the application."""
        return f"postgresql://{roles.APPLICATION}@127.0.0.1:{self.port}{urlsplit(dsn).path}"


async def set_role_settings(dsn: str, database: str | None = None) -> None:
    """Give the application's role what sessions through a pooler begin with, in this database or in all."""
    owner = await asyncpg.connect(dsn)
    for statement in role_settings_missing(
        f"postgresql://{roles.APPLICATION}@nowhere", database or "", SESSION_SETTINGS, {}
    ):
        await owner.execute(statement if database else statement.replace(' IN DATABASE ""', ""))
    await owner.close()


def version() -> tuple[int, ...]:
    """The version of the program."""
    printed = subprocess.run([PROGRAM or "", "--version"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"PgBouncer (\d+)\.(\d+)", printed)
    assert found is not None
    return tuple(map(int, found.groups()))


@contextmanager
def running(cluster: embedded.Cluster, **changes: str) -> Iterator[PgBouncer]:
    """PgBouncer with the file of `deploy`, `changes`, and what differs because it stands before this server."""
    bouncer = PgBouncer(free_port())
    with tempfile.TemporaryDirectory(prefix="tollhouse-pgbouncer-") as folder:
        Path(folder).chmod(0o711)
        users = Path(folder) / "userlist.txt"
        users.write_text(f'"{roles.APPLICATION}" ""\n')
        configuration = Path(folder) / "pgbouncer.ini"
        fitted = {"listen_port": str(bouncer.port), "auth_type": "trust", "auth_file": str(users), **changes}
        configuration.write_text(_fit(FILE.read_text(), cluster, fitted))
        process = subprocess.Popen(
            [PROGRAM or "", str(configuration)],
            stderr=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            user=cluster.uid,
            group=cluster.gid,
            extra_groups=cluster.no_groups,
        )
        try:
            _wait_until_it_listens(bouncer, process)
            yield bouncer
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(STARTS_WITHIN_S)


def _fit(text: str, cluster: embedded.Cluster, changes: dict[str, str]) -> str:
    text, count = re.subn(r"(?m)^tollhouse = .*$", f"* = host={cluster.sockets} port=5432", text)
    assert count == 1
    if version() < KEEPS_NAMED_STATEMENTS:
        changes = {name: value for name, value in changes.items() if name != "max_prepared_statements"}
        text, count = re.subn(r"(?m)^max_prepared_statements = .*\n", "", text)
        assert count == 1
    for name, value in changes.items():
        text, count = re.subn(rf"(?m)^{name} = .*$", f"{name} = {value}", text)
        assert count == 1, name
    return text


def _wait_until_it_listens(bouncer: PgBouncer, process: "subprocess.Popen[bytes]") -> None:
    until = time.monotonic() + STARTS_WITHIN_S
    while time.monotonic() < until:
        assert process.poll() is None, "PgBouncer did not start"
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", bouncer.port)) == 0:
                return
        time.sleep(0.02)
    raise AssertionError("PgBouncer does not listen")
