"""The operators' pages about mail: what was sent, what waits and why. What a mail says is for its reader."""

from uuid import UUID

from starlette.responses import Response

from tollhouse.callers.model import Operator
from tollhouse.callers.operators import operator_page
from tollhouse.kernel.refusals import NotFound
from tollhouse.mail import store, writing
from tollhouse.operator.desk import show
from tollhouse.platform.live_use import in_live_use
from tollhouse.web.ask import Ask
from tollhouse.web.operations import PAGES, Operations
from tollhouse.web.paging import PageQuery, turn

OPERATIONS = Operations(PAGES)


@OPERATIONS.add("GET", "/operator/mail", guard=operator_page)
async def mails(ask: Ask, caller: Operator, query: PageQuery) -> Response:
    """Mails, the newest first."""
    shown, more = query.cut(await store.listed(ask.house.db, query.fetch, query.offset))
    relay = ask.house.settings.smtp
    turned = turn(query, more=more)
    sender, readable = ask.house.settings.sender, _can_be_read(ask)
    return show(ask, caller, "mails", here="mail", mails=shown, turn=turned, relay=relay, sender=sender, readable=readable)


@OPERATIONS.add("GET", "/operator/mail/{mail_id}", guard=operator_page)
async def mail(ask: Ask, caller: Operator, mail_id: UUID) -> Response:
    """One mail. Its link opens an account, so it is shown on a start on one's own machine alone, and without a relay."""
    found = await store.one_listed(ask.house.db, mail_id)
    if found is None:
        raise NotFound
    written = None
    if _can_be_read(ask) and found.status == "shown":
        whole = await store.one(ask.house.db, mail_id)
        written = None if whole is None else writing.write(ask.house, whole)
    return show(ask, caller, "mail", here="mail", mail=found, written=written)


def _can_be_read(ask: Ask) -> bool:
    """Whether operators see what mails say: never in live use, where a link would let them into a merchant's account."""
    return ask.house.settings.smtp is None and not in_live_use(ask.house.settings)
