"""The background job that sends receipts to the customers of links that have their address."""

from tollhouse.http.services import Services, Work
from tollhouse.identity.credentials import email_key
from tollhouse.kernel import clock
from tollhouse.mail import outbox
from tollhouse.platform.log import log
from tollhouse.receipts import mails_store
from tollhouse.receipts.actions import load_receipt
from tollhouse.receipts.mails import receipt_email
from tollhouse.receipts.mails_store import WaitingMail

BATCH = 50


async def send_waiting(services: Services) -> None:
    """Send the receipts of links with the customer's address, each once."""
    for waiting in await mails_store.list_waiting(services.db, BATCH):
        try:
            await _send_waiting(services, waiting)
        except Exception as error:  # noqa: BLE001 - a receipt that cannot be made must not stop the others
            log.error("receipt_mail_failed", exc_info=error)


async def _send_waiting(services: Services, waiting: WaitingMail) -> None:
    now = clock.now()
    receipt = await load_receipt(services.db, waiting.env, waiting.transaction_id, now)
    address = None if receipt is None else receipt.payment.customer_email
    if receipt is None or address is None:
        raise AssertionError("the payment was credited, and its link has an address")

    async def action(work: Work) -> None:
        key = email_key(address)
        withheld = not waiting.env.livemode and not await mails_store.is_verified_user(work.tx, waiting.env, key)
        if await mails_store.mark_handled(work.tx, waiting.transaction_id, now, withheld=withheld) and not withheld:
            message = receipt_email(receipt, address, waiting.language, services.catalogue)
            await outbox.enqueue(work.tx, message, now)

    await services.transact(action, now)
