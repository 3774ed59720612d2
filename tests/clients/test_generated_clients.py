"""Clients that others generate from the reference: they are made without a warning, and they work."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import msgspec
import pytest

from tests.cast import Actor
from tests.clients.driven import NODE
from tollhouse.instance.api import reference
from tollhouse.platform.settings import config

pytestmark = pytest.mark.long

SCRIPT = """
import sys
from till import AuthenticatedClient
from till.api.integration import list_links, open_link
from till.models import LinkView, LinkRequest, ValidationFailedRefusal

client = AuthenticatedClient(base_url=sys.argv[1], token=sys.argv[2], prefix="", auth_header_name="X-API-Key")
made = open_link.sync(client=client, body=LinkRequest(display_name="Coffee", amount="4.20", currency="EUR"))
assert isinstance(made, LinkView) and made.amount_minor == 420, made
listed = list_links.sync(client=client, limit=1)
assert listed.payment_links[0] == made, listed
refused = open_link.sync(client=client, body=LinkRequest(display_name="Coffee", amount="-1", currency="EUR"))
assert isinstance(refused, ValidationFailedRefusal) and refused.errors[0].field == "amount", refused
"""


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The reference, in a file."""
    path = tmp_path_factory.mktemp("reference") / "openapi.json"
    path.write_bytes(reference.encoded(config.load({})))
    return path


async def test_the_python_client_works(document: Path, tmp_path: Path, alice: Actor) -> None:
    key = await alice.key()
    settings = tmp_path / "settings.json"
    settings.write_bytes(msgspec.json.encode({"post_hooks": [], "package_name_override": "till"}))
    generate = ["generate", "--path", str(document), "--output-path", str(tmp_path / "till"), "--config", str(settings)]
    made = subprocess.run(
        [sys.executable, "-m", "openapi_python_client", *generate, "--meta", "none", "--fail-on-warning"],
        capture_output=True,
        check=False,
        text=True,
    )
    assert (made.returncode, made.stderr) == (0, ""), (made.stdout + made.stderr)[-3000:]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "NO_PROXY": "*"}
    script = [sys.executable, "-c", SCRIPT, alice.service.url, key]
    used = subprocess.run(script, env=environment, capture_output=True, check=False, text=True)
    assert used.returncode == 0, used.stderr[-3000:]


@pytest.mark.xdist_group("npm")
def test_types_for_typescript_can_be_made(document: Path, tmp_path: Path, skip_aloud: Callable[[str], NoReturn]) -> None:
    """By what is installed beside the OAuth clients from npm; nothing is fetched for this."""
    program = NODE / "node_modules" / ".bin" / "openapi-typescript"
    if shutil.which("node") is None or not program.exists():
        skip_aloud("NOT TESTED: openapi-typescript, because it is not installed")
    types = tmp_path / "tollhouse.d.ts"
    made = subprocess.run([program, document, "-o", types], capture_output=True, check=False, text=True)
    assert made.returncode == 0, made.stderr
    written = types.read_text()
    assert "LinkView: {" in written
    assert "export interface webhooks {" in written
