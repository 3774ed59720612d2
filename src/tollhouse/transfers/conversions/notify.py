"""The events of conversions, recorded in the transaction of the action."""

from tollhouse.http.services import Work
from tollhouse.ledger.books.model import LedgerTransaction
from tollhouse.transfers.conversions.model import Conversion
from tollhouse.transfers.conversions.views import conversion_view
from tollhouse.transfers.orders.balance_events import Cause, notify_balance
from tollhouse.webhooks.events.record import EventSource, record

SOURCE = "conversion"


async def completed(work: Work, conversion: Conversion, posted: LedgerTransaction) -> None:
    """Record the events of a completed conversion and of the two balances that it changed."""
    made, url = conversion.exchange, conversion.webhook_url
    source = EventSource(SOURCE, conversion.id, conversion.version)
    data = {"object": conversion_view(conversion, work.services.catalogue)}
    await record(work, conversion.env, "conversion.completed", source, data, url)
    cause = Cause(SOURCE, conversion.id, conversion.status, conversion.version)
    for currency in (made.from_currency, made.to_currency):
        await notify_balance(work, conversion.env, currency, posted, cause, url)
