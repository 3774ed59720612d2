"""What this package registers: see `http.slice`."""

from contextlib import nullcontext

from tollhouse.http.slice import CONTINUOUS_S, HOURLY_S, Job, Slice
from tollhouse.rails.cards import payments, webhook_api
from tollhouse.rails.cards.balance_store import INVARIANTS
from tollhouse.rails.cards.balances import CardsReading
from tollhouse.rails.cards.settings import StripeSettings
from tollhouse.rails.cards.stripe.cards import StripeCards
from tollhouse.rails.cards.stripe.client import read_account
from tollhouse.rails.rail import Measurement, Rail, Table

SETTLE_EVERY_S = 5
SLICE = Slice(
    operations=tuple(webhook_api.OPERATIONS),
    jobs=(
        Job(CONTINUOUS_S, payments.apply_events),
        Job(CONTINUOUS_S, payments.poll_payments),
        Job(SETTLE_EVERY_S, payments.read_balance_transactions),
        Job(HOURLY_S, payments.poll_all_disputes),
        Job(HOURLY_S, payments.read_balance_transactions_again),
        Job(HOURLY_S, payments.delete_old_events),
    ),
    invariants=INVARIANTS,
)
RAIL = Rail(
    slice=SLICE,
    table=Table(StripeSettings, lambda name, settings: StripeCards(read_account(name, settings))),
    measurement=Measurement(StripeCards, lambda services, cards, now: nullcontext(CardsReading(services, cards, now))),
)
