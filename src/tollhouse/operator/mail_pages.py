"""The operators' pages about mail: what was sent, what waits and why. What a mail says is shown where nothing sends it."""

from uuid import UUID

from starlette.responses import Response

from tollhouse.callers.model import Operator
from tollhouse.callers.operators import operator_page
from tollhouse.kernel.refusals import NotFound
from tollhouse.mail import store, writing
from tollhouse.operator.desk import show
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
    return show(ask, caller, "mails", here="mail", mails=shown, turn=turned, relay=relay, sender=ask.house.settings.sender)


@OPERATIONS.add("GET", "/operator/mail/{mail_id}", guard=operator_page)
async def mail(ask: Ask, caller: Operator, mail_id: UUID) -> Response:
    """One mail. Its link opens an account, so it is shown only where it can reach its reader by no other way."""
    found = await store.one_listed(ask.house.db, mail_id)
    if found is None:
        raise NotFound
    written = None
    if ask.house.settings.smtp is None and found.status == "shown":
        whole = await store.one(ask.house.db, mail_id)
        written = None if whole is None else writing.write(ask.house, whole)
    return show(ask, caller, "mail", here="mail", mail=found, written=written)
