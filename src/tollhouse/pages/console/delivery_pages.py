"""The operators' pages about what is sent: failing deliveries of events, without their content, and mail."""

from uuid import UUID

from starlette.responses import Response

from tollhouse.accounts.identity.model import Operator
from tollhouse.accounts.identity.operators import operator_page
from tollhouse.accounts.mail import rendering
from tollhouse.accounts.mail import store as mail_store
from tollhouse.accounts.mail.model import EmailSummary
from tollhouse.accounts.mail.rendering import RenderedEmail
from tollhouse.http.lists import PageQuery
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import PAGE_HEADERS
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import NotFound
from tollhouse.kernel.ids import MerchantId, Mode
from tollhouse.pages.console import overview_store, store
from tollhouse.pages.console.layout import render

OPERATIONS = Operations(PAGES)
MODES: dict[str, Mode] = {"live": "live", "test": "test"}


@OPERATIONS.add("GET", "/operator/deliveries", guard=operator_page)
async def deliveries(request: Request, caller: Operator, query: PageQuery) -> Response:
    """Merchants with events that failed recently, are retried or held."""
    found = await overview_store.failing(request.services.db, request.now, query.fetch, query.offset)
    rows, more = query.cut(found)
    return await render(
        request, caller, "deliveries", here="deliveries", failing=rows, page_links=query.links(rows, more=more)
    )


@OPERATIONS.add("GET", "/operator/deliveries/{merchant_id}/{mode}", guard=operator_page)
async def failing_events(request: Request, caller: Operator, merchant_id: UUID, mode: str, query: PageQuery) -> Response:
    """The failing events of one merchant and environment."""
    merchant = await store.merchant(request.services.db, merchant_id)
    if merchant is None or mode not in MODES:
        raise NotFound
    env = MerchantEnv(MerchantId(merchant_id), MODES[mode])
    found = await overview_store.failing_of(request.services.db, env, request.now, query.fetch, query.offset)
    rows, more = query.cut(found)
    return await render(
        request,
        caller,
        "failing",
        here="deliveries",
        merchant=merchant,
        mode=env.mode,
        events=rows,
        page_links=query.links(rows, more=more),
    )


EMAIL_CSP = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
"""Emails have inline styles, and load nothing."""


@OPERATIONS.add("GET", "/operator/mail", guard=operator_page)
async def mails(request: Request, caller: Operator, query: PageQuery) -> Response:
    """Mails, newest first."""
    rows, more = query.cut(await mail_store.list_summaries(request.services.db, query.fetch, query.offset))
    relay = request.services.settings.smtp
    sender, readable = request.services.settings.sender, _is_readable(request)
    return await render(
        request,
        caller,
        "mails",
        here="mail",
        mails=rows,
        page_links=query.links(rows, more=more),
        relay=relay,
        sender=sender,
        readable=readable,
    )


@OPERATIONS.add("GET", "/operator/mail/{mail_id}", guard=operator_page)
async def mail(request: Request, caller: Operator, mail_id: UUID) -> Response:
    """One mail. Its content, whose link opens an account, is shown only without a relay and outside live use."""
    found = await mail_store.get_summary(request.services.db, mail_id)
    if found is None:
        raise NotFound
    written = await _rendered(request, found)
    return await render(request, caller, "mail", here="mail", mail=found, written=written)


@OPERATIONS.add("GET", "/operator/mail/{mail_id}/html", guard=operator_page)
async def mail_html(request: Request, mail_id: UUID) -> Response:
    """The HTML of one mail as a document of its own, under the same conditions."""
    found = await mail_store.get_summary(request.services.db, mail_id)
    written = None if found is None else await _rendered(request, found)
    if written is None:
        raise NotFound
    return Response(written.html, 200, PAGE_HEADERS | {"Content-Security-Policy": EMAIL_CSP}, "text/html")


async def _rendered(request: Request, found: EmailSummary) -> RenderedEmail | None:
    if not _is_readable(request) or found.status != "shown":
        return None
    email = await mail_store.get(request.services.db, found.mail_id)
    return None if email is None else rendering.render(request.services, email)


def _is_readable(request: Request) -> bool:
    """Whether operators can read mail: never in live use, where a link would open a merchant's account."""
    return request.services.settings.smtp is None and not request.services.settings.is_live_use
