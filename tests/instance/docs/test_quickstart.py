"""The lines of the quickstart, run one after the other as its reader would, on a service of their own."""

import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.running import free_port
from tollhouse.instance.docs.book import chapters

pytestmark = [pytest.mark.xdist_group("serve"), pytest.mark.long]

BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.DOTALL | re.MULTILINE)
AT_MOST_S = 120


@pytest.fixture
def folder() -> Iterator[Path]:
    """A reader's folder: nothing in it but the command, which keeps its data here and listens on a free port."""
    with tempfile.TemporaryDirectory(prefix="tollhouse-quickstart-") as name:
        yield Path(name)


def test_from_the_first_command_to_a_received_webhook(folder: Path) -> None:
    port, hook_port = free_port(), free_port()
    command = folder / "tollhouse"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m tollhouse "$@" --port {port}\n')
    command.chmod(0o755)
    lines = "\n".join(BLOCK.findall(chapters()["quickstart"].markdown))
    script = lines.replace(":8000", f":{port}").replace("9000", str(hook_port))
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("TOLLHOUSE_", "DATABASE_URL"))}
    environment |= {"TOLLHOUSE_DATA_DIR": str(folder / "data"), "TOLLHOUSE_BASE_URL": f"http://localhost:{port}"}
    reader = subprocess.Popen(
        ["bash", "-euo", "pipefail", "-c", f"{script}\nkill %2; kill -INT %1; wait %1"],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        said, _ = reader.communicate(timeout=AT_MOST_S)
    finally:
        if reader.poll() is None:
            os.killpg(reader.pid, signal.SIGTERM)
    assert "received payment.succeeded" in said, said + (folder / "tollhouse.log").read_text()[-2000:]
    assert "received balance.updated" in said
    assert '"available":"4.20"' in said
