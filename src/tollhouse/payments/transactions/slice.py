"""What this package registers: see `http.slice`."""

from tollhouse.http.openapi_webhooks import EventSpec
from tollhouse.http.slice import CONTINUOUS_S, Job, Slice
from tollhouse.payments.links.views import LinkView
from tollhouse.payments.transactions import api, balances_api, jobs
from tollhouse.payments.transactions.invariants_store import INVARIANTS
from tollhouse.payments.transactions.views import TransactionView

SLICE = Slice(
    operations=(*api.OPERATIONS, *balances_api.OPERATIONS),
    jobs=(Job(CONTINUOUS_S, jobs.close_links),),
    invariants=INVARIANTS,
    events=(
        EventSpec(
            type="payment.succeeded",
            description="A payment was credited: it is confirmed, or the merchant accepted the received amount.",
            objects=(TransactionView,),
        ),
        EventSpec(
            type="payment.failed",
            description="A payment was declined, or its link was canceled before money was received.",
            objects=(TransactionView,),
        ),
        EventSpec(
            type="payment.expired",
            description="A payment link expired without payment. The object is the latest transaction of the link, or "
            "the link itself without one.",
            objects=(TransactionView, LinkView),
        ),
        EventSpec(
            type="payment.refund_required",
            description="An amount was received that does not match: too little, too late, twice, after a cancellation or "
            "in another asset. The merchant accepts or refunds it.",
            objects=(TransactionView,),
        ),
    ),
)
