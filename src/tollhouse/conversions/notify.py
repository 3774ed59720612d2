"""The events of conversions, recorded in the transaction of the action."""

from datetime import datetime

from tollhouse.conversions.model import Conversion
from tollhouse.conversions.views import conversion_view
from tollhouse.events.balances import Cause, notify_balance
from tollhouse.events.record import NewEvent, record
from tollhouse.http.services import Services
from tollhouse.ledger.model import PostedTransaction
from tollhouse.platform.db import Tx

SOURCE = "conversion"


async def completed(tx: Tx, conversion: Conversion, posted: PostedTransaction, services: Services, now: datetime) -> None:
    """Record the events of a completed conversion and of the two balances that it changed."""
    made, url = conversion.exchange, conversion.webhook_url
    event = NewEvent("conversion.completed", SOURCE, conversion.id, conversion.version, conversion_view(conversion), url)
    await record(tx, conversion.env, event, services=services, now=now)
    cause = Cause(SOURCE, conversion.id, conversion.status, conversion.version)
    for currency in (made.from_currency, made.to_currency):
        await notify_balance(tx, conversion.env, currency, posted, cause, url, services, now)
