"""Pages with passkeys, used without a browser: the options are in the page, the answer is a field of the form."""

import html
import json
import re
from typing import Any

from tests.accounts.passkeys.soft_authenticator import SoftPasskey
from tests.cast import Actor, Answer

OPTIONS = re.compile(r'data-passkey="([^"]+)"')


def options_of(text: str) -> dict[str, Any]:
    """The options in a page."""
    [options] = OPTIONS.findall(text)
    return json.loads(html.unescape(options))


async def shown_options(actor: Actor, path: str) -> dict[str, Any]:
    """The options in the page at this path."""
    return options_of((await actor.send("GET", path)).ok().text)


async def add_by_page(actor: Actor, passkey: SoftPasskey, root: str = "/settings/security", name: str = "Laptop") -> Answer:
    """Add a passkey on the page for it."""
    credential = passkey.create(await shown_options(actor, f"{root}/passkeys/new"))
    return await actor.form(f"{root}/passkeys", {"name": name, "credential": json.dumps(credential)})


async def use_on_page(actor: Actor, passkey: SoftPasskey, path: str, field: str = "passkey", **fields: str) -> Answer:
    """Use a passkey on the page at this path."""
    assertion = passkey.get(await shown_options(actor, path))
    return await actor.form(path.partition("?")[0], fields | {field: json.dumps(assertion)})
