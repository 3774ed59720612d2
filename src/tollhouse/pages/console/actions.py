"""Actions of operators on merchants, projects, applications and rails. Each records operator, time and reason."""

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Literal
from uuid import UUID

from tollhouse.accounts.approvals import record, rules
from tollhouse.accounts.approvals import rules as decisions
from tollhouse.accounts.approvals import store as decisions_store
from tollhouse.accounts.approvals.model import (
    Action,
    Decision,
    OperatorAction,
    OperatorContext,
    OperatorRefusedError,
    SubjectChangedError,
    SubjectNotFoundError,
)
from tollhouse.accounts.approvals.record import no_merchant, record_action
from tollhouse.accounts.audit.record import event as audit_event
from tollhouse.accounts.environments import store as projects_store
from tollhouse.accounts.identity import members_store, second_factor_store, sessions_store
from tollhouse.accounts.identity.credentials import email_key
from tollhouse.accounts.mail import store as outbox
from tollhouse.accounts.mail.model import Email, mail_name
from tollhouse.accounts.mail.notices import NoticeFacts
from tollhouse.accounts.merchants import store as merchants_store
from tollhouse.accounts.notifications.notify import Occurrence, notify_members
from tollhouse.http.services import Services, Work
from tollhouse.kernel.catalogue.currencies import Currency
from tollhouse.kernel.catalogue.withdrawal_methods import second_operator_above
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId, new_id
from tollhouse.kernel.rails.chain import ChainNetwork
from tollhouse.kernel.text import Text, as_text
from tollhouse.ledger.books.model import (
    BalanceLimitExceeded,
    InsufficientFunds,
    JournalEntry,
    Posting,
    Source,
    available,
    equity,
    rail,
)
from tollhouse.ledger.books.post import post_platform
from tollhouse.ledger.books.store import get_balance
from tollhouse.oauth import clients_store
from tollhouse.pages.console import store
from tollhouse.pages.console.layout import ConfirmedAction
from tollhouse.platform.database.pool import Tx
from tollhouse.rails.balances import store as balances_store
from tollhouse.rails.balances.measuring import is_measured
from tollhouse.transfers.gate.adjustments import post_adjustment, record_adjustment

ADJUSTMENTS_COUNT_FOR = timedelta(hours=24)


ProjectDecision = Literal["project_approved", "project_rejected", "project_changes_approved", "project_changes_rejected"]


async def suspend(work: Work, merchant_id: MerchantId, context: OperatorContext) -> OperatorAction:
    """Suspend a merchant: every request with its credentials fails."""
    if not await merchants_store.suspend(work.tx, merchant_id, context.at):
        raise await _merchant_error(work.tx, merchant_id, Text("Merchant %(id)s is already suspended.", id=merchant_id))
    await work.tx.execute(clients_store.END_AUTHORIZATIONS, merchant_id)
    return await record_action(work, context, "merchant_suspended", merchant_id, subject_id=merchant_id)


async def reactivate(work: Work, merchant_id: MerchantId, context: OperatorContext) -> OperatorAction:
    """Reactivate a suspended merchant."""
    await rules.ensure_independent(work.tx, merchant_id, context.reviewer)
    if await merchants_store.is_closed(work.tx, merchant_id):
        raise OperatorRefusedError(Text("Merchant %(id)s was erased.", id=merchant_id))
    if not await merchants_store.reactivate(work.tx, merchant_id):
        raise await _merchant_error(work.tx, merchant_id, Text("Merchant %(id)s is not suspended.", id=merchant_id))
    return await record_action(work, context, "merchant_reactivated", merchant_id, subject_id=merchant_id)


SUSPEND = ConfirmedAction(
    "Suspend merchant",
    "danger",
    frozenset({"active"}),
    (
        "All requests with its API keys and from connected applications fail.",
        "Its payment links accept no new payments. Payments in progress are still booked.",
        "Merchants cannot connect to its applications, and its applications cannot get tokens or move money.",
        "Its projects, refunds, withdrawals and payouts cannot be approved, exported or paid out.",
        (
            "Its connections are kept. Its users can view the dashboard, sign out, revoke keys, disconnect "
            "applications, and change their passwords."
        ),
    ),
    "This merchant was already suspended. No changes were made. The history below shows who suspended it and why.",
    suspend,
)
REACTIVATE = ConfirmedAction(
    "Reactivate merchant",
    "primary",
    frozenset({"suspended"}),
    ("Its API keys, its applications, the applications connected to it, and its payment links work again.",),
    "This merchant is not suspended. No changes were made. The history below shows who reactivated it and why.",
    reactivate,
)
OF_MERCHANTS = {"suspend": SUSPEND, "reactivate": REACTIVATE}
"""What an operator can do to a merchant for a reason: its page has a button for each."""


