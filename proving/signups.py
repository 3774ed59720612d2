"""A flood of sign-ups from one address, then from many: sign-ins and pages do not notice, and memory stays bounded."""

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

from proving.flooding import ADDRESSES
from proving.results import Figure, at_least, fact, must, percentile
from proving.served import HEALTHY_ADDRESS, Served, Visitor

VISITS_PER_S, SIGN_INS_PER_S = 50.0, 5.0
ROUNDS, QUICK_ROUNDS = 4, 1
STRETCH_S, QUICK_STRETCH_S = 20.0, 6.0
MOST_RATIO = 1.5
GROWN_MIB = 128
"""Five hashes at once take 95 MiB."""
BOUNDED = {"201", "429", "503"}
MEMBER = {"email": "member@example.com", "password": "correct horse battery"}
OK, CREATED = 200, 201


class Member:
    """Somebody with an account, who signs in again and again."""

    def __init__(self, served: Served) -> None:
        self._served = served
        self.faults: list[str] = []

    async def begin(self) -> None:
        """Sign up."""
        async with (
            aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as http,
            http.post(f"{self._served.url}/api/v2/merchant/signup", json=MEMBER | {"business_name": "Member"}) as answer,
        ):
            if answer.status != CREATED:
                raise RuntimeError(f"sign-up answered {answer.status}")

    async def sign_in(self, per_s: float, seconds: float) -> list[float]:
        """Sign in so often; how long each took, in milliseconds."""
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
            async with http.post(f"{self._served.url}/api/v2/merchant/login", json=MEMBER) as answer:
                await answer.read()
                if answer.status != OK:
                    self.faults.append(str(answer.status))
        except aiohttp.ClientError as fault:
            self.faults.append(type(fault).__name__)
        latencies.append((time.perf_counter() - began) * 1000)


async def prove(*, quick: bool) -> list[Figure]:
    """Undisturbed stretches and those of a flood, in turns."""
    rounds, stretch_s = (QUICK_ROUNDS, QUICK_STRETCH_S) if quick else (ROUNDS, STRETCH_S)
    figures: list[Figure] = []
    async with Served(TOLLHOUSE_TRUSTED_PROXIES="none") as served:
        await Member(served).begin()
        await asyncio.gather(Visitor(served).visit(VISITS_PER_S, 3.0), Member(served).sign_in(SIGN_INS_PER_S, 3.0))
        web = served.part("web")
        for kind in ADDRESSES:
            figures += await _prove(served, kind, rounds, stretch_s)
        figures.append(must("web processes that ended", int(served.part("web") != web), 0))
    return figures


async def _prove(served: Served, kind: str, rounds: int, stretch_s: float) -> list[Figure]:
    visitor, member, answered = Visitor(served), Member(served), Counter[str]()
    pages: tuple[list[float], list[float]] = ([], [])
    sign_ins: tuple[list[float], list[float]] = ([], [])
    small, large = _resident_mib(served), 0.0

    async def stretch(at: int) -> None:
        seen, signed_in = await asyncio.gather(
            visitor.visit(VISITS_PER_S, stretch_s), member.sign_in(SIGN_INS_PER_S, stretch_s)
        )
        pages[at].extend(seen)
        sign_ins[at].extend(signed_in)

    for _ in range(rounds):
        await stretch(0)
        with flooded(kind, served.port, answered):
            await stretch(1)
            large = max(large, _resident_mib(served))
        await asyncio.sleep(1)
    figures: list[Figure] = []
    for what, (quiet, during) in {"pages": pages, "sign-ins": sign_ins}.items():
        before, after = percentile(quiet, 0.99), percentile(during, 0.99)
        figures += [
            fact(f"{kind}: {what}, undisturbed p99", before, unit="ms"),
            fact(f"{kind}: {what}, flooded p99", after, unit="ms"),
            must(f"{kind}: {what}, p99 of the undisturbed", after / before, MOST_RATIO, unit="times"),
        ]
    faults = visitor.faults + member.faults
    if faults:
        print(f"{kind}: {faults[:5]}", file=sys.stderr)
    return [
        *figures,
        must(f"{kind}: healthy requests that failed", len(faults), 0),
        *(fact(f"{kind}: sign-ups answered {status}", times) for status, times in sorted(answered.items())),
        at_least(f"{kind}: sign-ups refused", answered["429"] + answered["503"], 1),
        must(f"{kind}: sign-ups answered otherwise", sum(n for code, n in answered.items() if code not in BOUNDED), 0),
        must(f"{kind}: memory grown", max(0.0, large - small), GROWN_MIB, unit="MiB"),
    ]


@contextmanager
def flooded(kind: str, port: int, answered: Counter[str]) -> Iterator[None]:
    """A flood, from when it has begun; what it was answered is added up."""
    crowd = subprocess.Popen(
        [sys.executable, "-m", "proving.flooding", kind, str(port)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    try:
        if crowd.stdout is not None:
            crowd.stdout.readline()
        yield
        crowd.terminate()
        told, _ = crowd.communicate(timeout=10)
        answered.update(msgspec.json.decode(told, type=dict[str, int]))
    finally:
        crowd.kill()
        crowd.wait()


def _resident_mib(served: Served) -> float:
    pid = served.part("web")
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) / 1024
