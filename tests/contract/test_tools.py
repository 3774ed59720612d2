"""Tools that nobody here wrote read the reference: two linters, and a runner of the collection against the service."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest

from tests import npm
from tests.cast import Actor, application
from tollhouse.instance.api import reference
from tollhouse.platform.settings import config

NODE = Path(__file__).parent / "node"
PROGRAMS = NODE / "node_modules" / ".bin"
QUIET = {**os.environ, "NO_PROXY": "*", "REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true"}
TIMEOUT_S = 300
LINKS = "/api/v2/integration/payment-links"

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def tools(skip_aloud: Callable[[str], NoReturn]) -> None:
    """What node/package-lock.json names; skips, and says so aloud, where that cannot be."""
    missing = npm.why_missing(NODE)
    if missing is not None:
        skip_aloud(f"NOT TESTED: the reference by linters and newman, because {missing}")


@pytest.fixture
def document(tmp_path: Path) -> Path:
    """The document as a file."""
    path = tmp_path / "openapi.json"
    path.write_bytes(reference.encoded(config.load({})))
    return path


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a program of these packages."""
    program, *arguments = map(str, command)
    return subprocess.run(
        [str(PROGRAMS / program), *arguments],
        cwd=NODE,
        env=QUIET,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )


@pytest.mark.usefixtures("tools")
def test_spectral_finds_no_errors(document: Path) -> None:
    done = run("spectral", "lint", "-r", NODE / "spectral.yaml", "-F", "error", "-f", "json", document)
    found: list[Any] = json.loads(done.stdout)
    assert [one for one in found if one["severity"] == 0] == []
    assert done.returncode == 0, done.stderr


@pytest.mark.usefixtures("tools")
def test_redocly_finds_no_errors(document: Path) -> None:
    done = run("redocly", "lint", "--extends=recommended", "--format=json", document)
    report = json.loads(done.stdout)
    assert [one for one in report["problems"] if one["severity"] == "error"] == []
    assert done.returncode == 0, done.stderr


@pytest.mark.usefixtures("tools")
def test_the_linters_find_what_is_wrong(document: Path) -> None:
    """They read the file, and the rules are on. One path is enough: it takes a tenth of the time."""
    broken = json.loads(document.read_bytes())
    broken["paths"] = {LINKS: broken["paths"][LINKS]}
    del broken["components"]["schemas"]["LinkRequest"]
    document.write_text(json.dumps(broken))
    spectral = run("spectral", "lint", "-r", NODE / "spectral.yaml", "-F", "error", document)
    redocly = run("redocly", "lint", "--extends=recommended", "--max-problems=1000", document)
    assert (spectral.returncode, redocly.returncode) == (1, 1)
    assert "/LinkRequest" in spectral.stdout
    assert "Can't resolve $ref" in redocly.stdout


@pytest.mark.usefixtures("tools")
async def test_newman_runs_the_collection(alice: Actor, tmp_path: Path) -> None:
    """Every request gets a status that the reference names, and those that need nothing succeed."""
    app = await application(alice)
    sent, report = tmp_path / "collection.json", tmp_path / "report.json"
    sent.write_bytes((await alice.anonymously("GET", "/docs/collection.json")).ok().raw)
    values = {"api_key": await alice.key(), "client_id": app.client_id, "client_secret": str(app.client_secret)}
    variables = [part for name, value in values.items() for part in ("--env-var", f"{name}={value}")]
    exported = ("--reporters", "json", "--reporter-json-export", report)
    done = run("newman", "run", sent, *variables, *exported, "--ignore-redirects")
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    ended = json.loads(report.read_bytes())["run"]
    assert ended["stats"]["assertions"]["failed"] == 0
    statuses = {one["item"]["name"]: one["response"]["code"] for one in ended["executions"]}
    paths = json.loads(reference.encoded(config.load({})))["paths"].values()
    assert len(ended["executions"]) == sum(map(len, paths))
    assert statuses["Create a payment link"] == 201
    assert statuses["List balances"] == 200
    assert 500 not in statuses.values()
