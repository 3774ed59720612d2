"""Actions of operators on applications. Each records operator, time and reason."""

from typing import Literal
from uuid import UUID

from tollhouse.accounts.approvals import rules
from tollhouse.accounts.approvals.model import (
    Action,
    OperatorAction,
    OperatorContext,
    OperatorRefusedError,
    SubjectNotFoundError,
)
from tollhouse.accounts.approvals.record import Client, record_action
from tollhouse.http.services import Work
from tollhouse.kernel.ids import ClientId, MerchantId
from tollhouse.kernel.text import Text, Translatable
from tollhouse.pages.console import applications_store
from tollhouse.pages.console.layout import ConfirmedAction

DEVICE_WRITES_UNCHANGED = "No changes were made. The current state is shown below."
REVIEW_UNCHANGED = "It has changed since you opened this page, or the decision was made already. No changes were made."
NO_OWNER = UUID(int=0)
"""The subject of an action on an application without an owner."""


async def suspend_application(work: Work, client_id: str, context: OperatorContext) -> OperatorAction:
    """Suspend an application: it cannot be connected, gets no tokens, and its requests fail."""
    if context.reason is None:
        raise OperatorRefusedError("Enter a reason to suspend an application.")
    suspended = await applications_store.change(work.tx, "suspend", client_id, context.at)
    if suspended is None:
        raise await _application_error(
            work, client_id, Text("Application %(client_id)s is already suspended.", client_id=client_id)
        )
    return await _record_of_application(work, context, "application_suspended", client_id, suspended)


async def reactivate_application(work: Work, client_id: str, context: OperatorContext) -> OperatorAction:
    """Reactivate an application. Its connections work again unless its owner is suspended."""
    reactivated = await applications_store.change(work.tx, "reactivate", client_id)
    if reactivated is None:
        raise await _application_error(
            work, client_id, Text("Application %(client_id)s is not suspended.", client_id=client_id)
        )
    return await _record_of_application(work, context, "application_reactivated", client_id, reactivated)


async def allow_device_writes(work: Work, client_id: str, context: OperatorContext) -> OperatorAction:
    """Let devices of an application request permissions that write in live mode."""
    if context.reason is None:
        raise OperatorRefusedError("Enter a reason to allow live write permissions.")
    allowed = await applications_store.change(work.tx, "allow_device_writes", client_id, context.at)
    if allowed is None:
        raise await _application_error(work, client_id, DEVICE_WRITES_UNCHANGED)
    return await _record_of_application(work, context, "application_device_writes_allowed", client_id, allowed)


async def withdraw_device_writes(work: Work, client_id: str, context: OperatorContext) -> OperatorAction:
    """Let devices of an application no longer request them. Connections stay."""
    withdrawn = await applications_store.change(work.tx, "withdraw_device_writes", client_id)
    if withdrawn is None:
        raise await _application_error(work, client_id, DEVICE_WRITES_UNCHANGED)
    return await _record_of_application(work, context, "application_device_writes_withdrawn", client_id, withdrawn)


async def review(
    work: Work, client_id: str, version: int, context: OperatorContext, decision: Literal["approve", "verify"]
) -> OperatorAction:
    """Approve live write permissions of an application, or verify who is behind it, as the operator saw it.

    Its owner does not decide it, and nobody does within 72 hours of a password reset of the owner's users.
    """
    found = await applications_store.application(work.tx, client_id, work.now)
    if found is None or found.merchant_id is None:
        raise await _application_error(work, client_id, REVIEW_UNCHANGED)
    owner = MerchantId(found.merchant_id)
    await rules.ensure_independent(work.tx, owner, context.reviewer)
    await rules.ensure_active(work.tx, owner)
    await rules.ensure_no_reset(work.tx, owner, context.at)
    reviewed = await applications_store.change(work.tx, decision, client_id, version, context.at)
    if reviewed is None:
        raise await _application_error(work, client_id, REVIEW_UNCHANGED)
    action: Action = "application_approved" if decision == "approve" else "application_verified"
    return await _record_of_application(work, context, action, client_id, reviewed)


async def withdraw_approval(work: Work, client_id: str, context: OperatorContext) -> OperatorAction:
    """Withdraw the approval of live write permissions. Connections stay."""
    if context.reason is None:
        raise OperatorRefusedError("Enter a reason to withdraw the approval.")
    withdrawn = await applications_store.change(work.tx, "withdraw_approval", client_id)
    if withdrawn is None:
        raise await _application_error(work, client_id, REVIEW_UNCHANGED)
    return await _record_of_application(work, context, "application_approval_withdrawn", client_id, withdrawn)


