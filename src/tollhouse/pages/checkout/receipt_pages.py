"""The receipt of a payment at checkout: its PDF file, and the form that sends it by email.

The address is as secret as that of the paid page: the link's token, and for links that can be paid several times the ID of
the payment. Nobody gets the receipt of another customer's payment.
"""

from datetime import datetime

from starlette.responses import Response

from tollhouse.accounts.identity.guards import payer, payer_form
from tollhouse.accounts.identity.throttle import RateLimited, RequestMeter
from tollhouse.http.csv_table import attachment
from tollhouse.http.forms import form_errors_of
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.preferences import language_of
from tollhouse.http.request import Request
from tollhouse.http.responses import see_other, with_headers_of
from tollhouse.kernel.errors import NotFound, ValidationFailed
from tollhouse.pages.checkout.pages import named_attempt, render
from tollhouse.pages.checkout.state import Checkout, load_checkout, load_own_receipt
from tollhouse.payments.receipts.mails import ReceiptMailForm, is_available, receipt_file, send_from_page
from tollhouse.payments.receipts.model import Receipt
from tollhouse.platform.database.pool import Pool

OPERATIONS = Operations(PAGES)
PRINTS_PER_MIN = 60
"""Files that visitors of one network get. Each takes processor time to make."""
PRINTS = RequestMeter(places=4_096)


@OPERATIONS.add("GET", "/pay/{token}/receipt.pdf", guard=payer, errors=(NotFound, RateLimited))
async def receipt_pdf(request: Request, token: str, db: Pool, now: datetime) -> Response:
    """The receipt as a PDF file."""
    if request.services.settings.rate_limits:
        PRINTS.count_network(request.address, PRINTS_PER_MIN, now)
    _, receipt = await _own_receipt(request, token, db, now)
    made = await receipt_file(receipt, language_of(request), request.services.catalogue)
    return Response(made, 200, {**attachment(receipt.file_name), "Cache-Control": "private, no-store"}, "application/pdf")


@OPERATIONS.add("POST", "/pay/{token}/receipt/email", guard=payer_form, errors=(NotFound, ValidationFailed, RateLimited))
async def send_receipt(request: Request, token: str, db: Pool, now: datetime) -> Response:
    """Send the receipt to an address."""
    found, receipt = await _own_receipt(request, token, db, now)
    email = request.form().one("email") or ""
    if not is_available(request.services):
        raise NotFound
    try:
        await send_from_page(request, receipt, email, "payer")
    except (ValidationFailed, RateLimited) as error:
        mail_form = ReceiptMailForm(email, form_errors_of(error, ("email",), "email"))
        return with_headers_of(error, await render(request, found, now, mail_form=mail_form))
    return see_other(f"{receipt.path}&done=sent")


async def _own_receipt(request: Request, token: str, db: Pool, now: datetime) -> tuple[Checkout, Receipt]:
    """The payment in the URL, which must be one of this link, and its receipt. Raises `NotFound`."""
    named = named_attempt(request)
    found = await load_checkout(db, token, named, now)
    receipt = await load_own_receipt(db, found, now)
    if receipt is None or (named is not None and not found.own):
        raise NotFound
    return found, receipt
