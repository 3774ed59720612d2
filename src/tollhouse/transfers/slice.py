"""What this package registers: see `http.slice`."""

from tollhouse.http.openapi_webhooks import EventSpec
from tollhouse.http.slice import CONTINUOUS_S, HOURLY_S, Job, Slice
from tollhouse.ledger.books.views import BalanceView, EntryView
from tollhouse.transfers.balance_payments import actions as balance_payment_actions
from tollhouse.transfers.balance_payments import api as balance_payments_api
from tollhouse.transfers.balance_payments import store as balance_payments_store
from tollhouse.transfers.conversions import api as conversions_api
from tollhouse.transfers.conversions import rules as conversion_rules
from tollhouse.transfers.conversions import store as conversions_store
from tollhouse.transfers.conversions.views import ConversionView
from tollhouse.transfers.fulfillments import api as fulfillments_api
from tollhouse.transfers.fulfillments import jobs as fulfillment_jobs
from tollhouse.transfers.fulfillments import store as fulfillments_store
from tollhouse.transfers.gate import spending, uses_store
from tollhouse.transfers.gate import store as gate_store
from tollhouse.transfers.orders.balance_events import Cause
from tollhouse.transfers.withdrawals import api as withdrawals_api
from tollhouse.transfers.withdrawals import invariants_store, schedules_api
from tollhouse.transfers.withdrawals import jobs as withdrawal_jobs
from tollhouse.transfers.withdrawals.views import WithdrawalView

SCHEDULES_S, PRICE_FEED_S = 5, 10
WITHDRAWALS = ("request_withdrawal", "create_batch", "create_schedule", "simulate_withdrawal")
MOVES = (
    *("open_link", "accept", "request_refund", "simulate_link", "simulate_transaction", "simulate_refund"),
    *("submit_dispute", "fund", "convert", "make_rule", "change_rule", "cancel_withdrawal", *WITHDRAWALS),
    *(f"{action}_balance_payment" for action in ("make", "capture", "release", "refund")),
    *(f"{action}_owned_balance_payment" for action in ("capture", "release", "refund")),
    *("order_fulfillment", "cancel_fulfillment", "simulate_fulfillment"),
)
"""Operations after which a balance changes."""
EVENTS = (
    EventSpec(
        type="balance.updated",
        description="A balance changed. The payload has the ledger entries and their source.",
        objects=(BalanceView,),
        after=MOVES,
        beside={"source": Cause, "entries": list[EntryView]},
    ),
    EventSpec(
        type="withdrawal.processing", description="A withdrawal is being sent.", objects=(WithdrawalView,), after=WITHDRAWALS
    ),
    EventSpec(
        type="withdrawal.completed", description="A withdrawal was sent.", objects=(WithdrawalView,), after=WITHDRAWALS
    ),
    EventSpec(
        type="withdrawal.failed",
        description="A withdrawal was rejected or returned. The amount is in the balance again.",
        objects=(WithdrawalView,),
        after=WITHDRAWALS,
    ),
    EventSpec(
        type="conversion.completed",
        description="A conversion was completed.",
        objects=(ConversionView,),
        after=("convert", "make_rule", "change_rule"),
    ),
)
SLICE = Slice(
    operations=(
        *balance_payments_api.INTEGRATION_OPERATIONS,
        *balance_payments_api.DASHBOARD_OPERATIONS,
        *fulfillments_api.INTEGRATION_OPERATIONS,
        *withdrawals_api.OPERATIONS,
        *withdrawals_api.RECIPIENTS,
        *withdrawals_api.BATCHES,
        *withdrawals_api.DASHBOARD_OPERATIONS,
        *schedules_api.OPERATIONS,
        *conversions_api.OPERATIONS,
        *conversions_api.RULE_OPERATIONS,
    ),
    jobs=(
        Job(CONTINUOUS_S, balance_payment_actions.expire_reservations),
        Job(CONTINUOUS_S, fulfillment_jobs.deliver),
        Job(CONTINUOUS_S, withdrawal_jobs.advance_withdrawals),
        Job(SCHEDULES_S, withdrawal_jobs.run_schedules),
        Job(HOURLY_S, withdrawal_jobs.delete_old_quotes),
        Job(CONTINUOUS_S, conversion_rules.apply_rules),
        Job(PRICE_FEED_S, conversion_rules.read_prices),
        Job(HOURLY_S, conversion_rules.delete_old_quotes),
        Job(HOURLY_S, spending.delete_old_uses),
    ),
    invariants=(
        *balance_payments_store.INVARIANTS,
        *fulfillments_store.INVARIANTS,
        *invariants_store.INVARIANTS,
        *conversions_store.INVARIANTS,
        *gate_store.INVARIANTS,
        *uses_store.INVARIANTS,
    ),
    events=EVENTS,
)
