"""The compose file of `deploy/docker` on a Docker Engine: built, used, upgraded under load, stopped and started again.

Only names, addresses and passwords are replaced, and the proxy has no TLS. The base images are pulled unless they are there.
"""

import asyncio
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from chaos.containers_rights import RIGHTS, excess_rights
from chaos.figures import Figure, at_least, at_most, fact, percentile
from chaos.programs import free_port, replace_in, wait_until_ready
from chaos.rolling import MIGRATION, Load
from chaos.service import Merchant, cookies
from tollhouse.platform.database.migrations import ours

ROOT = Path(__file__).parents[1]
PROJECT = "tollhouse-chaos"
ROUNDS, QUICK_ROUNDS = 3, 1
SETTLE_S = 3.0
COMMAND_WITHIN_S = 1800.0
"""The first build downloads the base images and all packages."""
MESSAGE_CHARACTERS = 4000
ARRIVES_WITHIN_S = 60.0
STOP_S_MAX = 45.0
"""What `compose.yaml` grants a container before it is killed."""
MIGRATIONS = "/opt/tollhouse/src/tollhouse/platform/migrations"
PARTS = ("worker", "web1", "web2")
"""In the order in which an upgrade restarts them."""


class Containers:
    """The containers of one clone of this checkout, behind `url`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files = folder / "clone" / "deploy" / "docker"
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.starts_s: list[float] = []

    async def docker(self, *words: str) -> str:
        """Run `docker` with these words. Returns what it prints; raises `RuntimeError` if it fails."""
        return await run_program("docker", *words)

    async def compose(self, *words: str) -> str:
        """Run `docker compose` with the file of the clone."""
        return await self.docker("compose", "--file", str(self._files / "compose.yaml"), *words)

    async def prepare(self) -> None:
        """Clone what is committed, and build the image. Writes the files of settings as the examples say."""
        clone = self._folder / "clone"
        await run_program("git", "clone", "--quiet", "--depth", "1", ROOT.as_uri(), str(clone))
        replace_in(
            self._files / "compose.yaml",
            {
                "name: tollhouse\n": f"name: {PROJECT}\n",
                "image: tollhouse\n": f"image: {PROJECT}\n",
                'ports: ["80:80", "443:443"]': f'ports: ["127.0.0.1:{self.port}:80"]',
            },
        )
        replace_in(self._files / "Caddyfile", {"pay.example.com {": ":80 {"})
        for name in ("tollhouse.env", "owner.env"):
            shutil.copy(self._files / f"{name}.example", self._files / name)
        await self.compose("build")
        keys = await self.docker("run", "--rm", PROJECT, "keys", "new")
        passwords = {"APPLICATION-PASSWORD": "applicationPassword1", "OWNER-PASSWORD": "ownerPassword1"}
        replace_in(
            self._files / "tollhouse.env",
            {
                "https://pay.example.com": self.url,
                "TOLLHOUSE_SECRET_KEYS=\n": f"TOLLHOUSE_SECRET_KEYS={keys}\nTOLLHOUSE_RATE_LIMITS=off\n",
                "APPLICATION-PASSWORD": passwords["APPLICATION-PASSWORD"],
            },
        )
        replace_in(self._files / "owner.env", passwords)

    async def start(self) -> None:
        """Start everything, and wait until the service responds through the proxy."""
        began = time.perf_counter()
        await self.compose("up", "--detach")
        await wait_until_ready(self.url)
        self.starts_s.append(time.perf_counter() - began)

    async def build_next(self) -> None:
        """Give the image one more migration, as a later version has it."""
        name = f"{ours()[-1].number + 1:04d}_upgraded.sql"
        context = self._folder / "next"
        context.mkdir()
        (context / name).write_text(MIGRATION)
        (context / "Dockerfile").write_text(f"FROM {PROJECT}\nCOPY {name} {MIGRATIONS}/\n")
        await self.docker("build", "--tag", PROJECT, str(context))

    async def upgrade(self) -> list[float]:
        """Migrate, then replace one container after the other, as docs/deployment.md says. Returns the seconds of each."""
        await self.compose("run", "--rm", "--no-deps", "migrate")
        seconds: list[float] = []
        for part in PARTS:
            began = time.perf_counter()
            waiting = ["--wait"] if part.startswith("web") else []
            await self.compose("up", "--detach", "--no-deps", "--force-recreate", *waiting, part)
            seconds.append(time.perf_counter() - began)
        return seconds

    async def inspect(self, part: str, template: str) -> str:
        """What Docker knows of the container of this part, which may have ended."""
        container = await self.compose("ps", "--all", "--quiet", part)
        return await self.docker("inspect", "--format", template, container)

    async def reaches_internet(self, part: str) -> bool:
        """Whether a network of this part's container leads outside."""
        networks = await self.inspect(part, "{{range .NetworkSettings.Networks}}{{.NetworkID}} {{end}}")
        return "false" in await self.docker("network", "inspect", "--format", "{{.Internal}}", *networks.split())

    async def remove(self) -> None:
        """Remove containers, volumes, networks and the image. The build's cache stays."""
        await self.compose("down", "--volumes", "--remove-orphans", "--timeout", "1")
        await self.docker("image", "rm", "--force", PROJECT)


