"""Three PostgreSQL servers under Patroni with etcd, configured by the file in `deploy`, as processes that can be killed."""

import asyncio
import os
import shutil
import signal
import subprocess
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Self

import aiohttp
import yaml

from chaos.programs import free_port
from tollhouse.instance.database import embedded

FILE = Path(__file__).parents[1] / "deploy" / "patroni" / "patroni.yml"
PATRONI = os.environ.get("PATRONI") or shutil.which("patroni")
ETCD = shutil.which("etcd")
NODES = 3
READY_WITHIN_S = 120.0
STOPS_WITHIN_S = 30.0
NEEDS = (
    "Install Patroni (`pip install 'patroni[etcd3,psycopg3]'`; PATRONI names its program) and etcd (Debian: etcd-server)."
)


class Node:
    """One machine: Patroni and its PostgreSQL, in a process group of their own."""

    def __init__(self, name: str, folder: Path, etcd_port: int, cluster: embedded.Cluster) -> None:
        self.name = name
        self.port, self.api_port = free_port(), free_port()
        self._cluster = cluster
        self._log = folder / f"{name}.log"
        self._file = folder / f"{name}.yml"
        self._file.write_text(yaml.safe_dump(self._fitted(yaml.safe_load(FILE.read_text()), folder, etcd_port)))
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start Patroni, which starts PostgreSQL."""
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                [PATRONI or "", str(self._file)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                user=self._cluster.uid,
                group=self._cluster.gid,
                extra_groups=self._cluster.no_groups,
            )

    def kill(self) -> None:
        """End Patroni and PostgreSQL at once, like a machine that loses its power."""
        if self.process is None:
            return
        for pid in self._sessions():
            os.kill(pid, signal.SIGKILL)
        self.process.wait()
        self.process = None

    def _sessions(self) -> list[int]:
        """Patroni and the postmaster, whose children end with it."""
        pid_file = self._file.with_suffix("") / "postmaster.pid"
        postmaster = [int(pid_file.read_text().split()[0])] if pid_file.exists() else []
        return [
            pid for pid in (self.process.pid if self.process else 0, *postmaster) if Path(f"/proc/{pid}").exists() and pid
        ]

    def _fitted(self, configuration: dict[str, Any], folder: Path, etcd_port: int) -> dict[str, Any]:
        address, api_address = f"127.0.0.1:{self.port}", f"127.0.0.1:{self.api_port}"
        database = configuration["postgresql"] | {
            "listen": address,
            "connect_address": address,
            "data_dir": str(self._file.with_suffix("")),
            "bin_dir": str(self._cluster.binaries / "bin"),
            "pg_hba": ["host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust"],
            "pgpass": str(folder / f"{self.name}.pgpass"),
            "parameters": {"unix_socket_directories": ""},
        }
        return configuration | {
            "name": self.name,
            "restapi": {"listen": api_address, "connect_address": api_address},
            "etcd3": {"hosts": f"127.0.0.1:{etcd_port}"},
            "postgresql": database,
            "watchdog": {"mode": "off"},
        }


class PatroniBed:
    """`async with PatroniBed(folder) as bed`: a leader and two standbys."""

    def __init__(self, folder: Path) -> None:
        if PATRONI is None or ETCD is None:
            raise SystemExit(NEEDS)
        self._folder = folder
        self._etcd_port, self._peer_port = free_port(), free_port()
        cluster = embedded.locate(folder / "data")
        self._home = folder / "patroni"
        self._home.mkdir(mode=0o700)
        if cluster.account is not None:
            os.chown(self._home, cluster.account.pw_uid, cluster.account.pw_gid)
        self._cluster = cluster
        self.nodes = [Node(f"db{number}", self._home, self._etcd_port, cluster) for number in range(1, NODES + 1)]

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as last:
            etcd = self._start_etcd()
            last.callback(etcd.wait, STOPS_WITHIN_S)
            last.callback(etcd.terminate)
            for node in self.nodes:
                last.callback(node.kill)
                node.start()
                await self.leader()  # the first one initialises the cluster, the others copy it
            await self.wait_for_standbys()
            self._last = last.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._last.aclose()

    def url(self, role: str, database: str) -> str:
        """The URL of a database with all hosts."""
        hosts = ",".join(f"127.0.0.1:{node.port}" for node in self.nodes)
        return f"postgresql://{role}@{hosts}/{database}"

    async def leader(self) -> Node:
        """The node that Patroni calls the leader. Waits for one."""
        async with asyncio.timeout(READY_WITHIN_S):
            while True:
                for node in self.nodes:
                    if await self._status(node, "primary") is not None:
                        return node
                await asyncio.sleep(0.1)

    async def wait_for_standbys(self) -> None:
        """Wait until every other node streams from the leader, one of them is synchronous, and Patroni has recorded it.

        Before the record, which Patroni writes when it looks again, no other node may take over.
        """
        async with asyncio.timeout(READY_WITHIN_S):
            while True:
                status = await self._status(await self.leader(), "primary") or {}
                streaming = [one for one in status.get("replication", []) if one["state"] == "streaming"]
                if (
                    len(streaming) == NODES - 1
                    and any(one["sync_state"] in {"sync", "quorum"} for one in streaming)
                    and any([await self._status(node, "synchronous") for node in self.nodes])
                ):
                    return
                await asyncio.sleep(0.2)

    async def _status(self, node: Node, role: str) -> dict[str, Any] | None:
        """What its Patroni says, if it has this role."""
        try:
            async with (
                aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(2)) as http,
                http.get(f"http://127.0.0.1:{node.api_port}/{role}") as answer,
            ):
                return await answer.json() if answer.ok else None
        except (aiohttp.ClientError, TimeoutError):
            return None

    def _start_etcd(self) -> "subprocess.Popen[bytes]":
        clients, peers = f"http://127.0.0.1:{self._etcd_port}", f"http://127.0.0.1:{self._peer_port}"
        options = {
            "name": "etcd1",
            "data-dir": str(self._folder / "etcd"),
            "listen-client-urls": clients,
            "advertise-client-urls": clients,
            "listen-peer-urls": peers,
            "initial-advertise-peer-urls": peers,
            "initial-cluster": f"etcd1={peers}",
        }
        words = [word for name, value in options.items() for word in (f"--{name}", value)]
        with (self._folder / "etcd.log").open("ab") as log:
            return subprocess.Popen([ETCD or "", *words], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
