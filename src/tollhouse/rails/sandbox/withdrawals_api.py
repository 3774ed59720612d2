"""The test endpoint that simulates the outcome of a withdrawal."""

from typing import Annotated
from uuid import UUID

from msgspec import Struct

from tollhouse.accounts.identity.guards import TestCredentialGuard
from tollhouse.accounts.identity.model import Caller, TestModeOnly
from tollhouse.http.operations import INTEGRATION, Operations
from tollhouse.http.services import Work
from tollhouse.kernel.errors import NotFound
from tollhouse.kernel.examples import example
from tollhouse.ledger.books.model import BalanceLimitExceeded
from tollhouse.rails.sandbox.payout_simulator import Outcome, play
from tollhouse.transfers.orders.errors import InvalidState
from tollhouse.transfers.withdrawals.views import WithdrawalView, withdrawal_view

OPERATIONS = Operations(INTEGRATION)


class WithdrawalSimulation(Struct, frozen=True, forbid_unknown_fields=True):
    """The outcome to simulate. `return`: it arrives and is returned; `stick`: its outcome stays unknown."""

    outcome: Annotated[Outcome, example("complete")]


@OPERATIONS.add(
    "POST",
    "/test/withdrawals/{withdrawal_id}/simulate",
    guard=TestCredentialGuard("withdrawals:write"),
    idempotency="honoured",
    errors=(TestModeOnly, NotFound, InvalidState, BalanceLimitExceeded),
)
async def simulate_withdrawal(caller: Caller, withdrawal_id: UUID, body: WithdrawalSimulation, work: Work) -> WithdrawalView:
    """Simulate a withdrawal. You decide what the operator and the bank do."""
    return withdrawal_view(await play(work, caller.env, withdrawal_id, body.outcome), work.services.catalogue)
