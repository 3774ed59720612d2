"""Suspend and reactivate an application. Its grants stay."""

from tollhouse.accounts.approvals.model import OperatorAction, OperatorContext, OperatorRefusedError, SubjectNotFoundError
from tollhouse.accounts.approvals.record import Client, record_action
from tollhouse.http.services import Work
from tollhouse.kernel.ids import ClientId, MerchantId
from tollhouse.kernel.text import Text
from tollhouse.pages.console import applications_store as store
from tollhouse.platform.database.pool import Tx


async def suspend(work: Work, client_id: str, context: OperatorContext) -> OperatorAction:
    """Suspend an application: it cannot be connected, gets no tokens, and its requests fail."""
    if context.reason is None:
        raise OperatorRefusedError("Enter a reason to suspend an application.")
    suspended = await store.suspend(work.tx, client_id, context.at)
    if suspended is None:
        raise await _error(work.tx, client_id, Text("Application %(client_id)s is already suspended.", client_id=client_id))
    owner, name = suspended
    client = Client(ClientId(client_id), name)
    return await record_action(work, context, "application_suspended", MerchantId(owner), subject_id=owner, client=client)


async def reactivate(work: Work, client_id: str, context: OperatorContext) -> OperatorAction:
    """Reactivate an application. Its connections work again unless its owner is suspended."""
    reactivated = await store.reactivate(work.tx, client_id)
    if reactivated is None:
        raise await _error(work.tx, client_id, Text("Application %(client_id)s is not suspended.", client_id=client_id))
    owner, name = reactivated
    client = Client(ClientId(client_id), name)
    return await record_action(work, context, "application_reactivated", MerchantId(owner), subject_id=owner, client=client)


async def _error(tx: Tx, client_id: str, problem: Text) -> OperatorRefusedError:
    found = await store.application(tx, client_id)
    if found is None:
        return SubjectNotFoundError(Text("There is no application %(client_id)s.", client_id=client_id))
    if found.status == "revoked":
        return OperatorRefusedError(Text("Application %(client_id)s is revoked.", client_id=client_id))
    return OperatorRefusedError(problem)
