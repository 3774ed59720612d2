"""Payouts on EVM networks that are signed offline: exported to a file, and imported when they are signed."""

from collections import Counter
from collections.abc import Sequence
from uuid import UUID

from msgspec import Struct

from tollhouse.accounts.approvals import record
from tollhouse.accounts.approvals.model import OperatorAction, OperatorContext, OperatorRefusedError
from tollhouse.http.services import Services, Work
from tollhouse.kernel.actor import OPERATOR
from tollhouse.kernel.ids import new_id
from tollhouse.kernel.text import Text
from tollhouse.platform.database.pool import Tx
from tollhouse.rails.evm import offline, offline_store, payouts_jobs
from tollhouse.rails.evm.network.provider import EvmNetwork
from tollhouse.rails.evm.offline import Added, CannotImport, ExportDraft
from tollhouse.rails.evm.payouts import CannotPrepare, ChainPayouts
from tollhouse.rails.evm.signer.messages import SignedTransfer, SignTransfer
from tollhouse.rails.json_rpc import NodeError
from tollhouse.transfers.gate import exports, pauses_store
from tollhouse.transfers.gate.model import OutgoingTransfer

PAUSED = "Payouts are paused. Nothing can be exported or imported until an operator resumes them."


class Exportable(Struct, frozen=True):
    """What an export would contain: new payouts, why others are left out, and earlier ones that are not signed."""

    drafted: ExportDraft
    leaving: tuple[OutgoingTransfer, ...]
    again: tuple[UUID, ...]


def find_payouts(services: Services, rail: str | None) -> ChainPayouts:
    """The payouts of the rail of this name, or the only one, that is signed offline. Raises `OperatorRefusedError`."""
    networks = [one for one in services.rails.of(EvmNetwork) if one.settings.offline_wallet and rail in {None, one.name}]
    if len(networks) > 1:
        raise OperatorRefusedError("Several rails have an offline wallet. Name one with --rail.")
    found = payouts_jobs.payouts_of(services, networks[0]) if networks else None
    if found is None:
        raise OperatorRefusedError("No rail with offline_wallet and the address of a node is configured. See docs/rails.md.")
    return found


async def preview(payouts: ChainPayouts, context: OperatorContext) -> Exportable:
    """What this operator can export now. Raises `OperatorRefusedError`."""
    network = payouts.network

    async def find(tx: Tx) -> list[OutgoingTransfer]:
        if await pauses_store.are_paused(tx):
            raise OperatorRefusedError(PAUSED)
        waiting = await offline_store.list_waiting(tx, network.name, network.mode, offline.PAYOUTS_MAX)
        return await exports.filter_exportable(tx, waiting, context.reviewer, context.at)

    allowed = await payouts.db.transact(find)
    try:
        drafted = await offline.draft(payouts, allowed)
    except (CannotPrepare, NodeError) as error:
        raise OperatorRefusedError(Text("Nothing can be exported now: %(reason)s", reason=str(error))) from None
    again = await offline_store.list_unsigned(payouts.db, network.name, network.mode)
    leaving = tuple(one for one in allowed if one.id in drafted.gas)
    return Exportable(drafted, leaving, tuple([one.id for one in again]))


async def export(
    services: Services, network: EvmNetwork, shown: Exportable, context: OperatorContext
) -> tuple[OperatorAction, Sequence[SignTransfer]]:
    """Reserve the nonces of what was shown, and return all that is to be signed. Raises `OperatorRefusedError`.

    What was exported before and is not imported is in it again, with the same nonce.
    """

    async def change(work: Work) -> tuple[OperatorAction, Sequence[SignTransfer]]:
        if await pauses_store.are_paused(work.tx):
            raise OperatorRefusedError(PAUSED)
        locked = await offline_store.lock_waiting(work.tx, [one.id for one in shown.leaving])
        leaving = await exports.filter_exportable(work.tx, locked, context.reviewer, context.at)
        requests = await offline.reserve(work.tx, network, shown.drafted, [one.id for one in leaving], work.now)
        if not requests:
            raise OperatorRefusedError("No payouts wait to be signed.")
        action = await record.record_action(work, context, "network_payouts_exported", None, subject_id=new_id())
        return action, requests

    return await services.transact(change, context.at, OPERATOR)


async def import_signed(
    services: Services, network: EvmNetwork, signed: Sequence[SignedTransfer], context: OperatorContext
) -> tuple[OperatorAction, Counter[Added]]:
    """Store signed payouts, which the worker sends. Returns how many are new. Raises `OperatorRefusedError`.

    If one is not as it was exported, none is stored. Those of suspended merchants are not stored.
    """

    async def change(work: Work) -> tuple[OperatorAction, Counter[Added]]:
        counts = Counter[Added]()
        if await pauses_store.are_paused(work.tx):
            raise OperatorRefusedError(PAUSED)
        for one in sorted(signed, key=lambda one: one.order_id):  # the order of locks
            try:
                counts[await offline.add_signed(work.tx, network, one, work.now)] += 1
            except CannotImport as error:
                raise OperatorRefusedError(
                    Text("Payout %(payout_id)s cannot be imported: %(reason)s.", payout_id=one.order_id, reason=str(error))
                ) from None
        action = await record.record_action(work, context, "network_payouts_imported", None, subject_id=new_id())
        return action, counts

    return await services.transact(change, context.at, OPERATOR)
