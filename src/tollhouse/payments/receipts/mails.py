"""Emails with receipts: their content, sending one to an address that somebody enters, and those that the worker sends."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.accounts.environments import payment_settings
from tollhouse.accounts.identity.credentials import email_errors, email_key
from tollhouse.accounts.identity.passwords import count_request
from tollhouse.accounts.mail import store as outbox
from tollhouse.accounts.mail.model import Email, mail_name
from tollhouse.http.forms import NO_ERRORS, FormErrors
from tollhouse.http.local_formats import Formats
from tollhouse.http.preferences import language_of
from tollhouse.http.request import Request
from tollhouse.http.services import Services, Work
from tollhouse.kernel import clock
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.clock import stamp, zone_of
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import FieldError, ValidationFailed
from tollhouse.payments.receipts import store
from tollhouse.payments.receipts.document import receipt_document
from tollhouse.payments.receipts.model import Receipt
from tollhouse.payments.receipts.store import MAILS_MAX, RequestedBy, WaitingMail
from tollhouse.platform.database.pool import Pool, Tx
from tollhouse.platform.log.events import log

SELLER_CHARS_MAX = 200
TOO_MANY = "This receipt was already sent 3 times. Download it as a PDF."
NOT_VERIFIED = "In test mode, receipts are sent only to verified email addresses of the merchant's users."

if str(MAILS_MAX) not in TOO_MANY:
    raise AssertionError("the message names the limit")
BATCH = 50
RETRY_AFTER = timedelta(minutes=1)
RETRY_AFTER_MAX = timedelta(days=1)
DOUBLINGS_MAX = 11
RENDERER = ThreadPoolExecutor(1, "receipt")
"""Anybody with the address of a receipt can ask for its file: a process makes one at a time, and nothing else waits."""


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
    address = email if env.livemode else await store.find_verified_address(db, env, email_key(email))
    if address is None:
        raise ValidationFailed(FieldError("email", "not_verified", NOT_VERIFIED))
    message = receipt_email(receipt, address, language_of(request), request.services.catalogue)

    async def action(work: Work) -> None:
        if not await store.insert_mail(work.tx, env, transaction_id, requested_by, work.now):
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


async def load_receipt(db: Pool, env: MerchantEnv, transaction_id: UUID, now: datetime) -> Receipt | None:
    """The receipt of a payment, issued now if it has none; None if the payment was never credited.

    The number is assigned in a transaction of its own, so that bookings of payments never wait for a merchant's counter.
    """
    found = await store.find(db, env, transaction_id)
    if found is None or found.receipt is not None:
        return None if found is None else found.receipt
    payment = found.payment
    seller = await store.seller(db, env)
    branding = (await payment_settings.of(db, env)).branding
    seller = msgspec.structs.replace(seller, name=branding.display_name or seller.name)
    year = payment.succeeded_at.astimezone(zone_of(seller.time_zone)).year

    async def action(tx: Tx) -> None:
        await store.issue(tx, payment, year, seller, now)

    await db.transact(action)
    found = await store.find(db, env, transaction_id)
    return None if found is None else found.receipt


async def send_waiting(services: Services) -> None:
    """Send the receipts of links with the customer's address, each once."""
    for waiting in await store.list_waiting_mails(services.db, BATCH, clock.now()):
        try:
            await _send_waiting(services, waiting)
        except Exception as error:  # noqa: BLE001 - a receipt that cannot be made must not stop the others
            log.error("receipt_mail_failed", transaction_id=str(waiting.transaction_id), exc_info=error)
            delay = min(RETRY_AFTER * 2 ** min(waiting.attempts, DOUBLINGS_MAX), RETRY_AFTER_MAX)
            await store.schedule_retry(services.db, waiting, clock.now() + delay)


async def _send_waiting(services: Services, waiting: WaitingMail) -> None:
    now = clock.now()
    receipt = await load_receipt(services.db, waiting.env, waiting.transaction_id, now)
    if receipt is None:
        raise AssertionError("the payment was credited")
    address = receipt.payment.customer_email  # None if it was erased in the meantime

    async def action(work: Work) -> None:
        recipient = (
            address
            if address is None or waiting.env.livemode
            else await store.find_verified_address(work.tx, waiting.env, email_key(address))
        )
        is_first = await store.mark_handled(work.tx, waiting.transaction_id, now, withheld=recipient is None)
        if is_first and recipient is not None:
            message = receipt_email(receipt, recipient, waiting.language, services.catalogue)
            await outbox.enqueue(work.tx, message, now)

    await services.transact(action, now)


async def receipt_file(receipt: Receipt, language: str, catalogue: Catalogue) -> bytes:
    """The PDF file of a receipt."""
    return await asyncio.get_running_loop().run_in_executor(RENDERER, _render, receipt, language, catalogue)


def _render(receipt: Receipt, language: str, catalogue: Catalogue) -> bytes:
    from tollhouse.payments.receipts.pdf import render_pdf  # noqa: PLC0415 - seldom used, slow to import

    return render_pdf(receipt_document(receipt, language, catalogue))
