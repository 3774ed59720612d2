"""A running `tollhouse serve` with its own data folder, and clients that send requests at a steady rate."""

import asyncio
import os
import resource
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import IO, Any, Self

import aiohttp

READY_WITHIN_S = 120.0
STOPS_WITHIN_S = 30.0
HEALTHY_ADDRESS = "127.0.9.1"
CREATED = 201
PATHS = ("/healthz", "/readyz", "/signin", "/.well-known/oauth-authorization-server")


class RunningService:
    """`async with Served() as service`. `log` takes its standard error; `settings` are environment variables."""

    def __init__(self, log: IO[bytes] | int | None = None, **settings: str) -> None:
        self._log = log
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        self.url = f"http://127.0.0.1:{self.port}"
        self._settings = {"TOLLHOUSE_BASE_URL": self.url, **settings}

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as last:
            folder = Path(last.enter_context(tempfile.TemporaryDirectory(prefix="tollhouse-chaos-")))
            folder.chmod(0o711)
            last.callback(lambda: shutil.rmtree((folder / "data" / "postgres").resolve(), ignore_errors=True))
            outside = {
                name: value for name, value in os.environ.items() if not name.startswith(("TOLLHOUSE_", "DATABASE_URL"))
            }
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tollhouse", "serve", "--port", str(self.port)],
                env=outside | {"TOLLHOUSE_DATA_DIR": str(folder / "data")} | self._settings,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL if self._log is None else self._log,
            )
            last.callback(self._stop)
            await self.ready()
            self._last = last.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._last.aclose()

    async def ready(self) -> dict[str, Any]:
        """Wait until the service is ready. Returns the body of `/readyz`."""
        async with asyncio.timeout(READY_WITHIN_S), aiohttp.ClientSession() as http:
            while self.process.poll() is None:
                try:
                    async with http.get(f"{self.url}/readyz") as answer:
                        if answer.ok:
                            return await answer.json()
                except aiohttp.ClientError:
                    pass
                await asyncio.sleep(0.05)
        raise RuntimeError(f"the service ended with {self.process.returncode}")

    def part(self, word: str) -> int | None:
        """The process id of `web` or `worker`; None if it is not running."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return next((int(pid) for pid in children if _name(pid).split()[:1] == [word] and _runs(pid)), None)

    def limit(self, which: int, soft: int | None) -> None:
        """Set this soft limit for every process of the service; None restores the hard limit."""
        for pid in (self.process.pid, self.part("web"), self.part("worker")):
            if pid is not None:
                _, hard = resource.prlimit(pid, which)
                resource.prlimit(pid, which, (hard if soft is None else soft, hard))

    def _stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(STOPS_WITHIN_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def cookies() -> aiohttp.ClientSession:
    """An HTTP session that also stores cookies of IP addresses."""
    return aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True))


class Merchant:
    """A merchant that signs up and creates payment links, each with its own idempotency key."""

    def __init__(self, url: str, http: aiohttp.ClientSession) -> None:
        self._url, self._http = url, http
        self.failed = 0
        self.api_key = ""

    async def begin(self) -> None:
        """Sign up and create an API key."""
        who = {
            "email": f"chaos{time.time_ns()}@example.com",
            "password": "correct horse battery",
            "business_name": "Chaos",
        }
        for path, body in (("signup", who), ("api-keys", {"name": "Chaos", "mode": "test"})):
            async with self._http.post(f"{self._url}/api/v2/merchant/{path}", json=body) as answer:
                answer.raise_for_status()
                made = await answer.json()
        self.api_key = made["api_key"]

    async def open_link(self, number: int) -> None:
        """Create a payment link and count a response other than 201."""
        self.failed += await self.create_link(str(number)) is None

    async def create_link(self, key: str) -> str | None:
        """Create a payment link with an idempotency key of its own. Returns its id; None unless created."""
        body = {"display_name": f"Coffee {key}", "amount": "4.20", "currency": "EUR"}
        headers = {"X-API-Key": self.api_key, "Idempotency-Key": f"link-{key}"}
        try:
            async with self._http.post(
                f"{self._url}/api/v2/integration/payment-links", json=body, headers=headers
            ) as answer:
                return (await answer.json())["id"] if answer.status == CREATED else None
        except aiohttp.ClientError:
            return None

    async def call(self, path: str, body: object = None) -> dict[str, Any]:
        """POST `body` to this path of the integration API, or GET it. Raises `ClientResponseError` unless it succeeds."""
        headers = {"X-API-Key": self.api_key} | ({} if body is None else {"Idempotency-Key": secrets.token_hex(8)})
        method = "GET" if body is None else "POST"
        address = f"{self._url}/api/v2/integration/{path}"
        async with self._http.request(method, address, json=body, headers=headers) as answer:
            answer.raise_for_status()
            return await answer.json()

    async def page(self, path: str) -> str:
        """The HTML of a page of the dashboard. Raises `ClientResponseError` unless it is shown."""
        async with self._http.get(self._url + path) as answer:
            answer.raise_for_status()
            return await answer.text()

    async def links(self) -> int:
        """The number of payment links."""
        count, page, more = 0, 1, True
        while more:
            listed = await self.call(f"payment-links?limit=100&page={page}")
            count, page, more = count + len(listed["payment_links"]), page + 1, listed["has_more"]
        return count


class HealthyClient:
    """Requests a page, probes and metadata in turn, at a steady rate, on few persistent connections."""

    def __init__(self, url: str, paths: Sequence[str] = PATHS) -> None:
        self._url = url
        self._paths = paths
        self.latencies_ms: list[float] = []
        self.problems: list[str] = []

    async def send_requests(self, per_s: float, seconds: float) -> list[float]:
        """Send requests for `seconds`. Returns their latencies in milliseconds, measured from when each was due."""
        first = len(self.latencies_ms)
        connector = aiohttp.TCPConnector(limit=8, local_addr=(HEALTHY_ADDRESS, 0))
        async with aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar()) as http:
            await self._request(http, self._paths[0])
            del self.latencies_ms[first:]
            began = time.perf_counter()
            asking: set[asyncio.Task[None]] = set()
            for number in range(int(per_s * seconds)):
                await asyncio.sleep(max(0.0, began + number / per_s - time.perf_counter()))
                one = asyncio.create_task(self._request(http, self._paths[number % len(self._paths)]))
                asking.add(one)
                one.add_done_callback(asking.discard)
            await asyncio.gather(*asking)
        return self.latencies_ms[first:]

    async def _request(self, http: aiohttp.ClientSession, path: str) -> None:
        due = time.perf_counter()
        try:
            async with http.get(self._url + path) as answer:
                await answer.read()
                if not answer.ok:
                    self.problems.append(f"{path} {answer.status}")
        except aiohttp.ClientError as problem:
            self.problems.append(f"{path} {type(problem).__name__}")
        self.latencies_ms.append((time.perf_counter() - due) * 1000)


def _name(pid: str) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def _runs(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
