"""Saved recipients: added and deleted by merchants, and the rule that withdrawals go only to them.

A new recipient can be paid after the cooling time of the instance. There is no way to change one: it is deleted and added
again. The rule ends after the same time, so that a thief with the right to withdraw cannot end it first.
"""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.accounts.audit import record
from tollhouse.accounts.audit.model import new_values
from tollhouse.accounts.identity import users_store
from tollhouse.accounts.mail import store as outbox
from tollhouse.accounts.mail.model import Email, EmailKind, mail_name
from tollhouse.accounts.mail.notices import NoticeFacts
from tollhouse.accounts.notifications.notify import Occurrence, notify_members
from tollhouse.http.bodies import ValidationContext
from tollhouse.http.local_formats import Formats
from tollhouse.http.services import Work
from tollhouse.http.texts import Texts
from tollhouse.kernel import limits, messages
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.catalogue.provider_fields import fields_errors
from tollhouse.kernel.catalogue.withdrawal_methods import WithdrawalMethod
from tollhouse.kernel.clock import stamp
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import FieldError, ValidationFailed
from tollhouse.kernel.examples import example
from tollhouse.kernel.ids import new_id
from tollhouse.kernel.names import is_readable
from tollhouse.kernel.text import Translatable, as_text, dump_text
from tollhouse.transfers.gate import recipients_store
from tollhouse.transfers.gate.model import SavedRecipient, WithdrawalMethodUnavailable, WithdrawalSettings
from tollhouse.transfers.orders.store import clock_offset
from tollhouse.transfers.withdrawals.acceptance import ensure_receiver
from tollhouse.transfers.withdrawals.model import (
    RecipientExists,
    TooManyRecipients,
    WithdrawalSchedule,
    mask,
    unavailable_reason,
)
from tollhouse.transfers.withdrawals.new_withdrawal import OF_THE_TRANSFER, bic_errors

PATH = "/live/withdrawals/recipients"
MAY_BE_DOWN: frozenset[str | None] = frozenset({None, "provider_down"})
"""Recipients are saved while the provider does not respond."""


async def recipient_added(work: Work, recipient: SavedRecipient, method: WithdrawalMethod) -> None:
    """Report a new recipient: its name, account and method, when it can be paid, and who added it."""

    def facts(language: str) -> dict[str, str]:
        label = method.label
        return {
            "name": mail_name(recipient.name),
            "account": mail_name(mask(recipient.receiver, method.receiver_type)),
            "method": Texts(language).translate(as_text(label) if isinstance(label, str) else label),
            "active_at": Formats(language).moment(recipient.active_at),
        }

    await _send(work, recipient.env, "recipient_added", facts)


async def limit_turned_off(work: Work, env: MerchantEnv, turns_off_at: datetime) -> None:
    """Report that withdrawals to any recipient will be allowed from this time on."""
    await _send(work, env, "recipients_only_off", lambda language: {"turns_off_at": Formats(language).moment(turns_off_at)})


async def schedule_failed(work: Work, schedule: WithdrawalSchedule, reason: Translatable) -> None:
    """Report that a scheduled withdrawal was not created, and why."""
    due_at = schedule.next_run_at or work.now
    facts = NoticeFacts(at=stamp(due_at), message=dump_text(reason))
    await notify_members(work, "schedule_failed", Occurrence(schedule.env, f"{schedule.id} {stamp(due_at)}", facts))


async def _send(work: Work, env: MerchantEnv, kind: EmailKind, facts: Callable[[str], dict[str, str]]) -> None:
    if not env.livemode:
        return
    users = await users_store.list_of_merchant(work.tx, env.merchant_id)
    emails = {str(user["id"]): user["email"] for user in users}
    by = {"by_kind": work.actor.kind, "by": mail_name(emails.get(work.actor.id) or work.actor.id), "path": PATH}
    for user in users:
        email = Email(kind, user["email"], user["language"], user["id"], facts(user["language"]) | by)
        await outbox.enqueue(work.tx, email, work.now)


