"""Sample data for the test environment: a month of payments.

Each is created by the usual actions at its own time, oldest first.
"""

from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

import msgspec

from tollhouse.accounts.environments import payment_settings
from tollhouse.accounts.environments import store as projects
from tollhouse.http.lists import all_rows
from tollhouse.http.services import Work
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.payments.links import store as link_store
from tollhouse.payments.links.model import LinkCreator
from tollhouse.payments.links.new_link import LinkRequest, open_link
from tollhouse.payments.refunds import actions as refund_actions
from tollhouse.payments.refunds.new_refund import NewRefund
from tollhouse.rails.sandbox import simulator
from tollhouse.rails.sandbox.simulator import Outcome, Simulated

USUAL_CURRENCY = "EUR"
HOUR = timedelta(hours=1)


class SamplePayment(NamedTuple):
    """A payment `days` days and `hours` hours ago; `refund` of it was refunded an hour later."""

    days: int
    hours: int
    name: str
    amount: str
    outcome: Outcome = "succeed"
    refund: str = ""


SAMPLES = (
    SamplePayment(28, 3, "500 gems", "12"),
    SamplePayment(27, 9, "Season pass", "25"),
    SamplePayment(26, 1, "1,250 gems", "27"),
    SamplePayment(24, 14, "Starter pack", "5"),
    SamplePayment(23, 8, "2,000 gems", "41", "fail"),
    SamplePayment(23, 7, "2,000 gems", "41"),
    SamplePayment(21, 5, "Season pass", "25", refund="25"),
    SamplePayment(19, 11, "Starter pack", "6"),
    SamplePayment(17, 2, "500 gems", "13"),
    SamplePayment(15, 18, "Collector's edition", "90"),
    SamplePayment(14, 4, "2,000 gems", "38"),
    SamplePayment(12, 10, "Starter pack", "5", "fail"),
    SamplePayment(11, 6, "Season pass", "23"),
    SamplePayment(9, 13, "2,000 gems", "40", refund="10"),
    SamplePayment(7, 1, "Guild banner", "8"),
    SamplePayment(6, 9, "Season pass", "25", "chargeback"),
    SamplePayment(4, 16, "Collector's edition", "85"),
    SamplePayment(3, 2, "3,500 gems", "64"),
    SamplePayment(2, 12, "Starter pack", "5"),
    SamplePayment(1, 5, "Season pass", "26"),
)


async def make(work: Work, env: MerchantEnv) -> None:
    """Create the sample data. It adds to what is there."""
    if env.livemode:
        raise AssertionError("sample data is never real")
    approved = await projects.approved(work.tx, env, all_rows(1))
    code = (await payment_settings.of(work.tx, env)).default_currency
    currency = code if work.services.catalogue.currencies[code].type == "fiat" else USUAL_CURRENCY
    for sample in SAMPLES:
        new = LinkRequest(
            display_name=sample.name,
            amount=sample.amount,
            currency=currency,
            project_id=approved[0].id if approved else None,
            metadata={"sample": "true"},
        )
        await _play(_at(work, work.now - timedelta(days=sample.days, hours=sample.hours)), env, new, sample)


async def _play(work: Work, env: MerchantEnv, new: LinkRequest, sample: SamplePayment) -> None:
    opened, _ = await open_link(work, env, new, LinkCreator("dashboard"))
    link = await link_store.lock(work.tx, env, opened.id)
    transaction_id = await simulator.attempt(work.tx, link, work.now, work.services.catalogue)
    simulated = Simulated(work, env, transaction_id)
    # An explicit amount disables the magic amounts.
    await simulated.play(sample.outcome, link.amount_minor if sample.outcome == "succeed" else None)
    if sample.refund:
        await _refund(_at(work, work.now + HOUR), env, transaction_id, sample.refund)


async def _refund(work: Work, env: MerchantEnv, transaction_id: UUID, amount: str) -> None:
    new = NewRefund(amount=amount)  # to the account that paid
    refund, _ = await refund_actions.request(work, env, transaction_id, new, by=None)
    await refund_actions.succeed(_at(work, work.now + HOUR), env, refund.id)


def _at(work: Work, now: datetime) -> Work:
    """This work, at another time."""
    return msgspec.structs.replace(work, now=now)
