"""A flood of sign-ups from one address, then from many: sign-ins and pages stay fast, and memory stays bounded."""

import asyncio
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import aiohttp
import msgspec

from chaos.figures import Figure, at_least, at_most, fact, percentile
from chaos.service import HEALTHY_ADDRESS, HealthyClient, RunningService
from chaos.sign_up_flood import ADDRESSES

REQUESTS_PER_S, SIGN_INS_PER_S = 50.0, 5.0
ROUNDS, QUICK_ROUNDS = 4, 1
STRETCH_S, QUICK_STRETCH_S = 20.0, 6.0
RATIO_MAX = 1.5
GROWTH_MIB_MAX = 128
"""Five hashes at once take 95 MiB."""
BOUNDED = {"201", "429", "503"}
CREDENTIALS = {"email": "member@example.com", "password": "correct horse battery"}
OK, CREATED = 200, 201


class Member:
    """A merchant with an account who signs in repeatedly."""

    def __init__(self, service: RunningService) -> None:
        self._service = service
        self.problems: list[str] = []

    async def begin(self) -> None:
        """Sign up."""
        async with (
            aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as http,
            http.post(
                f"{self._service.url}/api/v2/merchant/signup", json=CREDENTIALS | {"business_name": "Member"}
            ) as answer,
        ):
            if answer.status != CREATED:
                raise RuntimeError(f"sign-up answered {answer.status}")

    async def sign_in(self, per_s: float, seconds: float) -> list[float]:
        """Sign in at this rate. Returns the latencies in milliseconds."""
        latencies: list[float] = []
        connector = aiohttp.TCPConnector(limit=8, local_addr=(HEALTHY_ADDRESS, 0))
        async with aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar()) as http:
            began = time.perf_counter()
            asking: list[asyncio.Task[None]] = []
            for number in range(int(per_s * seconds)):
                await asyncio.sleep(max(0.0, began + number / per_s - time.perf_counter()))
                asking.append(asyncio.create_task(self._sign_in(http, latencies)))
            await asyncio.gather(*asking)
        return latencies

    async def _sign_in(self, http: aiohttp.ClientSession, latencies: list[float]) -> None:
        began = time.perf_counter()
        try:
            async with http.post(f"{self._service.url}/api/v2/merchant/login", json=CREDENTIALS) as answer:
                await answer.read()
                if answer.status != OK:
                    self.problems.append(str(answer.status))
        except aiohttp.ClientError as problem:
            self.problems.append(type(problem).__name__)
        latencies.append((time.perf_counter() - began) * 1000)


async def run(*, quick: bool) -> list[Figure]:
    """Alternate undisturbed periods and periods under a flood."""
    rounds, stretch_s = (QUICK_ROUNDS, QUICK_STRETCH_S) if quick else (ROUNDS, STRETCH_S)
    figures: list[Figure] = []
    async with RunningService(TOLLHOUSE_TRUSTED_PROXIES="none") as service:
        await Member(service).begin()
        await asyncio.gather(
            HealthyClient(service.url).send_requests(REQUESTS_PER_S, 3.0), Member(service).sign_in(SIGN_INS_PER_S, 3.0)
        )
        web = service.part("web")
        for kind in ADDRESSES:
            figures += await _run_kind(service, kind, rounds, stretch_s)
        figures.append(at_most("web processes that ended", int(service.part("web") != web), 0))
    return figures


async def _run_kind(service: RunningService, kind: str, rounds: int, stretch_s: float) -> list[Figure]:
    client, member, answered = HealthyClient(service.url), Member(service), Counter[str]()
    pages: tuple[list[float], list[float]] = ([], [])
    sign_ins: tuple[list[float], list[float]] = ([], [])
    small, large = _resident_mib(service), 0.0

    async def stretch(at: int) -> None:
        seen, signed_in = await asyncio.gather(
            client.send_requests(REQUESTS_PER_S, stretch_s), member.sign_in(SIGN_INS_PER_S, stretch_s)
        )
        pages[at].extend(seen)
        sign_ins[at].extend(signed_in)

    for _ in range(rounds):
        await stretch(0)
        with flooded(kind, service.port, answered):
            await stretch(1)
            large = max(large, _resident_mib(service))
        await asyncio.sleep(1)
    figures: list[Figure] = []
    for what, (quiet, during) in {"pages": pages, "sign-ins": sign_ins}.items():
        before, after = percentile(quiet, 0.99), percentile(during, 0.99)
        figures += [
            fact(f"{kind}: {what}, undisturbed p99", before, unit="ms"),
            fact(f"{kind}: {what}, flooded p99", after, unit="ms"),
            at_most(f"{kind}: {what}, p99 of the undisturbed", after / before, RATIO_MAX, unit="times"),
        ]
    problems = client.problems + member.problems
    if problems:
        print(f"{kind}: {problems[:5]}", file=sys.stderr)
    return [
        *figures,
        at_most(f"{kind}: healthy requests that failed", len(problems), 0),
        *(fact(f"{kind}: sign-ups answered {status}", times) for status, times in sorted(answered.items())),
        at_least(f"{kind}: sign-ups refused", answered["429"] + answered["503"], 1),
        at_most(f"{kind}: sign-ups answered otherwise", sum(n for code, n in answered.items() if code not in BOUNDED), 0),
        at_most(f"{kind}: memory grown", max(0.0, large - small), GROWTH_MIB_MAX, unit="MiB"),
    ]


@contextmanager
def flooded(kind: str, port: int, answered: Counter[str]) -> Iterator[None]:
    """Run a flood while the block runs, and add up the statuses of its responses."""
    process = subprocess.Popen(
        [sys.executable, "-m", "chaos.sign_up_flood", kind, str(port)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    try:
        if process.stdout is not None:
            process.stdout.readline()
        yield
        process.terminate()
        output, _ = process.communicate(timeout=10)
        answered.update(msgspec.json.decode(output, type=dict[str, int]))
    finally:
        process.kill()
        process.wait()


def _resident_mib(service: RunningService) -> float:
    pid = service.part("web")
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) / 1024
