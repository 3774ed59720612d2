"""Somebody's authenticator and backup codes, other browsers of theirs, and sessions that grow old."""

import re
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import aiohttp
from pyotp.totp import TOTP

from tests.cast import PASSWORD, Actor, Answer

ROOT = "/settings/security"
KEY = re.compile(r'<input id="key" value="([A-Z2-7 ]+)"')
BACKUP_CODE = re.compile(r"<li><code>([a-z2-9-]{19})</code></li>")
AGED = """
    UPDATE sessions SET created_at = created_at - interval '15 minutes', proved_at = proved_at - interval '15 minutes'
    WHERE user_id = (SELECT id FROM users WHERE email = $1)
"""


@dataclass
class Authenticator:
    """What makes codes of the secret that the setup page showed."""

    secret: str
    backup_codes: list[str]

    def code(self, periods_ahead: int = 0) -> str:
        """The code that it shows, or showed."""
        return TOTP(self.secret).generate_otp(int(time.time()) // 30 + periods_ahead)

    async def next_code(self, actor: Actor) -> str:
        """A code that was not used, without waiting for it: the one of now, after the last use is forgotten."""
        await actor.sql("UPDATE second_factors SET last_step = 0")
        return self.code()


async def set_up(actor: Actor, root: str = ROOT) -> Authenticator:
    """Get a secret that waits for its first code."""
    assert (await actor.form(f"{root}/setup", {})).ok(303).location == f"{root}/setup"
    [key] = KEY.findall((await actor.send("GET", f"{root}/setup")).ok().text)
    return Authenticator(key.replace(" ", ""), [])


async def enrol(actor: Actor, root: str = ROOT) -> Authenticator:
    """Switch the second factor on. No code was used: the clock of the last one is set back."""
    made = await set_up(actor, root)
    shown = (await actor.form(f"{root}/confirm", {"code": made.code()})).ok()
    made.backup_codes = BACKUP_CODE.findall(shown.text)
    assert len(set(made.backup_codes)) == 10
    await made.next_code(actor)
    return made


async def log_in(actor: Actor, code: str | None = None, password: str = PASSWORD) -> Answer:
    """Sign in by JSON, in no browser."""
    body = {"email": actor.email, "password": password} | ({} if code is None else {"code": code})
    return await actor.anonymously("POST", "/api/v2/merchant/login", body)


@asynccontextmanager
async def elsewhere(actor: Actor, user_agent: str = "curl/8.5.0") -> AsyncIterator[Actor]:
    """The same person at another browser, where they are not signed in."""
    jar, headers = aiohttp.CookieJar(unsafe=True), {"User-Agent": user_agent}
    async with aiohttp.ClientSession(cookie_jar=jar, headers=headers) as http:
        yield Actor(actor.service, http, actor.email, actor.merchant_id)


async def grow_old(actor: Actor) -> None:
    """A quarter of an hour goes by since this person last proved who they are."""
    await actor.sql(AGED, actor.email)