async def withdraw_verification(work: Work, client_id: str, context: OperatorContext) -> OperatorAction:
    """Withdraw the verification of who is behind an application."""
    if context.reason is None:
        raise OperatorRefusedError("Enter a reason to withdraw the verification.")
    withdrawn = await applications_store.change(work.tx, "withdraw_verification", client_id)
    if withdrawn is None:
        raise await _application_error(work, client_id, REVIEW_UNCHANGED)
    return await _record_of_application(work, context, "application_verification_withdrawn", client_id, withdrawn)


async def _record_of_application(
    work: Work, context: OperatorContext, action: Action, client_id: str, changed: tuple[UUID | None, str]
) -> OperatorAction:
    """Record an action on an application, for its owner too, if it has one."""
    owner, name = changed
    merchant_id = None if owner is None else MerchantId(owner)
    client = Client(ClientId(client_id), name)
    return await record_action(work, context, action, merchant_id, subject_id=owner or NO_OWNER, client=client)


SUSPEND_APPLICATION = ConfirmedAction(
    "Suspend application",
    "danger",
    frozenset({"enabled", "paused"}),
    (
        "Merchants cannot connect to it, and it cannot get tokens.",
        "All requests with its tokens fail, and it cannot receive balance payments.",
        (
            "Its connections are kept. Its owner can view it, disconnect merchants and revoke it, but cannot change "
            "anything else."
        ),
    ),
    "This application can no longer be suspended. No changes were made. Its current state is shown below.",
    suspend_application,
)
REACTIVATE_APPLICATION = ConfirmedAction(
    "Reactivate application",
    "primary",
    frozenset({"suspended"}),
    ("Its connections and tokens work again, unless its owner is suspended.",),
    "This application is not suspended. No changes were made. Its current state is shown below.",
    reactivate_application,
)
ALLOW_DEVICE_WRITES = ConfirmedAction(
    "Allow live writes by device",
    "primary",
    frozenset({"enabled", "paused", "suspended"}),
    (
        "Devices can request permissions that change data or move money in live mode.",
        "Merchants still select them on the consent page, after they confirmed their password.",
    ),
    "Devices of this application may request them already, or it is revoked. No changes were made.",
    allow_device_writes,
)
WITHDRAW_DEVICE_WRITES = ConfirmedAction(
    "Withdraw live writes by device",
    "danger",
    frozenset({"enabled", "paused", "suspended"}),
    ("Devices can no longer request them. Requests that are not answered yet end.", "Its connections are kept."),
    "Devices of this application may not request them. No changes were made.",
    withdraw_device_writes,
)
WITHDRAW_APPROVAL = ConfirmedAction(
    "Withdraw approval",
    "danger",
    frozenset({"enabled", "paused", "suspended"}),
    (
        (
            "Where the installation reviews applications, merchants can no longer give it permissions that change data or "
            "move money in live mode."
        ),
        "Requests that are not answered yet end. Its connections are kept.",
    ),
    "This application is not approved. No changes were made.",
    withdraw_approval,
)
WITHDRAW_VERIFICATION = ConfirmedAction(
    "Withdraw verification",
    "danger",
    frozenset({"enabled", "paused", "suspended"}),
    ("Merchants no longer see that it is verified. Its connections are kept.",),
    "This application is not verified. No changes were made.",
    withdraw_verification,
)
OF_APPLICATIONS = {
    "suspend": SUSPEND_APPLICATION,
    "reactivate": REACTIVATE_APPLICATION,
    "allow-device-writes": ALLOW_DEVICE_WRITES,
    "withdraw-device-writes": WITHDRAW_DEVICE_WRITES,
    "withdraw-approval": WITHDRAW_APPROVAL,
    "withdraw-verification": WITHDRAW_VERIFICATION,
}
"""What an operator can do to an application for a reason."""


async def _application_error(work: Work, client_id: str, problem: Translatable) -> OperatorRefusedError:
    found = await applications_store.application(work.tx, client_id, work.now)
    if found is None:
        return SubjectNotFoundError(Text("There is no application %(client_id)s.", client_id=client_id))
    if found.status == "revoked":
        return OperatorRefusedError(Text("Application %(client_id)s is revoked.", client_id=client_id))
    return OperatorRefusedError(problem)
