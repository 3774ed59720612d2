"""Emails with receipts: their content, and sending one to an address that somebody enters."""

from msgspec import Struct

from tollhouse.accounts.identity.credentials import email_errors, email_key
from tollhouse.accounts.identity.passwords import count_request
from tollhouse.accounts.mail import store as outbox
from tollhouse.accounts.mail.model import Email, mail_name
from tollhouse.http.forms import NO_ERRORS, FormErrors
from tollhouse.http.local_formats import Formats
from tollhouse.http.preferences import language_of
from tollhouse.http.request import Request
from tollhouse.http.services import Services, Work
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.clock import stamp, zone_of
from tollhouse.kernel.errors import FieldError, ValidationFailed
from tollhouse.payments.receipts import mails_store
from tollhouse.payments.receipts.mails_store import MAILS_MAX, RequestedBy
from tollhouse.payments.receipts.model import Receipt

SELLER_CHARS_MAX = 200
TOO_MANY = "This receipt was already sent 3 times. Download it as a PDF."
NOT_VERIFIED = "In test mode, receipts are sent only to verified email addresses of the merchant's users."

if str(MAILS_MAX) not in TOO_MANY:
    raise AssertionError("the message names the limit")


class ReceiptMailForm(Struct, frozen=True):
    """The form that sends a receipt: the address and what is wrong with it."""

    email: str = ""
    errors: FormErrors = NO_ERRORS


NO_MAIL_FORM = ReceiptMailForm()


async def send_from_page(request: Request, receipt: Receipt, recipient: str, requested_by: RequestedBy) -> None:
    """Send the receipt to this address, in the language of the page. Raises `ValidationFailed` and `RateLimited`."""
    email = recipient.strip()
    if errors := email_errors("email", email):
        raise ValidationFailed(*errors)
    env, db, transaction_id = receipt.payment.env, request.services.db, receipt.payment.transaction_id
    if requested_by == "payer":  # before the lookup, so that nobody can try out many addresses
        await count_request(request, "receipt", str(transaction_id))
    address = email if env.livemode else await mails_store.find_verified_address(db, env, email_key(email))
    if address is None:
        raise ValidationFailed(FieldError("email", "not_verified", NOT_VERIFIED))
    message = receipt_email(receipt, address, language_of(request), request.services.catalogue)

    async def action(work: Work) -> None:
        if not await mails_store.insert(work.tx, env, transaction_id, requested_by, work.now):
            raise ValidationFailed(FieldError("email", "too_many", TOO_MANY))
        await outbox.enqueue(work.tx, message, work.now)

    await request.transact(action)


def receipt_email(receipt: Receipt, recipient: str, language: str, catalogue: Catalogue) -> Email:
    """The email with the receipt. Names of strangers are made safe; it has no text of the payer."""
    paid, formats = receipt.payment, Formats(language, zone_of(receipt.seller.time_zone))
    paid_at = stamp(paid.succeeded_at)
    facts = {
        "number": receipt.number,
        "shop": mail_name(receipt.seller.name),
        "product": mail_name(paid.display_name),
        "seller": mail_name(", ".join(receipt.seller.lines(language)), SELLER_CHARS_MAX),
        "amount": formats.money(catalogue.format_amount(paid.received_minor, paid.currency), paid.currency),
        "paid_at": f"{formats.long_day(paid_at)}, {formats.hour(paid_at)}",
        "path": receipt.path,
        "test": "" if paid.env.livemode else "yes",
    }
    return Email("receipt", recipient, language, None, facts)


def is_available(services: Services) -> bool:
    """Whether emails arrive: with a relay, or on a local instance, where the operator reads them."""
    return services.settings.smtp is not None or not services.settings.is_live_use