class NewRecipient(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A recipient to save. `receiver` and `provider_fields` are as in a withdrawal, without a reference."""

    name: Annotated[str, example("Nina Bo")]
    """Name under which the recipient is listed."""
    method_id: str
    receiver: str
    provider_fields: dict[str, Any] = msgspec.field(default_factory=dict[str, Any])

    def rule_errors(self, context: ValidationContext) -> Iterator[FieldError]:
        """Every error that needs no lookup."""
        return _field_errors(self, context.catalogue)


class NewWithdrawalSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """The body of PUT /settings/withdrawals."""

    saved_recipients_only: Annotated[bool, example(True)]


async def add(work: Work, env: MerchantEnv, new: NewRecipient) -> SavedRecipient:
    """Save a recipient, and tell every user of the merchant.

    Raises `ValidationFailed`, `WithdrawalMethodUnavailable`, `InvalidReceiver`, `TooManyRecipients` and `RecipientExists`.
    """
    services = work.services
    method = _method_of(new, env, work)
    ensure_receiver(method, env.mode, new.receiver, services.rails)
    provider = services.rails.find(method.rail, env.mode)
    if provider is None:
        raise WithdrawalMethodUnavailable("provider_not_configured")
    active_at = work.now + await clock_offset(work.tx, env) + timedelta(seconds=services.settings.recipient_cooling)
    recipient = SavedRecipient(
        id=new_id(),
        name=new.name.strip(),
        method_id=method.method_id,
        receiver=new.receiver,
        provider_fields=new.provider_fields,
        env=env,
        active_at=active_at,
        created_at=work.now,
        rail=method.rail,
        account=provider.account_of(new.receiver),
    )
    if await recipients_store.count(work.tx, env) >= limits.RECIPIENTS_MAX:
        raise TooManyRecipients
    if not await recipients_store.insert(work.tx, recipient):
        raise RecipientExists(await recipients_store.id_by_account(work.tx, env, method.method_id, recipient.account))
    await recipient_added(work, recipient, method)
    await _record_audit(work, recipient, "recipient.added")
    return recipient


async def delete(work: Work, env: MerchantEnv, recipient_id: UUID) -> SavedRecipient:
    """Delete a recipient. Its withdrawals are kept. Raises `NotFound`."""
    deleted = await recipients_store.delete(work.tx, env, recipient_id)
    await _record_audit(work, deleted, "recipient.deleted")
    return deleted


async def get_settings(work: Work, env: MerchantEnv) -> WithdrawalSettings:
    """The rule of an environment."""
    present = work.now + await clock_offset(work.tx, env)
    return WithdrawalSettings(env, (await recipients_store.get_rule(work.tx, env)).at(present))


async def save_settings(work: Work, env: MerchantEnv, new: NewWithdrawalSettings) -> WithdrawalSettings:
    """Turn the rule on at once, or off after the cooling time. Saving it again does not lengthen that time."""
    present = work.now + await clock_offset(work.tx, env)
    if new.saved_recipients_only:
        if await recipients_store.turn_on(work.tx, env, work.now):
            await record.event(work, env, "recipient.only_saved_on")
        return await get_settings(work, env)
    turns_off_at = present + timedelta(seconds=work.services.settings.recipient_cooling)
    if await recipients_store.turn_off(work.tx, env, work.now, turns_off_at):
        await limit_turned_off(work, env, turns_off_at)
        changed = new_values(turns_off_at=stamp(turns_off_at))
        await record.event(work, env, "recipient.only_saved_off", changed=changed)
    return await get_settings(work, env)


async def _record_audit(
    work: Work, recipient: SavedRecipient, action: Literal["recipient.added", "recipient.deleted"]
) -> None:
    method = work.services.catalogue.withdrawal_methods.get(recipient.method_id)
    receiver = recipient.receiver if method is None else mask(recipient.receiver, method.receiver_type)
    about = new_values(receiver=receiver, method_id=recipient.method_id, active_at=stamp(recipient.active_at))
    await record.event(work, recipient.env, action, subject=recipient.id, name=recipient.name, changed=about)


def _method_of(new: NewRecipient, env: MerchantEnv, work: Work) -> WithdrawalMethod:
    """Raises `ValidationFailed` with every error, then `WithdrawalMethodUnavailable`."""
    if field_errors := list(_field_errors(new, work.services.catalogue)):
        raise ValidationFailed(*field_errors)
    method = work.services.catalogue.withdrawal_methods.get(new.method_id)
    if method is None:
        raise WithdrawalMethodUnavailable
    reason = unavailable_reason(method, env.mode, work.services.rails, work.services.catalogue)
    if reason not in MAY_BE_DOWN:
        raise WithdrawalMethodUnavailable(reason)
    return method


def _field_errors(new: NewRecipient, catalogue: Catalogue) -> Iterator[FieldError]:
    name = new.name.strip()
    if not (1 <= len(name) <= limits.RECIPIENT_NAME_CHARS_MAX and is_readable(name)):
        yield FieldError("name", "invalid_value", messages.plain_text(1, limits.RECIPIENT_NAME_CHARS_MAX))
    method = catalogue.withdrawal_methods.get(new.method_id)
    if method is not None:
        yield from fields_errors(method.provider_fields, new.provider_fields)
        yield from bic_errors(method, new.receiver, new.provider_fields.get("bic"))
    for member in OF_THE_TRANSFER & new.provider_fields.keys():
        yield FieldError(f"provider_fields.{member}", "invalid_value", messages.OF_A_WITHDRAWAL)
