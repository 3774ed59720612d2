"""What is told to merchants by webhook: each type of event, when it is sent, and what its payload holds."""

from msgspec import Struct

from tollhouse.conversions.views import ConversionView
from tollhouse.events.balances import Cause
from tollhouse.http.openapi_webhooks import EventSpec
from tollhouse.ledger.views import BalanceView, EntryView
from tollhouse.payment_links.views import LinkView
from tollhouse.transactions.views import ChargebackView, RefundView, TransactionView
from tollhouse.withdrawals.views import WithdrawalView


class TestSubject(Struct, frozen=True):
    """What a test event is about."""

    message: str


EVENT_SPECS: tuple[EventSpec, ...] = (
    EventSpec(
        type="payment.succeeded",
        about="A payment was credited: enough of it is confirmed, or the merchant accepted what came.",
        objects=(TransactionView,),
    ),
    EventSpec(
        type="payment.failed",
        about="A payment was declined, or its link was canceled before anything came.",
        objects=(TransactionView,),
    ),
    EventSpec(
        type="payment.expired",
        about="The time of a payment link is over, and nobody paid. The object is the newest attempt that ended with the "
        "link, or the link itself where nobody tried.",
        objects=(TransactionView, LinkView),
    ),
    EventSpec(
        type="payment.refund_required",
        about="Money came that does not fit: too little, too late, twice, after a cancel or in another asset. It waits "
        "until the merchant accepts or refunds it.",
        objects=(TransactionView,),
    ),
    EventSpec(
        type="payment.refunded",
        about="A refund arrived at the customer; `data.refund` is that one.",
        objects=(TransactionView,),
        beside={"refund": RefundView},
    ),
    EventSpec(
        type="payment.chargeback",
        about="A customer disputes a payment at the bank; `data.chargeback` is that dispute.",
        objects=(TransactionView,),
        beside={"chargeback": ChargebackView},
    ),
    EventSpec(
        type="balance.updated",
        about="A balance changed: by which ledger entries, and what caused them.",
        objects=(BalanceView,),
        beside={"source": Cause, "entries": list[EntryView]},
    ),
    EventSpec(type="withdrawal.processing", about="A withdrawal is being sent.", objects=(WithdrawalView,)),
    EventSpec(type="withdrawal.completed", about="A withdrawal is done: its money left.", objects=(WithdrawalView,)),
    EventSpec(
        type="withdrawal.failed",
        about="A withdrawal was refused, or its money came back; it is in the balance again.",
        objects=(WithdrawalView,),
    ),
    EventSpec(type="conversion.completed", about="One currency was converted into another.", objects=(ConversionView,)),
    EventSpec(
        type="webhook.test",
        about="Sent only where a test asks for it, once. Nothing happened.",
        objects=(TestSubject,),
    ),
)
