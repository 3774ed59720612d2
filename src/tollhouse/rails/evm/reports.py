"""Reports what becomes of deposits to their payments. A report and its mark in the deposit are one transaction."""

from datetime import datetime
from typing import Any, Literal

import msgspec
from msgspec import Struct

from tollhouse.accounts.environments import payment_settings
from tollhouse.http.services import Services, Work
from tollhouse.kernel.rails.provider import Observation, Payer
from tollhouse.ledger.books.model import BalanceLimitExceeded
from tollhouse.payments.refunds import reversals
from tollhouse.payments.transactions import store as transaction_store
from tollhouse.platform.log.events import log
from tollhouse.rails.chains.model import Cursor, Deposit
from tollhouse.rails.evm import deposits_store
from tollhouse.rails.evm.network.blocks import Tip
from tollhouse.rails.evm.network.provider import EvmNetwork

Outcome = Literal["seen", "vanished", "confirmed", "reversed", "reinstated"]
PROGRESS_STEPS = 12
"""How often a deposit that becomes final is reported at most, so that a chain with many confirmations writes few rows."""


class Reporter(Struct, frozen=True):
    """Reports the deposits of a network, whose final blocks were read up to the cursor."""

    services: Services
    network: EvmNetwork
    tip: Tip
    cursor: Cursor
    now: datetime

    async def report(self) -> None:
        """Report what has changed. What the balance limit refuses is reported again at the next look."""
        name, mode = self.network.name, self.network.mode
        unsettled = await deposits_store.list_unsettled(self.services.db, name, mode, self.cursor.balances_up_to)
        for reference, deposit in unsettled:
            try:
                await self._report(reference, deposit)
            except BalanceLimitExceeded:
                log.error("deposit_not_reinstated", part=name, detail=deposit.reference, reason=BalanceLimitExceeded.code)

    async def _report(self, reference: str, deposit: Deposit) -> None:
        match deposit.status:
            case "seen":
                await self._see(reference, deposit)
            case "vanished" | "ignored":
                gone = self._observation(reference, deposit, "vanished", deposit.reported_block_hash)
                await self._observe(deposit, gone, reported_block_hash=None, reported_confirmations=0)
            case "final" if await self._is_final_for_merchant(reference, deposit):
                await self._observe(deposit, self._confirmed(reference, deposit), status="confirmed")
            case "final":
                await self._see(reference, deposit)
            case "lost":
                ref = deposit.next_reversal_ref
                changes = {"status": "reversed", "reversal_ref": ref, "reversals": deposit.reversals + 1}
                log.error("deposit_reversed", part=self.network.name, detail=deposit.reference)
                await self._observe(deposit, self._reversal(reference, deposit, "reversed", ref), **changes)
            case "reinstated":
                back = self._reversal(reference, deposit, "reinstated", deposit.reversal_ref or "")
                await self._observe(deposit, back, status="confirmed")
            case _:
                raise AssertionError("there is nothing to report of the others")

    async def _see(self, reference: str, deposit: Deposit) -> None:
        confirmations = max(self.tip.head.height - deposit.block_number + 1, 1)
        required = max(self._required(), confirmations)
        same_block = deposit.reported_block_hash == deposit.block_hash
        step = max(required // PROGRESS_STEPS, 1)
        if deposit.amount_minor == 0 or (same_block and confirmations < deposit.reported_confirmations + step):
            return
        seen = msgspec.structs.replace(
            self._observation(reference, deposit, "seen", deposit.block_hash),
            confirmations=confirmations,
            required_confirmations=required,
        )
        await self._observe(deposit, seen, reported_block_hash=deposit.block_hash, reported_confirmations=confirmations)

    def _required(self) -> int:
        finality = self.network.settings.finality
        return finality if finality != "finalized" else max(self.tip.head.height - self.cursor.block.number + 1, 1)

    async def _is_final_for_merchant(self, reference: str, deposit: Deposit) -> bool:
        """Whether the deposit has the confirmations that its merchant asks for beyond those of the rail."""
        found = await transaction_store.find_by_reference(self.services.db, self.network.name, self.network.mode, reference)
        if found is None:
            return True
        wanted = (await payment_settings.of(self.services.db, found[0])).confirmations.get(self.network.name)
        if wanted == "finalized":
            return self.tip.finalized is None or deposit.block_number <= self.tip.finalized.height
        return wanted is None or self.tip.head.height - deposit.block_number + 1 >= wanted

    def _confirmed(self, reference: str, deposit: Deposit) -> Observation:
        confirmed = self._observation(reference, deposit, "confirmed")
        return msgspec.structs.replace(confirmed, payer=None if deposit.sender is None else Payer(deposit.sender))

    def _reversal(self, reference: str, deposit: Deposit, outcome: Outcome, reversal_ref: str) -> Observation:
        """All that was confirmed of it is gone, or there again."""
        return msgspec.structs.replace(self._observation(reference, deposit, outcome), reversal_ref=reversal_ref)

    def _observation(self, reference: str, deposit: Deposit, outcome: Outcome, block_hash: str | None = None) -> Observation:
        """What is known only as part of a block has the block in its reference: it can vanish and come again."""
        return Observation(
            reference=reference,
            outcome=outcome,
            external_ref=deposit.reference if block_hash is None else f"{deposit.reference}@{block_hash}",
            transfer_ref=deposit.reference,
            amount_minor=deposit.amount_minor,
            currency=deposit.currency,
            arrived_at=deposit.block_at,
        )

    async def _observe(self, deposit: Deposit, observation: Observation, **changes: Any) -> None:
        """Apply it to the payment, unless the deposit has changed since it was read. Raises `BalanceLimitExceeded`."""
        name, mode = self.network.name, self.network.mode
        reported = msgspec.structs.replace(deposit, **changes)

        async def action(work: Work) -> None:
            if not await deposits_store.settle(work.tx, name, mode, deposit, reported, work.now):
                return
            found = await transaction_store.find_by_reference(work.tx, name, mode, observation.reference)
            if found is None:
                log.error("deposit_without_payment", part=name, detail=deposit.reference)
                return
            await reversals.apply(work, *found, observation)

        await self.services.transact(action, self.now)
