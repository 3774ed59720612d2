"""What this package registers: see `http.slice`."""

from tollhouse.http.openapi_webhooks import EventSpec
from tollhouse.http.slice import CONTINUOUS_S, HOURLY_S, Job, Slice
from tollhouse.payments.customers import api as customers_api
from tollhouse.payments.disputes import actions as dispute_actions
from tollhouse.payments.disputes import api as disputes_api
from tollhouse.payments.links import api as links_api
from tollhouse.payments.links import catalogue_api
from tollhouse.payments.links.views import LinkView
from tollhouse.payments.proposals import api as proposals_api
from tollhouse.payments.proposals import jobs as proposal_jobs
from tollhouse.payments.receipts import mails as receipt_mails
from tollhouse.payments.receipts import store as receipts_store
from tollhouse.payments.refunds import api as refunds_api
from tollhouse.payments.refunds import jobs as refund_jobs
from tollhouse.payments.transactions import api as transactions_api
from tollhouse.payments.transactions import invariants_store, link_closing
from tollhouse.payments.transactions.views import ChargebackView, RefundView, TransactionView

PROPOSALS_S = 5
EVENTS = (
    EventSpec(
        type="payment.succeeded",
        description="A payment was credited: it is confirmed, or the merchant accepted the received amount.",
        objects=(TransactionView,),
        after=("open_link", "accept", "simulate_link", "simulate_transaction"),
    ),
    EventSpec(
        type="payment.failed",
        description="A payment was declined, or its link was canceled before money was received.",
        objects=(TransactionView,),
        after=("open_link", "cancel_link", "simulate_link", "simulate_transaction"),
    ),
    EventSpec(
        type="payment.expired",
        description="A payment link expired without payment. The object is the latest transaction of the link, or "
        "the link itself without one.",
        objects=(TransactionView, LinkView),
        after=("open_link", "change_expiry", "advance_clock", "simulate_link", "simulate_transaction"),
    ),
    EventSpec(
        type="payment.refund_required",
        description="An amount was received that does not match: too little, too late, twice, after a cancellation or "
        "in another asset. The merchant accepts or refunds it.",
        objects=(TransactionView,),
        after=("open_link", "cancel_link", "simulate_link", "simulate_transaction"),
    ),
    EventSpec(
        type="payment.refunded",
        description="A refund was paid to the customer; `data.refund` is the refund.",
        objects=(TransactionView,),
        after=("request_refund", "simulate_refund"),
        beside={"refund": RefundView},
    ),
    EventSpec(
        type="payment.chargeback",
        description="A customer disputed a payment; `data.chargeback` is the dispute.",
        objects=(TransactionView,),
        after=("open_link", "simulate_link", "simulate_transaction"),
        beside={"chargeback": ChargebackView},
    ),
)
SLICE = Slice(
    operations=(
        *links_api.OPERATIONS,
        *catalogue_api.OPERATIONS,
        *transactions_api.OPERATIONS,
        *transactions_api.BALANCE_OPERATIONS,
        *refunds_api.OPERATIONS,
        *refunds_api.DASHBOARD_OPERATIONS,
        *disputes_api.OPERATIONS,
        *customers_api.OPERATIONS,
        *proposals_api.INTEGRATION_OPERATIONS,
        *proposals_api.DASHBOARD_OPERATIONS,
    ),
    jobs=(
        Job(CONTINUOUS_S, link_closing.close_links),
        Job(CONTINUOUS_S, receipt_mails.send_waiting),
        Job(CONTINUOUS_S, refund_jobs.submit_refunds),
        Job(CONTINUOUS_S, dispute_actions.deliver_responses),
        Job(CONTINUOUS_S, dispute_actions.expire_disputes),
        Job(PROPOSALS_S, proposal_jobs.store_ended),
        Job(HOURLY_S, proposal_jobs.delete_old),
    ),
    invariants=(*invariants_store.INVARIANTS, *receipts_store.INVARIANTS),
    events=EVENTS,
)