async def approve(work: Work, project_id: UUID, context: OperatorContext, seen: datetime | None = None) -> OperatorAction:
    """Approve a project or its pending changes, or record the first of two approvals.

    `seen` is the `updated_at` that the operator saw.
    """
    current = await store.lock_project(work.tx, project_id)
    is_changed = current is None or (seen is not None and current["updated_at"] != seen)
    if current is None or is_changed or (current["status"] == "approved" and not current["has_changes"]):
        raise await _project_error(work.tx, project_id, "approved")
    env = MerchantEnv(MerchantId(current["merchant_id"]), current["mode"])
    await rules.ensure_independent(work.tx, env.merchant_id, context.reviewer)
    await rules.ensure_active(work.tx, env.merchant_id)
    alone = not work.services.settings.two_operators
    needed = await rules.approvals_needed(work.tx, env.merchant_id, 1, context.at, single_operator=alone)
    approvals = rules.approve(await store.approvals(work.tx, project_id, needed), context.reviewer)
    if not approvals.complete:
        return await record_action(work, context, "project_approval_given", env, subject_id=project_id)
    has_changes = current["has_changes"]
    approve_in_store = projects_store.approve_changes if has_changes else projects_store.approve
    if await approve_in_store(work.tx, project_id, context.at, seen) is None:
        raise AssertionError("a locked project does not change")
    action: Action = "project_changes_approved" if has_changes else "project_approved"
    return await _record_decision(work, context, action, env, project_id)


async def reject(work: Work, project_id: UUID, context: OperatorContext, seen: datetime | None = None) -> OperatorAction:
    """Reject a project; its merchant sees the reason. `seen` as in `approve`."""
    if context.reason is None:
        raise OperatorRefusedError("Enter a reason for the rejection.")
    env = await projects_store.reject(work.tx, project_id, context.reason, context.at, seen)
    if env is None:
        raise await _project_error(work.tx, project_id, "rejected")
    return await _record_decision(work, context, "project_rejected", env, project_id)


async def reject_changes(
    work: Work, project_id: UUID, context: OperatorContext, seen: datetime | None = None
) -> OperatorAction:
    """Reject the pending changes of a project; its merchant sees the reason, the project stays approved. `seen` as above."""
    if context.reason is None:
        raise OperatorRefusedError("Enter a reason for the rejection.")
    env = await projects_store.reject_changes(work.tx, project_id, context.reason, context.at, seen)
    if env is None:
        raise await _project_error(work.tx, project_id)
    return await _record_decision(work, context, "project_changes_rejected", env, project_id)


async def _record_decision(
    work: Work, context: OperatorContext, kind: ProjectDecision, env: MerchantEnv, project_id: UUID
) -> OperatorAction:
    """Record what was decided about a project, and send it to its merchant."""
    action = await record_action(work, context, kind, env, subject_id=project_id)
    project = await store.project(work.tx, project_id)
    reason = context.reason or "" if kind in {"project_rejected", "project_changes_rejected"} else ""
    name = "" if project is None else mail_name(project.name)
    facts = NoticeFacts(name=name, reason=mail_name(reason))
    await notify_members(work, kind, Occurrence(env, action.action_id, facts, project_id))
    return action


async def remove_second_factor(work: Work, email: str, context: OperatorContext) -> OperatorAction:
    """Remove the second factor of a merchant's user and end all their sessions."""
    if context.reason is None:
        raise OperatorRefusedError("Enter a reason to remove two-factor authentication.")
    person = await sessions_store.find_by_email(work.tx, email_key(email))
    if person is None:
        raise SubjectNotFoundError(Text("There is no user with the email address %(email)s.", email=email))
    if not await second_factor_store.remove(work.tx, person["id"]):
        raise OperatorRefusedError(Text("%(email)s does not use two-factor authentication.", email=email))
    await sessions_store.revoke_all(work.tx, person["id"], context.at)
    await outbox.enqueue(work.tx, Email("factor_off", person["email"], person["language"], person["id"]), context.at)
    merchants = [MerchantId(each.merchant_id) for each in await members_store.list_of_user(work.tx, person["id"])]
    for merchant_id in merchants[1:]:
        await audit_event(work, merchant_id, "second_factor.removed", subject=person["id"])
    first = merchants[0] if merchants else None
    return await record_action(work, context, "second_factor_removed", first, subject_id=person["id"])


