"""The background job that sends receipts to the customers of links that have their address."""

from datetime import timedelta

from tollhouse.accounts.identity.credentials import email_key
from tollhouse.accounts.mail import store as outbox
from tollhouse.http.services import Services, Work
from tollhouse.kernel import clock
from tollhouse.payments.receipts import mails_store
from tollhouse.payments.receipts.actions import load_receipt
from tollhouse.payments.receipts.mails import receipt_email
from tollhouse.payments.receipts.mails_store import WaitingMail
from tollhouse.platform.log.events import log

BATCH = 50
RETRY_AFTER = timedelta(minutes=1)
RETRY_AFTER_MAX = timedelta(days=1)
DOUBLINGS_MAX = 11


async def send_waiting(services: Services) -> None:
    """Send the receipts of links with the customer's address, each once."""
    for waiting in await mails_store.list_waiting(services.db, BATCH, clock.now()):
        try:
            await _send_waiting(services, waiting)
        except Exception as error:  # noqa: BLE001 - a receipt that cannot be made must not stop the others
            log.error("receipt_mail_failed", transaction_id=str(waiting.transaction_id), exc_info=error)
            delay = min(RETRY_AFTER * 2 ** min(waiting.attempts, DOUBLINGS_MAX), RETRY_AFTER_MAX)
            await mails_store.schedule_retry(services.db, waiting, clock.now() + delay)


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
            else await mails_store.find_verified_address(work.tx, waiting.env, email_key(address))
        )
        is_first = await mails_store.mark_handled(work.tx, waiting.transaction_id, now, withheld=recipient is None)
        if is_first and recipient is not None:
            message = receipt_email(receipt, recipient, waiting.language, services.catalogue)
            await outbox.enqueue(work.tx, message, now)

    await services.transact(action, now)
