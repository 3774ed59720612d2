"""The wheel carries the guide: an installation without a checkout serves every chapter."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tollhouse.instance.docs.book import CHAPTERS

ROOT = Path(__file__).parents[3]
LIST_CHAPTERS = "from tollhouse.instance.docs.book import chapters; print(*chapters())"


@pytest.mark.long
def test_an_installed_wheel_serves_every_chapter(tmp_path: Path) -> None:
    built = subprocess.run(
        [sys.executable, "-m", "uv", "build", "--quiet", "--offline", "--wheel", "--out-dir", tmp_path, ROOT],
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    (wheel,) = tmp_path.glob("*.whl")
    installed = tmp_path / "installed"
    zipfile.ZipFile(wheel).extractall(installed)
    listed = subprocess.run(
        [sys.executable, "-c", LIST_CHAPTERS],
        env={"PYTHONPATH": str(installed)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert listed.stdout.split() == list(CHAPTERS)
