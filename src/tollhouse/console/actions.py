"""What an operator does. Each deed is one transaction, which also keeps who did it, when and why."""

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from tollhouse.approvals import rules
from tollhouse.approvals.model import OperatorContext
from tollhouse.audit import author, record
from tollhouse.audit.changes import made
from tollhouse.audit.event_types import AuditEventType
from tollhouse.catalogue.currencies import Currency, priced
from tollhouse.console import store
from tollhouse.console.model import Action, ChangedMeanwhileError, NothingThereError, OperatorAction, OperatorRefusedError
from tollhouse.events.balances import Cause, notify_balance
from tollhouse.http.services import Services
from tollhouse.identity import second_factor_store, sessions_store
from tollhouse.identity.people import email_key
from tollhouse.kernel.clock import stamp
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import ClientId, MerchantId, new_id
from tollhouse.ledger.model import BalanceLimitExceeded, InsufficientFunds, JournalEntry, Posting, Source, available, equity
from tollhouse.ledger.post import post
from tollhouse.ledger.store import get_balance
from tollhouse.mail import outbox
from tollhouse.mail.model import Letter
from tollhouse.platform.db import Tx

SOURCE = "adjustment"
TOLD: dict[Action, AuditEventType] = {
    "merchant_suspended": "account.suspended",
    "merchant_reactivated": "account.reactivated",
    "project_approved": "project.approved",
    "project_rejected": "project.rejected",
    "balance_adjusted": "balance.adjusted",
    "withdrawal_approved": "withdrawal.approved",
    "withdrawal_rejected": "withdrawal.rejected",
    "refund_approved": "refund.approved",
    "refund_rejected": "refund.rejected",
    "second_factor_removed": "second_factor.removed",
    "application_suspended": "application.suspended",
    "application_reactivated": "application.reactivated",
}
"""What a merchant finds in its own log: that it was done, neither by which operator nor why."""


class Client(NamedTuple):
    """The application that something is done to."""

    client_id: ClientId
    name: str


async def suspend(tx: Tx, merchant_id: MerchantId, context: OperatorContext) -> OperatorAction:
    """From now on every call with the merchant's credentials is refused."""
    if not await store.suspend(tx, merchant_id, context.at):
        raise await _why_not_merchant(tx, merchant_id, "is suspended already")
    return await keep(tx, context, "merchant_suspended", merchant_id, subject_id=merchant_id)


async def reactivate(tx: Tx, merchant_id: MerchantId, context: OperatorContext) -> OperatorAction:
    """What the merchant had works again."""
    await rules.ensure_independent(tx, merchant_id, context.reviewer)
    if not await store.reactivate(tx, merchant_id):
        raise await _why_not_merchant(tx, merchant_id, "is not suspended")
    return await keep(tx, context, "merchant_reactivated", merchant_id, subject_id=merchant_id)


async def approve(tx: Tx, project_id: UUID, context: OperatorContext, seen: datetime | None = None) -> OperatorAction:
    """The project can sell, or needs a second operator. `seen`: as it was then, not as its merchant has changed it since."""
    current = await store.lock_project(tx, project_id)
    if current is None or current["status"] == "approved" or (seen is not None and current["updated_at"] != seen):
        raise await _why_not_project(tx, project_id, "approved")
    env = MerchantEnv(MerchantId(current["merchant_id"]), current["mode"])
    await rules.ensure_independent(tx, env.merchant_id, context.reviewer)
    await rules.ensure_active(tx, env.merchant_id)
    needed = await rules.approvals_needed(tx, env.merchant_id, 1, context.at)
    approvals = rules.approve(await store.approvals(tx, project_id, needed), context.reviewer)
    # Nothing below this line may refuse.
    if not approvals.complete:
        return await keep(tx, context, "project_approval_given", env, subject_id=project_id)
    if await store.approve(tx, project_id, context.at, seen) is None:
        raise AssertionError("a project that is locked does not change")
    return await keep(tx, context, "project_approved", env, subject_id=project_id)


async def reject(tx: Tx, project_id: UUID, context: OperatorContext, seen: datetime | None = None) -> OperatorAction:
    """The project cannot sell; its merchant sees why. `seen` as in `approve`."""
    if context.reason is None:
        raise OperatorRefusedError("A rejection needs a reason.")
    env = await store.reject(tx, project_id, context.reason, context.at, seen)
    if env is None:
        raise await _why_not_project(tx, project_id, "rejected")
    return await keep(tx, context, "project_rejected", env, subject_id=project_id)


