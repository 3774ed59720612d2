"""The second gate: routes that prohibit private networks hold a worker in although the first gate is wide open."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from tests.platform.fenced import PRIVATE

FENCES = os.geteuid() == 0 and shutil.which("unshare") is not None and shutil.which("ip") is not None


@pytest.mark.long
@pytest.mark.covers("S-58")
@pytest.mark.skipif(not FENCES, reason="needs root, unshare and ip")
def test_a_fence_of_routes_holds_by_itself() -> None:
    done = subprocess.run(
        ["unshare", "--net", sys.executable, "-m", "tests.platform.fenced"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    reported = json.loads(done.stdout)
    assert reported["private"] == ["connection_refused"] * len(PRIVATE)
    assert reported["got_out"] == 0
    assert reported["got_out_then"] > 0  # a public address is called: the fence is one, and not a wall