async def adjust(
    work: Work, env: MerchantEnv, currency: Currency, amount_minor: int, context: OperatorContext
) -> OperatorAction:
    """Credit the merchant's available balance, or debit it if the amount is negative.

    Above a threshold, counted over 24 hours, two operators approve a credit in live mode; the first one's approval is
    returned. Raises `OperatorRefusedError`, on the command line in this case, too.
    """
    if not await store.is_merchant(work.tx, env.merchant_id):
        raise OperatorRefusedError(Text("There is no merchant %(merchant_id)s.", merchant_id=env.merchant_id))
    await rules.ensure_independent(work.tx, env.merchant_id, context.reviewer)
    await rules.ensure_no_reset(work.tx, env.merchant_id, context.at)
    if await _needs_two(work, env, currency, amount_minor):
        given, is_complete = await _approve_adjustment(work, env, currency.code, amount_minor, context)
        if not is_complete:
            return given
    balance = await get_balance(work.tx, env, currency.code)
    action = await record_adjustment(work, env, currency.code, amount_minor, context)
    ours, theirs = equity("adjustment"), available(env)
    debit, credit = (ours, theirs) if amount_minor > 0 else (theirs, ours)
    posting = Posting("adjustment", currency.code, abs(amount_minor), debit, credit)
    try:
        await post_adjustment(work, env, currency.code, action, (posting,))
    except InsufficientFunds:
        raise OperatorRefusedError(
            Text(
                "The available balance is %(available)s %(currency)s. You cannot debit %(amount)s.",
                available=Decimal(currency.format(balance.available_minor)),
                currency=currency.code,
                amount=Decimal(currency.format(-amount_minor)),
            )
        ) from None
    except BalanceLimitExceeded as error:
        raise OperatorRefusedError(error.message) from None
    return action


async def _needs_two(work: Work, env: MerchantEnv, currency: Currency, amount_minor: int) -> bool:
    """Whether the credits of all adjustments in 24 hours exceed with this one what a single operator may give."""
    if not env.livemode or amount_minor <= 0:
        return False
    await decisions_store.lock(work.tx, "adjustment", env.merchant_id)
    since = work.now - ADJUSTMENTS_COUNT_FOR
    given_minor = await store.sum_adjusted(work.tx, env.merchant_id, currency.code, since)
    above_minor = second_operator_above(currency, work.services.catalogue.withdrawal_methods.values())
    return given_minor + amount_minor > above_minor


async def _approve_adjustment(
    work: Work, env: MerchantEnv, currency: str, amount_minor: int, context: OperatorContext
) -> tuple[OperatorAction, bool]:
    """Approve an adjustment as one of two operators. Returns the action, and whether it is the last one."""
    decision = Decision("adjustment", env.merchant_id, f"{env.mode} {currency} {amount_minor}")
    approvals = await decisions.approve_decision(work, decision, context)
    given = await record_action(
        work, context, "adjustment_approved", env, subject_id=env.merchant_id, currency=currency, amount_minor=amount_minor
    )
    return given, approvals.complete


async def _merchant_error(tx: Tx, merchant_id: UUID, problem: Text) -> OperatorRefusedError:
    if not await store.is_merchant(tx, merchant_id):
        return no_merchant(merchant_id)
    return OperatorRefusedError(problem)


async def _project_error(tx: Tx, project_id: UUID, target_status: str = "") -> OperatorRefusedError:
    status = await store.status_of(tx, project_id)
    if status is None:
        return SubjectNotFoundError(Text("There is no project %(project_id)s.", project_id=project_id))
    if status == target_status:
        return SubjectChangedError(
            Text("Project %(project_id)s is already %(status)s.", project_id=project_id, status=as_text(status))
        )
    return SubjectChangedError(
        Text("Project %(project_id)s was changed in the meantime. Check it again.", project_id=project_id)
    )


FLOAT_SOURCE = "rail_float"


def ensure_measured(services: Services, rail_name: str, currency: str) -> None:
    """Raise `OperatorRefusedError` unless the rail is configured, is compared with the ledger, and has this currency."""
    found = services.rails.find(rail_name, "live")
    if not is_measured(found):
        raise OperatorRefusedError(Text("%(rail)s is no rail that is compared with the ledger.", rail=rail_name))
    carried = found.currencies if isinstance(found, ChainNetwork) else services.catalogue.currencies
    if currency not in carried:
        raise OperatorRefusedError(Text("%(rail)s does not carry %(currency)s.", rail=rail_name, currency=currency))


async def change_rail_float(
    work: Work, rail_name: str, currency: Currency, amount_minor: int, context: OperatorContext
) -> OperatorAction:
    """Book money that the operator put on a rail, or took from it if the amount is negative, after `ensure_measured`."""
    subject_id = new_id()
    action = await record.record_action(
        work, context, "rail_float_changed", None, subject_id=subject_id, currency=currency.code, amount_minor=amount_minor
    )
    await balances_store.insert_float(work.tx, action.action_id, rail_name, "live", currency.code, amount_minor, context.at)
    on_rail, own = rail(rail_name), equity("rail_float")
    debit, credit = (on_rail, own) if amount_minor > 0 else (own, on_rail)
    posting = Posting("rail_float", currency.code, abs(amount_minor), debit, credit)
    await post_platform(work, [JournalEntry("live", "rail_float", Source(FLOAT_SOURCE, action.action_id), (posting,))])
    return action
