"""Payouts on EVM networks as operators see them, and how one that waits is refused."""

from collections.abc import Awaitable, Callable, Sequence
from uuid import UUID

from tollhouse.accounts.approvals import record, rules
from tollhouse.accounts.approvals.model import OperatorAction, OperatorContext, OperatorRefusedError
from tollhouse.http.services import Services, Work
from tollhouse.kernel import clock
from tollhouse.kernel.actor import OPERATOR
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.errors import NotFound
from tollhouse.platform.database.pool import Pool
from tollhouse.platform.log.events import log
from tollhouse.rails.batches import actions
from tollhouse.rails.batches.actions import PayoutRail
from tollhouse.rails.batches.model import Decided, Order
from tollhouse.rails.evm import payouts_store as store
from tollhouse.rails.evm import sweeps_store
from tollhouse.rails.evm.network.provider import EvmNetwork
from tollhouse.rails.evm.payouts import payouts_of
from tollhouse.rails.evm.payouts_model import OpenChainPayout, Sweep
from tollhouse.rails.evm.signer.client import SignerUnavailable
from tollhouse.transfers.gate import pauses_store

REASON = "refused by an operator"
EXPORTED = "The payout was exported and may be signed. It cannot be refused."
REQUESTS_AT_ONCE = 50


async def list_open(db: Pool, catalogue: Catalogue) -> Sequence[OpenChainPayout]:
    """Payouts that have not ended, oldest first."""
    return await store.list_open(db, catalogue)


async def list_sweeps(services: Services) -> Sequence[Sweep]:
    """Sweeps of deposit addresses and their gas, newest first."""
    assets = {
        (network.name, asset.currency): asset
        for network in services.rails.of(EvmNetwork)
        for asset in network.assets.values()
    }
    return await sweeps_store.list_sweeps(services.db, services.catalogue, assets)


async def ensure_unsigned(services: Services, payout_id: UUID) -> None:
    """Raise `OperatorRefusedError` unless the signer answers that it has signed nothing for this payout.

    The database alone cannot say so: it may have been restored from a backup.
    """
    payout = await store.get(services.db, payout_id)
    network = None if payout is None else services.rails.find(payout.rail, payout.mode)
    found = payouts_of(services, network) if isinstance(network, EvmNetwork) else None
    if found is None:
        raise OperatorRefusedError("There is no such payout on a network with a signer.")
    if found.signer.is_offline:
        await _ensure_not_exported(services, payout_id)
        return
    try:
        signed = await found.signer.find_signed(payout_id)
    except SignerUnavailable:
        raise OperatorRefusedError("The signer does not answer. Only it knows whether the payout was signed.") from None
    if signed:
        raise OperatorRefusedError("The payout is signed and may have been sent. It cannot be refused.")


async def mark_refused(work: Work, payout_id: UUID, context: OperatorContext) -> OperatorAction:
    """Record that an operator wants a waiting payout refused: it is not signed, and the worker ends it.

    Raises `NotFound` and `OperatorRefusedError`.
    """
    payout = await store.lock(work.tx, payout_id)
    if payout is None or payout.deposit_index is not None:
        raise NotFound
    if payout.exported_at is not None:
        raise OperatorRefusedError(EXPORTED)
    if payout.status != "waiting":
        raise OperatorRefusedError("The payout does not wait any more. It cannot be refused.")
    env = await store.get_env(work.tx, payout_id)
    await rules.ensure_independent(work.tx, env.merchant_id, context.reviewer)
    # Nothing below this line may refuse.
    action = await record.record_action(work, context, "payout_to_be_refused", env, subject_id=payout_id)
    await store.mark_refused(work.tx, payout_id, action.action_id, work.now)
    return action


async def refuse_marked(services: Services) -> None:
    """Refuse the payouts that operators want refused, unless the signer has signed them or does not answer."""
    for request in await store.list_to_refuse(services.db, REQUESTS_AT_ONCE):
        context = OperatorContext(request.operator, clock.now(), request.reason)
        try:
            await ensure_unsigned(services, request.payout_id)
            await services.transact(_refuse_as(request.payout_id, context), context.at, OPERATOR)
        except OperatorRefusedError as refused:
            log.warning("payout_not_refused", detail=str(request.payout_id), reason=str(refused.message))


def _refuse_as(payout_id: UUID, context: OperatorContext) -> Callable[[Work], Awaitable[Decided]]:
    return lambda work: refuse(work, payout_id, context)


async def refuse(work: Work, payout_id: UUID, context: OperatorContext) -> Decided:
    """Refuse a payout that waits, after `ensure_unsigned`. The money goes back. Raises `OperatorRefusedError`."""
    return await actions.refuse(work, EVM, payout_id, context)


class WaitingPayouts:
    """Payouts without a nonce, for what is common to all rails."""

    async def lock(self, work: Work, *, payout_id: UUID) -> Order:
        """Lock a payout. Raises `OperatorRefusedError` unless it waits."""
        payout = await store.lock(work.tx, payout_id)
        if payout is None or payout.status != "waiting" or payout.kind in ("sweep", "gas"):
            raise OperatorRefusedError("The payout does not wait any more. It cannot be refused.")
        return Order(id=payout_id, kind=payout.kind, env=await store.get_env(work.tx, payout_id))

    async def ensure_refusable(self, work: Work, *, payout: Order, context: OperatorContext) -> None:
        """What waits is not signed."""

    async def end(self, work: Work, *, payout_id: UUID, context: OperatorContext) -> None:  # noqa: ARG002 - the history has it
        """Fail a payout that waits."""
        await store.fail_waiting(work.tx, payout_id, REASON, work.now)


EVM: PayoutRail[Order] = WaitingPayouts()


async def _ensure_not_exported(services: Services, payout_id: UUID) -> None:
    """Raise `OperatorRefusedError` where a payout may be signed offline, as far as this database knows.

    One that was restored does not know what was exported since its backup, and pauses payouts.
    """
    payout = await store.get(services.db, payout_id)
    if payout is not None and payout.exported_at is not None:
        raise OperatorRefusedError(EXPORTED)
    if await pauses_store.are_paused(services.db):
        raise OperatorRefusedError("Payouts are paused. Only when they are resumed is it known what was exported.")
