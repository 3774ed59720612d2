"""The version of this program, with the commit of a checkout between releases."""

import subprocess
from importlib.metadata import version
from pathlib import Path

DEVELOPMENT = ".dev"
CHECKOUT = Path(__file__).parents[3]
GIT_WITHIN_S = 5


def program_version() -> str:
    """The version, such as `0.3.0`. Between releases also the commit: `0.3.0.dev0 (1a2b3c4d5e)`."""
    own = version("tollhouse")
    if DEVELOPMENT not in own or not (CHECKOUT / ".git").exists():
        return own
    words = ["git", "-C", str(CHECKOUT), "-c", "safe.directory=*", "rev-parse", "--short=10", "HEAD"]
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=GIT_WITHIN_S)  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return own
    return f"{own} ({done.stdout.strip()})"
