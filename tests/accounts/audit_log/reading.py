"""Reading the audit log as its merchant does, by the file."""

import csv
from typing import Any

import msgspec

from tests.cast import Actor

PATH = "/settings/audit"


async def lines(actor: Actor, query: str = "") -> list[dict[str, str]]:
    """The rows of the file, newest first."""
    answer = (await actor.send("GET", f"{PATH}.csv{query}")).ok()
    assert answer.headers["Content-Type"] == "text/csv; charset=utf-8; header=present"
    assert answer.headers["Content-Disposition"].startswith('attachment; filename="audit-')
    return list(csv.DictReader(answer.text.splitlines()))


async def actions_listed(actor: Actor, query: str = "") -> list[str]:
    """What was done, in the order it was done in, after the account was opened."""
    done = [line["deed"] for line in await lines(actor, query)][::-1]
    return done[1:] if done[:1] == ["account.opened"] else done


async def newest(actor: Actor, action: str) -> dict[str, str]:
    """The newest line of this deed."""
    return next(line for line in await lines(actor) if line["deed"] == action)


def changed(line: dict[str, str]) -> dict[str, Any]:
    """What it says was changed."""
    return {name: tuple(pair) for name, pair in msgspec.json.decode(line["changed"] or "{}").items()}
