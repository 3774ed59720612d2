"""Pages and forms of the dashboard, as a browser without scripts gets and posts them."""

import html
import re
from datetime import datetime
from urllib.parse import urlencode

from tests.cast import HIDDEN, Actor, Answer

FIELD_ERROR = re.compile(r'<p class="(?:error|wrong)" id="([^"]+)-wrong">(?:<svg.*?</svg>)?([^<]*)', re.DOTALL)

DATA = re.compile(r"</?data\b[^>]*>")
TOKEN = re.compile(r'<span class="tok-[a-z]">([^<]*)</span>')
FOREIGN = {"Sec-Fetch-Site": "cross-site"}


async def seen(actor: Actor, path: str, status: int = 200) -> str:
    """The page, as people read it."""
    return read((await actor.send("GET", path, headers={"Accept": "text/html"})).ok(status).text)


def read(page: str) -> str:
    """The text of a page with its markup, without what says an amount exactly or colours code."""
    return html.unescape(TOKEN.sub(r"\1", DATA.sub("", page)))


def signed_out(path: str) -> str:
    """Where somebody without a session is sent from this page."""
    return f"/signin?{urlencode({'to': path})}"


async def post(actor: Actor, path: str, status: int = 303, /, **fields: str) -> Answer:
    """Post a form."""
    return (await actor.form(path, fields)).ok(status)


def hidden(page: Answer) -> dict[str, str]:
    """The fields that a page posts without showing them, but for the choice of a language in its foot."""
    return {name: html.unescape(value) for name, value in HIDDEN.findall(page.text.partition("<footer")[0])}


def wrong(page: Answer) -> dict[str, str]:
    """What a page says at the fields of its form."""
    return {name: html.unescape(text) for name, text in FIELD_ERROR.findall(page.text)}


def forms(page: str) -> list[str]:
    """Where the forms of a page are posted, but for the choices in its foot."""
    return [part.partition('"')[0] for part in page.partition("<footer")[0].split('<form method="post" action="')[1:]]


async def refuses_strangers(actor: Actor, stranger: Actor, *paths: str) -> None:
    """Nobody else sees these pages, no mode but the own two, and nobody without a session."""
    for path in paths:
        await seen(stranger, path, 404)
        assert (await actor.anonymously("GET", path)).ok(303).location == signed_out(path)
        await seen(actor, path.replace("/test/", "/live/"), 404)
        await seen(actor, path.replace("/test/", "/prod/"), 404)


async def refuses_foreign_forms(actor: Actor, *paths: str) -> None:
    """These are posted from our own pages alone, with a session, and not by a suspended merchant."""
    for path in paths:
        assert (await actor.anonymously("POST", path)).ok(303).location.partition("?")[0] == "/signin"
        (await actor.send("POST", path, data={"amount": "1.00"}, headers=FOREIGN)).refused("cross_origin_forbidden", 403)
    await actor.sql("UPDATE merchants SET suspended_at = now() WHERE id = $1::uuid", actor.merchant_id)
    for path in paths:
        (await actor.form(path, {"amount": "1.00"})).refused("account_suspended", 403)


def left_s(page: str) -> float:
    """The seconds that the countdown of a page begins with."""
    [(ends, now)] = re.findall(r'<time datetime="([^"]+)" data-now="([^"]+)" data-over="expired">', page)
    return (datetime.fromisoformat(ends) - datetime.fromisoformat(now)).total_seconds()
