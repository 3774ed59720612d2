"""The SDK and the real service: every operation is called by its method, in each runtime that the README names."""

import platform
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

import pytest

from tests import npm
from tests.cast import application, every_scope, sign_up
from tests.receiver import Receiver
from tests.running import Service
from tests.sdk_typescript import generate
from tests.sdk_typescript.document import PREFIX, sdk_document
from tests.sdk_typescript.programs import NODE, connected, run_in

RUNTIMES = NODE.parent / "runtimes"
SCRIPT = NODE / "run_operations.mjs"
WORKER = """
using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (services = [
  (name = "main", worker = (
    modules = [(name = "worker", esModule = embed "worker.js")],
    compatibilityDate = "2026-11-01",
    bindings = [(name = "SCENARIO", fromEnvironment = "SCENARIO")],
    globalOutbound = "network")),
  (name = "network", network = (allow = ["private", "public"]))]);
"""

pytestmark = [pytest.mark.xdist_group("npm"), pytest.mark.usefixtures("sdk")]


async def test_every_operation_has_a_method_that_works(make_service: Callable[..., Service], receiver: Receiver) -> None:
    await _call_every_operation(make_service, receiver, ("node", SCRIPT))


@pytest.mark.long
@pytest.mark.parametrize("runtime", ["deno", "bun", "workerd"])
async def test_in_other_runtimes_they_work_as_in_node(
    make_service: Callable[..., Service],
    receiver: Receiver,
    runtime: str,
    tmp_path: Path,
    skip_aloud: Callable[[str], NoReturn],
) -> None:
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        skip_aloud(f"NOT TESTED: the TypeScript SDK in {runtime}, because its program for this machine is not known")
    missing = npm.why_missing(RUNTIMES)
    if missing is not None:
        skip_aloud(f"NOT TESTED: the TypeScript SDK in {runtime}, because {missing}")
    await _call_every_operation(make_service, receiver, _command(runtime, tmp_path))


def _command(runtime: str, folder: Path) -> Sequence[str | Path]:
    """What runs the program in a runtime. A worker is one file with what it imports."""
    packages = RUNTIMES / "node_modules"
    if runtime == "deno":
        return packages / "@deno/linux-x64-glibc/deno", "run", "--no-config", "--allow-all", SCRIPT
    if runtime == "bun":
        return packages / "@oven/bun-linux-x64/bin/bun", "run", SCRIPT
    generate.run(
        "esbuild",
        NODE / "worker_operations.mjs",
        "--bundle",
        "--format=esm",
        "--external:node:*",
        f"--outfile={folder}/worker.js",
    )
    (folder / "worker.capnp").write_text(WORKER)
    return packages / "@cloudflare/workerd-linux-64/bin/workerd", "test", "--experimental", folder / "worker.capnp"


async def _call_every_operation(
    make_service: Callable[..., Service], receiver: Receiver, command: Sequence[str | Path]
) -> None:
    service = make_service(NOTIFY_DEPRECATED_WH="true")
    async with sign_up(service, "alice", "Alice's Coffee") as alice, sign_up(service, "bob", "Bob's Books") as bob:
        connection = await connected(await application(bob), alice, " ".join(await every_scope(bob)))
        key = await alice.key()
        printed = await run_in(command, baseUrl=service.url, apiKey=key, receiver=receiver.url, **connection)
    called = set(printed.splitlines())
    operations = {(method.upper(), path) for path, methods in sdk_document()["paths"].items() for method in methods}
    assert {f"{method} {path}" for method, path in operations if not _is_called(method, path, called)} == set()


def _is_called(method: str, path: str, called: set[str]) -> bool:
    """A path with IDs is called by one that is no other operation's."""
    pattern = re.compile(f"{method} {PREFIX}" + re.sub(r"\{\w+\}", r"(?!statistics)[^/]+", path))
    return any(pattern.fullmatch(one) for one in called)