async def run_program(*words: str) -> str:
    """Run a program. Returns what it prints; raises `RuntimeError` with its messages if it fails."""
    async with asyncio.timeout(COMMAND_WITHIN_S):
        running = await asyncio.create_subprocess_exec(
            *words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        printed, messages = await running.communicate()
    if running.returncode:
        raise RuntimeError(f"{' '.join(words)}: {messages.decode()[-MESSAGE_CHARACTERS:]}")
    return printed.decode().strip()


def require_docker() -> None:
    """Exit unless there is a Docker Engine with the compose plugin."""
    for words in (["docker", "compose", "version"], ["docker", "info"]):
        if shutil.which("docker") is None or subprocess.run(words, capture_output=True, check=False).returncode:
            sys.exit(f"This experiment needs a Docker Engine and Docker Compose 2: `{' '.join(words)}` fails.")


@asynccontextmanager
async def containers() -> AsyncIterator[Containers]:
    """The built image and the files of settings, and at the end nothing of them."""
    require_docker()
    with tempfile.TemporaryDirectory(prefix="tollhouse-chaos-") as folder:
        made = Containers(Path(folder))
        await made.prepare()
        try:
            yield made
        finally:
            await made.remove()


async def use(merchant: Merchant) -> list[Figure]:
    """A payment from its link to the balance, and a withdrawal, which the worker sends, up to its page."""
    link = await merchant.call("payment-links", {"display_name": "Coffee", "amount": "100.00", "currency": "EUR"})
    await merchant.call(f"test/payment-links/{link['id']}/simulate", {"outcome": "succeed"})
    paid = await merchant.call(f"payment-links/{link['id']}")
    body = {"method_id": "sandbox:EUR", "amount": "50.00", "receiver": "Nina"}
    withdrawal = await merchant.call("withdrawals", body)
    async with asyncio.timeout(ARRIVES_WITHIN_S):
        while withdrawal["status"] != "completed":
            await asyncio.sleep(0.2)
            withdrawal = await merchant.call(f"withdrawals/{withdrawal['id']}")
    page = await merchant.page(f"/test/withdrawals/{withdrawal['id']}")
    return [
        at_least("paid, in cents", paid["amount_paid_minor"], 10_000),
        at_least("pages of the withdrawal that show it", "Nina" in page, 1),
    ]


async def rights(made: Containers) -> Figure:
    """What containers may do and should not."""
    found: list[str] = []
    for part in PARTS:
        printed = await made.compose("exec", "--no-TTY", part, "python", "-c", RIGHTS)
        has: dict[str, Any] = json.loads(printed)
        found += [f"{part}: {excess}" for excess in excess_rights(has)]
        if part != "worker" and await made.reaches_internet(part):
            found.append(f"{part}: it is in a network that is not internal")
    for line in found:
        print(line, file=sys.stderr)
    return at_most("rights that containers should not have", len(found), 0)


async def upgrade_under_load(made: Containers, load: Load, rounds: int) -> list[Figure]:
    """Upgrade, then replace every container again and again."""
    await made.build_next()
    sending = asyncio.create_task(load.run())
    await asyncio.sleep(SETTLE_S)
    seconds = [one for _ in range(rounds) for one in await made.upgrade()]
    await asyncio.sleep(SETTLE_S)
    load.stop()
    await sending
    image = await made.docker("image", "inspect", "--format", "{{.Id}}", PROJECT)
    upgraded = [part for part in PARTS if await made.inspect(part, "{{.Image}}") == image]
    for problem in sorted(set(load.reader.problems)):
        print(problem, file=sys.stderr)
    return [
        fact("containers replaced", len(seconds)),
        at_least("parts that run the new image", len(upgraded), len(PARTS)),
        fact("longest replacement", max(seconds), unit="s"),
        fact("requests meanwhile", load.links + len(load.reader.latencies_ms)),
        at_most("failed requests", load.merchant.failed + len(load.reader.problems), 0),
        fact("99 of 100 payment links within", percentile(load.latencies_ms, 0.99), unit="ms"),
        fact("longest", max(load.latencies_ms), unit="ms"),
    ]


async def restart(made: Containers, load: Load, links: int) -> list[Figure]:
    """Stop everything, and start it again with the same data."""
    began = time.perf_counter()
    await made.compose("stop")
    stopped_s = time.perf_counter() - began
    statuses = [int(await made.inspect(part, "{{.State.ExitCode}}")) for part in (*PARTS, "database")]
    await made.compose("down")
    await made.start()
    return [
        at_most("everything stopped", stopped_s, STOP_S_MAX, unit="s"),
        at_most("containers that were killed or failed", sum(status != 0 for status in statuses), 0),
        fact("started again", made.starts_s[-1], unit="s"),
        at_most("payment links that are missing or too many", abs(await load.merchant.links() - links), 0),
    ]


async def alone(made: Containers) -> list[Figure]:
    """`docker run` of the image: everything in one container, with the embedded database in a volume."""
    port = free_port()
    limits = ("--read-only", "--tmpfs", "/tmp", "--cap-drop", "ALL")  # noqa: S108 - in the container
    began = time.perf_counter()
    container = await made.docker("run", "--detach", *limits, "--publish", f"127.0.0.1:{port}:8000", PROJECT)
    try:
        await wait_until_ready(f"http://127.0.0.1:{port}")
        started_s = time.perf_counter() - began
        await made.docker("stop", container)
        status = int(await made.docker("inspect", "--format", "{{.State.ExitCode}}", container))
    finally:
        await made.docker("rm", "--force", "--volumes", container)
    return [
        fact("alone, with the embedded database: started", started_s, unit="s"),
        at_most("alone: exit status after `docker stop`", status, 0),
    ]


async def run(*, quick: bool) -> list[Figure]:
    """An upgrade and further replacements of every container, or the upgrade alone."""
    began = time.perf_counter()
    async with containers() as made, cookies() as http:
        built_s = time.perf_counter() - began
        size = int(await made.docker("image", "inspect", "--format", "{{.Size}}", PROJECT))
        await made.start()
        load = Load(made.url, http)
        await load.merchant.begin()
        figures = [
            fact("clone and build, cached or not", built_s, unit="s"),
            fact("size of the image", size / 1_000_000, unit="MB"),
            fact("started", made.starts_s[0], unit="s"),
            *await use(load.merchant),
            await rights(made),
            *await upgrade_under_load(made, load, QUICK_ROUNDS if quick else ROUNDS),
        ]
        figures += await restart(made, load, load.links + 1)
        return figures + await alone(made)
