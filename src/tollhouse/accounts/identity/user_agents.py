"""Browser and system names from the User-Agent header, for display. The header is not trusted for any decision."""

import re

from tollhouse.accounts.identity.throttle import network_of
from tollhouse.http.request import Request
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
"""The first match counts: each browser also names those below it."""
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


def user_agent_of(request: Request) -> str:
    """The User-Agent header, empty if missing."""
    return request.headers.get("user-agent") or ""


def browser_of(user_agent: str) -> str:
    """The browser, such as `Firefox`, or the name of another program; empty if there is none."""
    found = next((name for name, token in BROWSERS if token in user_agent), "")
    program = PROGRAM.match(user_agent)
    return found or (program[0] if program and program[0] != "Mozilla" else "")


def system_of(user_agent: str) -> str:
    """The operating system, such as `Android`; empty if unknown."""
    return next((name for name, token in SYSTEMS if token in user_agent), "")


def device_hash(request: Request) -> bytes:
    """The identity of a device: browser, system and network. The browser's version does not matter."""
    agent = user_agent_of(request)
    return digest(f"{browser_of(agent)}\0{system_of(agent)}\0{network_of(request.address)}")
