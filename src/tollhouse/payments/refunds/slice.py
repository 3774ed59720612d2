"""What this package registers: see `http.slice`."""

from tollhouse.http.openapi_webhooks import EventSpec
from tollhouse.http.slice import CONTINUOUS_S, Job, Slice
from tollhouse.payments.refunds import api, jobs
from tollhouse.payments.transactions.views import ChargebackView, RefundView, TransactionView

SLICE = Slice(
    operations=tuple(api.OPERATIONS),
    jobs=(Job(CONTINUOUS_S, jobs.submit_refunds),),
    events=(
        EventSpec(
            type="payment.refunded",
            description="A refund was paid to the customer; `data.refund` is the refund.",
            objects=(TransactionView,),
            beside={"refund": RefundView},
        ),
        EventSpec(
            type="payment.chargeback",
            description="A customer disputed a payment; `data.chargeback` is the dispute.",
            objects=(TransactionView,),
            beside={"chargeback": ChargebackView},
        ),
    ),
)
