"""What a browser says of itself, in words that its owner knows again. It may lie: nothing is decided by it."""

import re

from tollhouse.identity.throttle import source_of
from tollhouse.kernel.tokens import digest

BROWSERS = (
    ("Edge", "Edg/"),
    ("Opera", "OPR/"),
    ("Samsung Internet", "SamsungBrowser/"),
    ("Firefox", "Firefox/"),
    ("Firefox", "FxiOS/"),
    ("Chrome", "CriOS/"),
    ("Chrome", "Chrome/"),
    ("Safari", "Safari/"),
)
"""Each one says the names of those below it too, so the first that is found is meant."""
SYSTEMS = (
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("ChromeOS", "CrOS"),
    ("Windows", "Windows"),
    ("Mac", "Mac OS X"),
    ("Linux", "Linux"),
)
PROGRAM = re.compile(r"[A-Za-z][A-Za-z0-9._-]{0,39}(?=/|\s|$)")


def browser_of(user_agent: str) -> str:
    """`Firefox`; of a program its own name, and nothing where it gives none."""
    found = next((name for name, mark in BROWSERS if mark in user_agent), "")
    program = PROGRAM.match(user_agent)
    return found or (program[0] if program and program[0] != "Mozilla" else "")


def system_of(user_agent: str) -> str:
    """`Android`; nothing where it is not said."""
    return next((name for name, mark in SYSTEMS if mark in user_agent), "")


def device_hash(user_agent: str, address: str) -> bytes:
    """What a device is known again by: its kind, and where it is. Another version of a browser is the same one."""
    return digest(f"{browser_of(user_agent)}\0{system_of(user_agent)}\0{source_of(address)}")