async def remove_second_factor(tx: Tx, email: str, context: OperatorContext) -> OperatorAction:
    """Let somebody of a merchant's in again who lost authenticator and backup codes. Their sessions end."""
    if context.reason is None:
        raise OperatorRefusedError("Taking a second factor away needs a reason.")
    person = await sessions_store.by_email(tx, email_key(email))
    if person is None:
        raise NothingThereError(f"Nobody signs in with {email}.")
    if not await second_factor_store.remove(tx, person["id"]):
        raise OperatorRefusedError(f"{email} has no second factor.")
    await sessions_store.end_all(tx, person["id"], context.at)
    await outbox.put(tx, Letter("factor_off", person["email"], person["language"], person["id"]), context.at)
    return await keep(tx, context, "second_factor_removed", MerchantId(person["merchant_id"]), subject_id=person["id"])


async def adjust(
    tx: Tx, env: MerchantEnv, currency: Currency, amount_minor: int, context: OperatorContext, services: Services
) -> OperatorAction:
    """Give to the merchant's available balance, or, with an amount below zero, take from it."""
    if not await store.is_merchant(tx, env.merchant_id):
        raise OperatorRefusedError(f"There is no merchant {env.merchant_id}.")
    await rules.ensure_independent(tx, env.merchant_id, context.reviewer)
    await rules.ensure_no_reset(tx, env.merchant_id, context.at)
    had = await get_balance(tx, env, currency.code)
    action = await keep(
        tx,
        context,
        "balance_adjusted",
        env,
        subject_id=env.merchant_id,
        currency=currency.code,
        amount_minor=amount_minor,
    )
    ours, theirs = equity("adjustment"), available(env)
    debit, credit = (ours, theirs) if amount_minor > 0 else (theirs, ours)
    posting = Posting("adjustment", currency.code, abs(amount_minor), debit, credit)
    try:
        posted = await post(
            tx, JournalEntry(env.mode, "adjustment", Source(SOURCE, action.action_id), (posting,), context.at)
        )
    except InsufficientFunds:
        raise OperatorRefusedError(
            f"The available balance is {currency.format(had.available_minor)} {currency.code}: "
            f"{currency.format(-amount_minor)} cannot be taken from it."
        ) from None
    except BalanceLimitExceeded as error:
        raise OperatorRefusedError(error.message) from None
    cause = Cause(SOURCE, action.action_id, "posted", 1)
    await notify_balance(tx, env, currency.code, posted, cause, None, services, posted.entries[0].created_at)
    return action


async def keep(
    tx: Tx,
    context: OperatorContext,
    action: Action,
    whose: MerchantEnv | MerchantId | None,
    *,
    subject_id: UUID,
    currency: str | None = None,
    amount_minor: int | None = None,
    client: Client | None = None,
) -> OperatorAction:
    """Keep what was done, in the transaction that does it. `whose`: None where it is no merchant's."""
    env = whose if isinstance(whose, MerchantEnv) else None
    done = OperatorAction(
        action_id=new_id(),
        operator=context.operator,
        action=action,
        merchant_id=whose.merchant_id if isinstance(whose, MerchantEnv) else whose,
        mode=None if env is None else env.mode,
        subject_id=subject_id,
        reason=context.reason or None,
        currency=currency,
        amount_minor=amount_minor,
        on_command_line=context.on_command_line,
        at=stamp(context.at),
        client_id=None if client is None else client.client_id,
    )
    await store.keep(tx, done, context.at)
    if whose is not None and action in TOLD:
        told = None if currency is None or amount_minor is None else made(amount=priced(amount_minor, currency))
        about = None if subject_id == done.merchant_id else subject_id
        subject, name = (about, None) if client is None else (client.client_id, client.name)
        await record.note(tx, whose, TOLD[action], context.at, subject=subject, name=name, changed=told, by=author.OPERATOR)
    return done


async def _why_not_merchant(tx: Tx, merchant_id: UUID, otherwise: str) -> OperatorRefusedError:
    if not await store.is_merchant(tx, merchant_id):
        return NothingThereError(f"There is no merchant {merchant_id}.")
    return OperatorRefusedError(f"Merchant {merchant_id} {otherwise}.")


async def _why_not_project(tx: Tx, project_id: UUID, wanted: str) -> OperatorRefusedError:
    status = await store.status_of(tx, project_id)
    if status is None:
        return NothingThereError(f"There is no project {project_id}.")
    if status == wanted:
        return ChangedMeanwhileError(f"Project {project_id} is {status} already.")
    return ChangedMeanwhileError(f"Project {project_id} was changed meanwhile. Look again.")
