"""The pages of verifying an e-mail address. The link shows a button, for programs that read mail look at every link."""

from starlette.responses import Response

from tollhouse.callers.guards import anyone, signed_in_page, visitor
from tollhouse.callers.model import Person
from tollhouse.callers.throttle import RateLimited
from tollhouse.mail.links import LinkIsOver
from tollhouse.merchants import addresses
from tollhouse.merchants.password_pages import over
from tollhouse.web.answers import page, see_other
from tollhouse.web.ask import Ask
from tollhouse.web.form_faults import NOTHING_WRONG, Wrong
from tollhouse.web.forms import what_was_done
from tollhouse.web.operations import PAGES, Operations

OPERATIONS = Operations(PAGES)
ADDRESS = "/settings/security/address"
NOTICES = {"sent": "The mail is on its way. Its link works for three days."}


@OPERATIONS.add("GET", "/verify/{secret}", guard=anyone)
async def look(ask: Ask, secret: str) -> Response:
    """The address, and the button. Looking at it verifies nothing."""
    try:
        email, verified = await addresses.address_of(ask, secret)
    except LinkIsOver as refusal:
        return over(ask, refusal, "verify")
    return page(ask, "merchants/verify.html", email=email, verified=verified)


@OPERATIONS.add("POST", "/verify/{secret}", guard=visitor)
async def verify(ask: Ask, secret: str) -> Response:
    """Mails reach this address. Whoever reads them need not be signed in here."""
    try:
        email = await addresses.verify(ask, secret)
    except LinkIsOver as refusal:
        return over(ask, refusal, "verify")
    return page(ask, "merchants/verify.html", email=email, verified=True)


@OPERATIONS.add("GET", ADDRESS, guard=signed_in_page)
async def address(ask: Ask, caller: Person) -> Response:
    """Whether this person's address is verified, and the button for another mail."""
    return _address(ask, caller, notice=NOTICES.get(what_was_done(ask.query), ""))


@OPERATIONS.add("POST", ADDRESS, guard=signed_in_page)
async def send_link(ask: Ask, caller: Person) -> Response:
    """Mail another link."""
    try:
        await addresses.send_link(ask, caller)
    except RateLimited as refusal:
        shown = _address(ask, caller, Wrong(refusal.message, status=refusal.status))
        shown.headers.update(refusal.headers)
        return shown
    return see_other(f"{ADDRESS}?done=sent")


def _address(ask: Ask, person: Person, wrong: Wrong = NOTHING_WRONG, notice: str = "") -> Response:
    return page(
        ask,
        "merchants/address.html",
        wrong.status,
        person=person,
        mode="test",
        here="security",
        wrong=wrong,
        notice=notice,
        without_relay=ask.house.settings.smtp is None,
    )
