"""The webhook events: type, description, payload."""

from msgspec import Struct

from tollhouse.conversions.views import ConversionView
from tollhouse.events.balances import Cause
from tollhouse.http.openapi_webhooks import EventSpec
from tollhouse.ledger.views import BalanceView, EntryView
from tollhouse.payment_links.views import LinkView
from tollhouse.transactions.views import ChargebackView, RefundView, TransactionView
from tollhouse.withdrawals.views import WithdrawalView


class TestSubject(Struct, frozen=True):
    """The object of a test event."""

    message: str


EVENT_SPECS: tuple[EventSpec, ...] = (
    EventSpec(
        type="payment.succeeded",
        about="A payment was credited: it is confirmed, or the merchant accepted the received amount.",
        objects=(TransactionView,),
    ),
    EventSpec(
        type="payment.failed",
        about="A payment was declined, or its link was canceled before money was received.",
        objects=(TransactionView,),
    ),
    EventSpec(
        type="payment.expired",
        about="A payment link expired without payment. The object is the latest transaction of the link, or the link itself "
        "without one.",
        objects=(TransactionView, LinkView),
    ),
    EventSpec(
        type="payment.refund_required",
        about="An amount was received that does not match: too little, too late, twice, after a cancellation or in another "
        "asset. The merchant accepts or refunds it.",
        objects=(TransactionView,),
    ),
    EventSpec(
        type="payment.refunded",
        about="A refund was paid to the customer; `data.refund` is the refund.",
        objects=(TransactionView,),
        beside={"refund": RefundView},
    ),
    EventSpec(
        type="payment.chargeback",
        about="A customer disputed a payment; `data.chargeback` is the dispute.",
        objects=(TransactionView,),
        beside={"chargeback": ChargebackView},
    ),
    EventSpec(
        type="balance.updated",
        about="A balance changed. The payload has the ledger entries and their source.",
        objects=(BalanceView,),
        beside={"source": Cause, "entries": list[EntryView]},
    ),
    EventSpec(type="withdrawal.processing", about="A withdrawal is being sent.", objects=(WithdrawalView,)),
    EventSpec(type="withdrawal.completed", about="A withdrawal was sent.", objects=(WithdrawalView,)),
    EventSpec(
        type="withdrawal.failed",
        about="A withdrawal was rejected or returned. The amount is in the balance again.",
        objects=(WithdrawalView,),
    ),
    EventSpec(type="conversion.completed", about="A conversion was completed.", objects=(ConversionView,)),
    EventSpec(
        type="webhook.test",
        about="A test event, sent once on request.",
        objects=(TestSubject,),
    ),
)
