"""Packages from npm that tests need, installed on first use."""

import fcntl
import os
import shutil
import subprocess
from pathlib import Path

INSTALL = ("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")


def why_missing(folder: Path) -> str | None:
    """Install what the package-lock.json of a folder names, unless it is there; why that cannot be."""
    missing = next((f"there is no {needed}" for needed in ("node", "npm") if shutil.which(needed) is None), None)
    return missing or _install_in_turn(folder)


def _install_in_turn(folder: Path) -> str | None:
    """One test process installs, the others wait for it."""
    with (folder / ".installing").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        return _install(folder)


def _install(folder: Path) -> str | None:
    lock, installed = folder / "package-lock.json", folder / "node_modules" / "installed-from.json"
    if installed.exists() and installed.read_bytes() == lock.read_bytes():
        return None
    try:
        done = subprocess.run(INSTALL, cwd=folder, env=os.environ, capture_output=True, text=True, timeout=300, check=False)
    except subprocess.TimeoutExpired:
        return "installing the packages took more than five minutes"
    if done.returncode != 0:
        return f"npm could not install the packages: {done.stderr.strip()[-500:]}"
    installed.write_bytes(lock.read_bytes())
    return None
