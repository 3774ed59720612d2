"""Actions of operators on applications. Each records operator, time and reason."""

from uuid import UUID

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
from tollhouse.pages.console import store
from tollhouse.pages.console.layout import ConfirmedAction
from tollhouse.platform.database.pool import Tx

DEVICE_WRITES_UNCHANGED = "No changes were made. The current state is shown below."
NO_OWNER = UUID(int=0)
"""The subject of an action on an application without an owner."""


async def suspend_application(work: Work, client_id: str, context: OperatorContext) -> OperatorAction:
    """Suspend an application: it cannot be connected, gets no tokens, and its requests fail."""
    if context.reason is None:
        raise OperatorRefusedError("Enter a reason to suspend an application.")
    suspended = await store.suspend_application(work.tx, client_id, context.at)
    if suspended is None:
        raise await _application_error(
            work.tx, client_id, Text("Application %(client_id)s is already suspended.", client_id=client_id)
        )
    return await _record_of_application(work, context, "application_suspended", client_id, suspended)


async def reactivate_application(work: Work, client_id: str, context: OperatorContext) -> OperatorAction:
    """Reactivate an application. Its connections work again unless its owner is suspended."""
    reactivated = await store.reactivate_application(work.tx, client_id)
    if reactivated is None:
        raise await _application_error(
            work.tx, client_id, Text("Application %(client_id)s is not suspended.", client_id=client_id)
        )
    return await _record_of_application(work, context, "application_reactivated", client_id, reactivated)


async def allow_device_writes(work: Work, client_id: str, context: OperatorContext) -> OperatorAction:
    """Let devices of an application request permissions that write in live mode."""
    if context.reason is None:
        raise OperatorRefusedError("Enter a reason to allow live write permissions.")
    allowed = await store.allow_device_writes(work.tx, client_id, context.at)
    if allowed is None:
        raise await _application_error(work.tx, client_id, DEVICE_WRITES_UNCHANGED)
    return await _record_of_application(work, context, "application_device_writes_allowed", client_id, allowed)


async def withdraw_device_writes(work: Work, client_id: str, context: OperatorContext) -> OperatorAction:
    """Let devices of an application no longer request them. Connections stay."""
    withdrawn = await store.withdraw_device_writes(work.tx, client_id)
    if withdrawn is None:
        raise await _application_error(work.tx, client_id, DEVICE_WRITES_UNCHANGED)
    return await _record_of_application(work, context, "application_device_writes_withdrawn", client_id, withdrawn)


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
OF_APPLICATIONS = {
    "suspend": SUSPEND_APPLICATION,
    "reactivate": REACTIVATE_APPLICATION,
    "allow-device-writes": ALLOW_DEVICE_WRITES,
    "withdraw-device-writes": WITHDRAW_DEVICE_WRITES,
}
"""What an operator can do to an application for a reason."""


async def _application_error(tx: Tx, client_id: str, problem: Translatable) -> OperatorRefusedError:
    found = await store.application(tx, client_id)
    if found is None:
        return SubjectNotFoundError(Text("There is no application %(client_id)s.", client_id=client_id))
    if found.status == "revoked":
        return OperatorRefusedError(Text("Application %(client_id)s is revoked.", client_id=client_id))
    return OperatorRefusedError(problem)
