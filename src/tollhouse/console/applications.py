"""Suspending a single application, whoever owns it, and letting it go on. Its grants stay."""

from tollhouse.approvals.model import OperatorContext
from tollhouse.console import applications_store as store
from tollhouse.console.actions import Client, keep
from tollhouse.console.model import NothingThereError, OperatorAction, OperatorRefusedError
from tollhouse.kernel.ids import ClientId, MerchantId
from tollhouse.platform.db import Tx


async def suspend(tx: Tx, client_id: str, context: OperatorContext) -> OperatorAction:
    """From now on it takes no connections, gets no tokens, and its calls are refused."""
    if context.reason is None:
        raise OperatorRefusedError("Suspending an application needs a reason.")
    suspended = await store.suspend(tx, client_id, context.at)
    if suspended is None:
        raise await _why_not(tx, client_id, "is suspended already")
    owner, name = suspended
    client = Client(ClientId(client_id), name)
    return await keep(tx, context, "application_suspended", MerchantId(owner), subject_id=owner, client=client)


async def reactivate(tx: Tx, client_id: str, context: OperatorContext) -> OperatorAction:
    """Its connections work again, unless its owner is suspended."""
    reactivated = await store.reactivate(tx, client_id)
    if reactivated is None:
        raise await _why_not(tx, client_id, "is not suspended")
    owner, name = reactivated
    client = Client(ClientId(client_id), name)
    return await keep(tx, context, "application_reactivated", MerchantId(owner), subject_id=owner, client=client)


async def _why_not(tx: Tx, client_id: str, otherwise: str) -> OperatorRefusedError:
    found = await store.application(tx, client_id)
    if found is None:
        return NothingThereError(f"There is no application {client_id}.")
    return OperatorRefusedError(f"Application {client_id} {'is revoked' if found.status == 'revoked' else otherwise}.")
