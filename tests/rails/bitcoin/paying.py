"""A rail of Bitcoin that pays out: deposits to spend, withdrawals to export, and the owner of the keys, who signs."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any
from uuid import UUID

import msgspec
from btclib.tx import Tx
from btclib_wallet.psbt import extract_tx, finalize

from tests.rails.bitcoin.core import Core
from tests.rails.bitcoin.receiving import METHOD, BitcoinReceiver
from tests.rails.bitcoin.wallet import THEIRS, sign
from tests.transfers.withdrawals.steps import review
from tollhouse.accounts.approvals.model import OperatorContext
from tollhouse.http.services import Services
from tollhouse.instance import catalogue_file
from tollhouse.kernel import clock
from tollhouse.kernel.actor import OPERATOR
from tollhouse.rails.bitcoin import batches_store, payouts_store
from tollhouse.rails.bitcoin import jobs as bitcoin_jobs
from tollhouse.rails.bitcoin import operator_payouts as bitcoin_payouts
from tollhouse.rails.bitcoin.payouts_store import BatchTransaction, BitcoinBatch
from tollhouse.rails.chains import following
from tollhouse.transfers.withdrawals import actions, jobs
from tollhouse.transfers.withdrawals import store as withdrawal_store
from tollhouse.transfers.withdrawals.model import Withdrawal
from tollhouse.transfers.withdrawals.new_withdrawal import NewWithdrawal

WITHDRAWAL_METHOD = """
[withdrawal_methods."{name}:BTC"]
name = "Bitcoin"
rail = "{name}"
receiver_type = "bitcoin_address"
minimum_minor = 100
network_fee_minor = 300
provider_fields = { type = "object", additionalProperties = false }
"""
LOOK = "UPDATE bitcoin_batches SET check_at = now() - interval '1 s' WHERE rail = $1 AND check_at IS NOT NULL"
BOOKED = """
    SELECT coalesce(sum(CASE p.debit_account_id WHEN a.id THEN p.amount ELSE -p.amount END), 0)::bigint AS booked
    FROM ledger_accounts a JOIN ledger_postings p ON a.id IN (p.debit_account_id, p.credit_account_id)
    WHERE a.code = $1 AND a.mode = 'live'
"""
FINAL = 6


class BitcoinPayer(BitcoinReceiver):
    """A rail of its own with withdrawals, whose worker looks when it is told to."""

    def __init__(self, actor: Any, services: Services, core: Core, url: str, **settings: Any) -> None:
        super().__init__(actor, services, core, url, **settings)
        described = (METHOD + WITHDRAWAL_METHOD).replace("{name}", self.name)
        self.services = msgspec.structs.replace(self.services, catalogue=catalogue_file.read(described.encode()))
        self.olga = OperatorContext("olga@example.com", clock.now(), "A test.", on_command_line=True)

    async def paid(self, *amounts: str) -> None:
        """Customers pay these amounts, which are credited."""
        for amount in amounts:
            _, to = await self.bought(amount)
            self.core.pay((to, int(amount.replace(".", ""))))
        self.core.mine(2)
        await self.look()

    async def measure(self) -> str | None:
        """Measure whether the rail pays out. Returns why not."""
        await bitcoin_jobs.measure_once(self.services, self.network, clock.now())
        await following.refresh(self.services)
        return self.services.rails.payout_error(self.name, "live", "BTC")

    async def withdraw(self, amount: str, receiver: str = THEIRS) -> Withdrawal:
        """A withdrawal that was approved, and that the rail has accepted."""
        bitcoin_jobs.accepting(self.services)
        new = NewWithdrawal(method_id=f"{self.name}:BTC", amount=amount, receiver=receiver)
        asked = await self.services.transact(lambda work: actions.request(work, self.env, new), clock.now())
        await review(self.services, {"id": str(asked.id)})
        await self.submit(asked.id)
        return await self.withdrawal(asked.id)

    async def submit(self, withdrawal_id: UUID) -> None:
        """Let the worker submit a withdrawal, or ask what became of it."""
        await jobs.advance_one(self.services, await self.withdrawal(withdrawal_id), clock.now())

    async def withdrawal(self, withdrawal_id: UUID) -> Withdrawal:
        """The withdrawal as it is now."""
        return await withdrawal_store.get(self.services.db, self.env, withdrawal_id)

    async def export(self, *payout_ids: UUID, rate: int | None = None) -> UUID:
        """Export these payouts, or all, and let the worker make the draft. Returns the batch's ID."""
        found = await bitcoin_payouts.list_exportable(self.services, self.network, self.olga)
        ids = list(payout_ids) or [payout.id for payout in found]
        action = await self.services.transact(
            lambda work: bitcoin_payouts.export(work, self.network, ids, rate, self.olga), clock.now(), OPERATOR
        )
        await self.advance()
        return action.subject_id

    async def advance(self, later: timedelta = timedelta()) -> None:
        """Let the worker look after all batches."""
        await self.services.db.execute(LOOK, self.name)
        await bitcoin_jobs.advance_once(self.services, self.network, clock.now() + later)

    async def signed(self, batch_id: UUID) -> bytes:
        """The newest draft with the signatures of the owner of the keys."""
        return sign(await bitcoin_payouts.read_file(self.services, batch_id)).b64encode().encode()

    async def import_signed(self, batch_id: UUID, returned: bytes | None = None) -> None:
        """Import the signed draft, or this file."""
        await bitcoin_payouts.import_signed(self.services, batch_id, returned or await self.signed(batch_id), self.olga)

    async def replace(self, batch_id: UUID, rate: int | None = None) -> None:
        """Request a replacement, and let the worker draft it."""
        await self.services.transact(
            lambda work: bitcoin_payouts.replace(work, batch_id, rate, self.olga), clock.now(), OPERATOR
        )
        await self.advance()

    async def cancel(self, batch_id: UUID) -> None:
        """Cancel a batch."""
        await self.services.transact(lambda work: bitcoin_payouts.cancel(work, batch_id, self.olga), clock.now(), OPERATOR)

    async def refuse(self, payout_id: UUID) -> None:
        """Refuse a payout."""
        await self.services.transact(lambda work: bitcoin_payouts.refuse(work, payout_id, self.olga), clock.now(), OPERATOR)

    async def batch(self, batch_id: UUID) -> BitcoinBatch:
        """The batch as it is now."""
        found = await batches_store.get(self.services.db, batch_id)
        assert found is not None
        return found

    async def drafts(self, batch_id: UUID) -> list[BatchTransaction]:
        """Its drafts."""
        return await batches_store.list_transactions(self.services.db, batch_id)

    async def statuses(self, ids: Iterable[UUID]) -> list[str]:
        """What became of these payouts."""
        found = [await payouts_store.get(self.services.db, one) for one in ids]
        return [payout.status for payout in found if payout is not None]

    async def booked(self, account: str) -> int:
        """The debits less the credits of an account."""
        [row] = await self.services.db.fetch(BOOKED, account)
        return row["booked"]

    def send_elsewhere(self, returned: str) -> str:
        """Somebody signs a draft and sends it by a program of their own."""
        raw = extract_tx(finalize(sign(returned))).serialize(include_witness=True)
        return self.core.take(Tx.parse(raw))
