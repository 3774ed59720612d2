"""PostgreSQL as an administrator runs it: on a port of this machine, with passwords, made by no part of the service."""

import asyncio
import os
import shutil
import subprocess
import time
from pathlib import Path

import asyncpg

from chaos.programs import free_port
from tollhouse.instance.database import embedded

STARTS_WITHIN_S = 60.0
PASSWORD = "superuser-password"  # noqa: S105 - of a server that lives as long as the experiment


class OwnDatabase:
    """A server with its data in this folder."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        self._cluster = embedded.locate(folder / "binaries")
        self._home = folder / "postgresql"
        self._home.mkdir(mode=0o700)
        if self._cluster.account is not None:
            os.chown(self._home, self._cluster.account.pw_uid, self._cluster.account.pw_gid)
        self._process: subprocess.Popen[bytes] | None = None

    def url(self, role: str, password: str, name: str) -> str:
        """The URL of a database for a role."""
        return f"postgresql://{role}:{password}@127.0.0.1:{self.port}/{name}"

    async def start(self) -> None:
        """Create the cluster and start the server."""
        password = self._home / "password"
        password.write_text(PASSWORD)
        password.chmod(0o644)
        options = ["--auth=scram-sha-256", "--username=postgres", f"--pwfile={password}", "--encoding=UTF8", "--locale=C"]
        await asyncio.to_thread(self._start("initdb", "--pgdata", str(self._home / "data"), *options).wait)
        settings = [f"port={self.port}", "listen_addresses=127.0.0.1", "unix_socket_directories="]
        self._process = self._start(
            "postgres", "-D", str(self._home / "data"), *(word for setting in settings for word in ("-c", setting))
        )
        until = time.monotonic() + STARTS_WITHIN_S
        while True:
            try:
                return await self.run("SELECT 1")
            except (OSError, asyncpg.CannotConnectNowError):
                if time.monotonic() > until:
                    raise
                await asyncio.sleep(0.1)

    async def run(self, *statements: str) -> None:
        """Run statements as the superuser."""
        connection = await asyncpg.connect(self.url("postgres", PASSWORD, "postgres"))
        try:
            for statement in statements:
                await connection.execute(statement)
        finally:
            await connection.close()

    def stop(self) -> None:
        """End the server and delete its data."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
        shutil.rmtree(self._home, ignore_errors=True)

    def _start(self, program: str, *words: str) -> "subprocess.Popen[bytes]":
        with (self._home.parent / "postgresql.log").open("ab") as log:
            return subprocess.Popen(
                [self._cluster.binaries / "bin" / program, *words],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self._home,
                env={"PATH": "/usr/bin:/bin"},
                user=self._cluster.uid,
                group=self._cluster.gid,
                extra_groups=self._cluster.no_groups,
            )
