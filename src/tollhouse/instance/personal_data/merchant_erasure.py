"""Erasure of a merchant: it is closed and its people are erased in one transaction, then the addresses of its customers.

The merchant has to be suspended before, so that nothing begins meanwhile. The books stay.
"""

from uuid import UUID

from tollhouse.accounts.approvals.model import OperatorAction, OperatorContext, OperatorRefusedError
from tollhouse.accounts.approvals.record import no_merchant, record_action
from tollhouse.accounts.environments import settings_store as environments_store
from tollhouse.accounts.environments.payment_settings import PaymentSettings
from tollhouse.accounts.identity import store as api_keys_store
from tollhouse.accounts.identity import users_store
from tollhouse.accounts.mail import store as mail_store
from tollhouse.accounts.merchants import store as business_store
from tollhouse.http.services import Services, Work
from tollhouse.instance.personal_data import obstacles_store as store
from tollhouse.instance.personal_data.model import MerchantErasure
from tollhouse.kernel.actor import OPERATOR
from tollhouse.kernel.ids import MerchantId
from tollhouse.kernel.text import Text
from tollhouse.pages.dashboard import saved_filters_store
from tollhouse.payments.links import store as links_store
from tollhouse.transfers.gate import recipients_store
from tollhouse.webhooks.events import environments_store as webhooks_store

LINKS_AT_ONCE = 1_000


async def erase_merchant(
    services: Services, merchant_id: UUID, context: OperatorContext
) -> tuple[OperatorAction | None, MerchantErasure]:
    """Close and erase a merchant. The action is None if it was closed before: then an interrupted erasure is completed.

    Raises `OperatorRefusedError` if something must end first.
    """
    action, erasure = await services.transact(
        lambda work: close_merchant(work, MerchantId(merchant_id), context), context.at, OPERATOR
    )
    cleared = 0
    while number := await links_store.clear_customers_of(services.db, merchant_id, LINKS_AT_ONCE):
        cleared += number
    return action, MerchantErasure(erasure, cleared)


async def ensure_erasable(work: Work, merchant_id: MerchantId) -> bool:
    """Lock the merchant. Returns whether it is closed already. Raises `OperatorRefusedError` with what must end first."""
    merchant = await store.lock(work.tx, merchant_id)
    if merchant is None:
        raise no_merchant(merchant_id)
    if merchant["closed_at"] is not None:
        return True
    if merchant["suspended_at"] is None:
        raise OperatorRefusedError(
            Text("Suspend merchant %(id)s first, so that nothing begins meanwhile: merchants suspend.", id=merchant_id)
        )
    late_days = PaymentSettings().late_monitoring_days
    if obstacles := await store.list_obstacles(work.tx, merchant_id, work.now, late_days):
        listed = ", ".join(f"{one.name}: {one.rows}" for one in obstacles)
        raise OperatorRefusedError(
            Text("Merchant %(id)s cannot be erased yet. In live mode there are: %(listed)s.", id=merchant_id, listed=listed)
        )
    return False


async def close_merchant(
    work: Work, merchant_id: MerchantId, context: OperatorContext
) -> tuple[OperatorAction | None, dict[str, int]]:
    """Close a merchant and delete its people. Returns the action, None if it was closed before, and the deleted rows."""
    if context.reason is None:
        raise OperatorRefusedError("Enter a reason to erase a merchant.")
    if await ensure_erasable(work, merchant_id):
        return None, {}
    # Nothing below this line may refuse.
    tx, deleted = work.tx, {"mails": 0, "saved_filters": 0}
    for user in await store.list_users(tx, merchant_id):
        deleted["mails"] += await mail_store.delete_of_person(tx, user["email"], user["id"])
        deleted["saved_filters"] += await saved_filters_store.delete_of_user(tx, user["id"])
        for table, number in (await users_store.delete_user(tx, user["id"])).items():
            deleted[table] = deleted.get(table, 0) + number
    await api_keys_store.revoke_api_keys(tx, merchant_id, work.now)
    deleted["withdrawal_recipients"] = await recipients_store.delete_of_merchant(tx, merchant_id)
    await webhooks_store.disable_all(tx, merchant_id, work.now)
    await business_store.close_merchant(tx, merchant_id, work.now)
    # Approved projects are changed without review only if their merchant is closed.
    deleted["logos"] = await environments_store.erase(tx, merchant_id, work.now)
    action = await record_action(work, context, "merchant_erased", merchant_id, subject_id=merchant_id)
    return action, {table: number for table, number in deleted.items() if number}
