"""The operators' pages about mail: what was sent, what waits and why. What a mail says is for its reader."""

from uuid import UUID

from starlette.responses import Response

from tollhouse.console.pages_shared import show
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.paging import PageQuery, turn
from tollhouse.http.request import Request
from tollhouse.identity.model import Operator
from tollhouse.identity.operators import operator_page
from tollhouse.kernel.errors import NotFound
from tollhouse.mail import store, writing
from tollhouse.platform.live_use import in_live_use

OPERATIONS = Operations(PAGES)


@OPERATIONS.add("GET", "/operator/mail", guard=operator_page)
async def mails(request: Request, caller: Operator, query: PageQuery) -> Response:
    """Mails, the newest first."""
    shown, more = query.cut(await store.listed(request.services.db, query.fetch, query.offset))
    relay = request.services.settings.smtp
    turned = turn(query, more=more)
    sender, readable = request.services.settings.sender, _can_be_read(request)
    return show(
        request, caller, "mails", here="mail", mails=shown, turn=turned, relay=relay, sender=sender, readable=readable
    )


@OPERATIONS.add("GET", "/operator/mail/{mail_id}", guard=operator_page)
async def mail(request: Request, caller: Operator, mail_id: UUID) -> Response:
    """One mail. Its link opens an account, so it is shown on a start on one's own machine alone, and without a relay."""
    found = await store.one_listed(request.services.db, mail_id)
    if found is None:
        raise NotFound
    written = None
    if _can_be_read(request) and found.status == "shown":
        whole = await store.one(request.services.db, mail_id)
        written = None if whole is None else writing.write(request.services, whole)
    return show(request, caller, "mail", here="mail", mail=found, written=written)


def _can_be_read(request: Request) -> bool:
    """Whether operators see what mails say: never in live use, where a link would let them into a merchant's account."""
    return request.services.settings.smtp is None and not in_live_use(request.services.settings)
