"""What a container of the service is allowed to do, asked inside it, and what of that is too much."""

from typing import Any

ACCOUNT = 10001
READ_ONLY = ("/", "/etc", "/opt/tollhouse", "/opt/tollhouse/src/tollhouse", "/run", "/usr/local/bin", "/var")
WRITABLE = ("/data", "/tmp")  # noqa: S108 - in the container
TOOLS = ("pip", "uv", "gcc")
RIGHTS = f"""
import importlib.util, json, os, pathlib, shutil
lines = pathlib.Path("/proc/1/status").read_text().splitlines()
status = {{name: value.split() for name, _, value in (line.partition(":") for line in lines)}}
def writable(folder):
    try:
        (pathlib.Path(folder) / "probe").touch()
    except OSError:
        return False
    return True
print(json.dumps({{
    "accounts": status["Uid"] + status["Gid"],
    "capabilities": [status[name][0] for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")],
    "no_new_privileges": status["NoNewPrivs"],
    "writable": [folder for folder in {(*READ_ONLY, *WRITABLE)!r} if writable(folder)],
    "tools": [tool for tool in {TOOLS!r} if shutil.which(tool) or importlib.util.find_spec(tool)],
    "owner": "TOLLHOUSE_MIGRATION_DATABASE_URL" in os.environ,
}}))
"""
"""A program for the container's Python. It prints one JSON object."""


def excess_rights(found: dict[str, Any]) -> list[str]:
    """What `RIGHTS` printed and differs from what the container should have. Empty if nothing does."""
    expected = {
        "accounts": [str(ACCOUNT)] * 8,
        "capabilities": ["0" * 16] * 5,
        "no_new_privileges": ["1"],
        "tools": [],
        "owner": False,
        "writable": list(WRITABLE),
    }
    return [f"{name} is {found[name]}" for name, value in expected.items() if found[name] != value]
