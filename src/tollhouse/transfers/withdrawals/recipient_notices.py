"""Emails to every user of a merchant about its saved recipients. Test mode sends none."""

from collections.abc import Callable
from datetime import datetime

from tollhouse.accounts.identity import users_store
from tollhouse.accounts.mail import store as outbox
from tollhouse.accounts.mail.model import TOPICS, Email, EmailKind, mail_name
from tollhouse.http.local_formats import Formats
from tollhouse.http.services import Work
from tollhouse.http.texts import Texts
from tollhouse.kernel.catalogue.withdrawal_methods import WithdrawalMethod
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.text import Translatable, as_text
from tollhouse.transfers.gate.recipients_model import SavedRecipient
from tollhouse.transfers.withdrawals.masking import mask
from tollhouse.transfers.withdrawals.schedules_model import WithdrawalSchedule

PATH = "/live/withdrawals/recipients"


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

    def facts(language: str) -> dict[str, str]:
        text = as_text(reason) if isinstance(reason, str) else reason
        return {"due_at": Formats(language).moment(due_at), "reason": Texts(language).translate(text)}

    await _send(work, schedule.env, "schedule_failed", facts)


async def _send(work: Work, env: MerchantEnv, kind: EmailKind, facts: Callable[[str], dict[str, str]]) -> None:
    if not env.livemode:
        return
    users = await users_store.list_of_merchant(work.tx, env.merchant_id)
    topic = TOPICS.get(kind)
    receivers = users if topic is None else await users_store.list_to_notify(work.tx, env.merchant_id, topic)
    emails = {str(user["id"]): user["email"] for user in users}
    by = {"by_kind": work.actor.kind, "by": mail_name(emails.get(work.actor.id) or work.actor.id), "path": PATH}
    for user in receivers:
        email = Email(kind, user["email"], user["language"], user["id"], facts(user["language"]) | by)
        await outbox.enqueue(work.tx, email, work.now)
