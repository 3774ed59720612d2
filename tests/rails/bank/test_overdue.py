"""Exported payouts that no statement shows: listed first with their age, counted, and gone when one does."""

from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from uuid import UUID

import pytest

from tests.cast import Actor
from tests.pages.console.operator_pages import signed_in_operator
from tests.rails.bank.steps import Bank, earned, withdrawn
from tests.rails.bank.test_payouts import left
from tests.running import Service
from tollhouse.instance.doctor.store import read_bank
from tollhouse.instance.monitoring.database_metrics import read_metrics
from tollhouse.kernel import clock
from tollhouse.rails.bank import payouts_store

MONTH = timedelta(days=30)


@pytest.fixture
async def olga(service: Service) -> AsyncIterator[Actor]:
    """Olga operates the service."""
    async with signed_in_operator(service) as actor:
        yield actor


async def overdue(bank: Bank, after: timedelta) -> dict[UUID, int]:
    """The payouts that are overdue by then, with the bank days since their export."""
    found = await payouts_store.list_overdue(bank.services.db, clock.now() + after, 1_000, bank.services.catalogue)
    return {payout.listed.id: payout.bank_days for payout in found}


async def counts(bank: Bank) -> tuple[int, float]:
    """What the doctor counts in a month from now, and the metric of exported payouts."""
    samples = {metric.name: metric.samples[0].value for metric in await read_metrics(bank.services.db) if metric.samples}
    return (await read_bank(bank.services.db, clock.now() + MONTH))["overdue"], samples["tollhouse_payouts_exported"]


def tomorrow(now: datetime, _: int) -> datetime:
    """As if whatever was exported until now were overdue."""
    return now + timedelta(days=1)


async def test_a_payout_is_overdue_until_a_statement_shows_it(
    alice: Actor, olga: Actor, bank: Bank, monkeypatch: pytest.MonkeyPatch
) -> None:
    await earned(alice, bank)
    payout_id = UUID(await withdrawn(alice, bank))
    assert payout_id not in await overdue(bank, MONTH)  # it is not exported
    before = await counts(bank)
    await bank.export(str(payout_id))
    assert payout_id not in await overdue(bank, timedelta())
    assert 18 <= (await overdue(bank, MONTH))[payout_id] <= 22
    assert await counts(bank) == (before[0] + 1, before[1] + 1)

    monkeypatch.setattr(payouts_store, "before_bank_days", tomorrow)
    page = (await olga.send("GET", "/operator/payouts")).ok().text
    assert "not on a statement after 3 bank days" in page
    assert f"/operator/payouts/{payout_id}" in page.partition('aria-label="Status"')[0]

    await bank.shows(left(str(payout_id)))
    assert payout_id not in await overdue(bank, MONTH)
    assert await counts(bank) == before
