"""The receipt of a payment in the dashboard: its PDF file, and the form that sends it by email."""

from uuid import UUID

from starlette.responses import Response

from tollhouse.accounts.identity.guards import signed_in_page
from tollhouse.accounts.identity.model import Person
from tollhouse.http.csv_table import attachment
from tollhouse.http.forms import form_errors_of
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.preferences import language_of
from tollhouse.http.request import Request
from tollhouse.http.responses import see_other
from tollhouse.kernel.errors import NotFound, ValidationFailed
from tollhouse.pages.dashboard.payments import render_payment
from tollhouse.payments.receipts.actions import load_receipt
from tollhouse.payments.receipts.files import receipt_file
from tollhouse.payments.receipts.mails import ReceiptMailForm, is_available, send_from_page

OPERATIONS = Operations(PAGES)


@OPERATIONS.add("GET", "/{mode}/payments/{transaction_id}/receipt.pdf", guard=signed_in_page)
async def receipt_pdf(request: Request, caller: Person, mode: str, transaction_id: UUID) -> Response:
    """The receipt as a PDF file, in the language of the dashboard."""
    receipt = await load_receipt(request.services.db, caller.env(mode), transaction_id, request.now)
    if receipt is None:
        raise NotFound
    made = await receipt_file(receipt, language_of(request), request.services.catalogue)
    return Response(made, 200, attachment(receipt.file_name), "application/pdf")


@OPERATIONS.add("POST", "/{mode}/payments/{transaction_id}/receipt/email", guard=signed_in_page)
async def send_receipt(request: Request, caller: Person, mode: str, transaction_id: UUID) -> Response:
    """Send the receipt to an address."""
    env = caller.env(mode)
    receipt = await load_receipt(request.services.db, env, transaction_id, request.now)
    if receipt is None or not is_available(request.services):
        raise NotFound
    email = request.form().one("email") or ""
    try:
        await send_from_page(request, receipt, email, "merchant")
    except ValidationFailed as error:
        mail_form = ReceiptMailForm(email, form_errors_of(error, ("email",)))
        return await render_payment(request, caller, env, transaction_id, mail_form=mail_form)
    return see_other(f"/{env.mode}/payments/{transaction_id}?done=sent")
