"""Races about a proposal: one decision wins, the operation runs once or not at all, and nobody is answered 5xx."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from tests.cast import Answer, suspend
from tests.extent import EXTENT
from tests.payments.bank import purse
from tests.payments.proposals.desk import SCOPES, Desk
from tests.payments.proposals.test_endings import by_merchant, by_owner, by_pause, by_token_revocation
from tests.payments.proposals.test_proposals import COPY

ROUNDS = EXTENT.of(50, short=4)
MADE = "SELECT count(*) AS n FROM withdrawals WHERE merchant_id = $1::uuid"


async def race(*calls: Awaitable[Any]) -> list[Any]:
    """All at once."""
    answers = await asyncio.gather(*calls)
    assert all(answer.status < 500 for answer in answers if isinstance(answer, Answer)), answers
    return answers


async def made(desk: Desk) -> int:
    """How many withdrawals the merchant has."""
    return (await desk.merchant.sql(MADE, desk.merchant.merchant_id))[0]["n"]


async def test_many_approvals_run_it_once(desk: Desk) -> None:
    for n in range(1, ROUNDS + 1):
        proposal = await desk.propose(amount="1.00")
        answers = await race(*(desk.decide(proposal) for _ in range(6)))
        assert sorted(answer.status for answer in answers) == [200, *[409] * 5]
        assert await made(desk) == n
    assert sum(await purse(desk.merchant)) <= 10_000


@pytest.mark.parametrize("other", ["cancel", "reject"])
async def test_an_approval_against_another_decision(desk: Desk, other: str) -> None:
    for _ in range(ROUNDS):
        before, proposal = await made(desk), await desk.propose(amount="1.00")
        stop = desk.cancel(proposal) if other == "cancel" else desk.decide(proposal, "reject")
        approved, stopped = await race(desk.decide(proposal), stop)
        assert sorted((approved.status, stopped.status)) == [200, 409]
        assert await made(desk) - before == (approved.status == 200)
        assert (await desk.seen(proposal))["status"] == ("approved" if approved.status == 200 else stopped.body["status"])


@pytest.mark.parametrize("end", [by_merchant, by_owner, by_pause, by_token_revocation], ids=lambda way: way.__name__)
async def test_an_approval_against_the_end_of_the_connection(desk: Desk, end: Callable[[Desk], Awaitable[None]]) -> None:
    for _ in range(ROUNDS):
        before, proposal = await made(desk), await desk.propose(amount="1.00")
        approved, _ = await race(desk.decide(proposal), end(desk))
        assert await made(desk) - before == (approved.status == 200)
        assert (await desk.seen(proposal))["status"] == ("approved" if approved.status == 200 else "canceled")
        desk.tokens = await desk.app.connect(desk.merchant, SCOPES)


@pytest.mark.long
async def test_the_101st_of_many_at_once(desk: Desk) -> None:
    await desk.merchant.sql(COPY, (await desk.propose())["id"], timedelta(), 95)
    answers = await race(*(desk.request(key=str(uuid4())) for _ in range(10)))
    assert sorted(answer.status for answer in answers) == [*[201] * 4, *[409] * 6]


async def test_a_proposal_against_a_suspension(desk: Desk) -> None:
    for _ in range(ROUNDS):
        proposal, _ = await race(desk.request(), suspend(desk.merchant))
        await suspend(desk.merchant, suspended=False)
        if proposal.status == 201:
            assert (await desk.read(proposal.body))["status"] == "canceled"
        else:
            proposal.refused("account_suspended", 403)


async def test_proposals_against_the_end_of_the_connection(desk: Desk) -> None:
    for _ in range(ROUNDS):
        proposal, _ = await race(desk.request(), by_merchant(desk))
        desk.tokens = await desk.app.connect(desk.merchant, SCOPES)
        if proposal.status == 201:
            assert (await desk.seen(proposal.body))["status"] == "canceled"
        else:
            assert proposal.body["error"] in {"missing_scope", "invalid_token"}
