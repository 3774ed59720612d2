"""What each notification says, in the inbox and by email: its title, its sentences, and the page that it leads to.

The facts are stored in no language and formatted for their reader. None of them is secret; accounts are masked.
"""

from collections.abc import Callable, Mapping

import msgspec
from msgspec import Struct

from tollhouse.accounts.mail.content_model import Facts
from tollhouse.accounts.mail.model import NotificationEvent
from tollhouse.http.local_formats import Formats
from tollhouse.kernel.text import Text, Translatable, as_text, load_text


class NoticeFacts(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The values of a notice. `amount` is a decimal, `at` and `day` are times of the API, `message` is a text as JSON.

    `reason` was written by a person. Names are as `mail_name` makes them.
    """

    amount: str = ""
    currency: str = ""
    account: str = ""
    name: str = ""
    by: str = ""
    reason: str = ""
    message: str = ""
    operation: str = ""
    role: str = ""
    at: str = ""
    day: str = ""
    browser: str = ""
    system: str = ""
    address: str = ""

    def formatted(self, formats: Formats) -> "NoticeFacts":
        """The same with amount and time as a reader sees them."""
        amount = formats.money(self.amount, self.currency) if self.currency else self.amount
        at = formats.moment(self.at) if self.at else ""
        day = formats.long_day(self.day) if self.day else ""
        return msgspec.structs.replace(self, amount=amount, at=at, day=day)


class Notice(Struct, frozen=True):
    """The inbox shows title and `detail`; an email has `more`, too. `label` names the page it leads to."""

    title: Text
    detail: Text
    label: Text
    more: tuple[Text | Facts, ...] = ()


PATHS: Mapping[NotificationEvent, str] = {
    "payment_needs_decision": "/{mode}/payments/{subject}",
    "proposal_waiting": "/{mode}/proposals/{subject}",
    "dispute_opened": "/{mode}/disputes/{subject}",
    "refund_failed": "/{mode}/payments/{subject}",
    "withdrawal_approved": "/{mode}/withdrawals/{subject}",
    "withdrawal_rejected": "/{mode}/withdrawals/{subject}",
    "withdrawal_completed": "/{mode}/withdrawals/{subject}",
    "withdrawal_failed": "/{mode}/withdrawals/{subject}",
    "schedule_failed": "/{mode}/withdrawals",
    "withdrawal_needs_member": "/{mode}/withdrawals/{subject}",
    "refund_needs_member": "/{mode}/payments/{subject}",
    "second_member_rule": "/settings/members",
    "project_approved": "/{mode}/projects/{subject}",
    "project_rejected": "/{mode}/projects/{subject}",
    "project_changes_approved": "/{mode}/projects/{subject}",
    "project_changes_rejected": "/{mode}/projects/{subject}",
    "webhooks_failing": "/{mode}/developers/events?status=retrying",
    "application_connected": "/settings/connected-apps",
    "application_disconnected": "/settings/connected-apps",
    "application_expiring": "/settings/connected-apps/{subject}#renew",
    "new_device": "/settings/sessions",
    "member_joined": "/settings/members",
    "member_removed": "/settings/members",
    "member_role_changed": "/settings/members",
}
"""The page of each event. None of these pages acts without a form."""


def path_of(event: NotificationEvent, mode: str, subject: str | None) -> str:
    """The page that a notification leads to."""
    return PATHS[event].format(mode=mode, subject=subject)


def notice_of(event: NotificationEvent, facts: NoticeFacts) -> Notice:
    """What a notification says, from facts that are formatted."""
    return NOTICES[event](facts)


def device_of(facts: NoticeFacts) -> Translatable:
    """The browser and the system, as far as they are known."""
    if facts.browser and facts.system:
        return Text("%(browser)s on %(system)s", browser=facts.browser, system=facts.system)
    return facts.browser or facts.system or as_text("Unknown device")


def _because(reason: str) -> tuple[Text, ...]:
    return (Text("Reason: %(reason)s", reason=reason),) if reason else ()


def _payment_needs_decision(facts: NoticeFacts) -> Notice:
    return Notice(
        Text("A payment needs your decision: %(amount)s", amount=facts.amount),
        Text("%(amount)s was received that could not be credited. Decide what happens to it.", amount=facts.amount),
        Text("View payment"),
    )


PROPOSED: Mapping[str, Text] = {
    "withdrawals": Text("Withdrawal"),
    "refunds": Text("Refund"),
    "balance_payments": Text("Balance payment"),
    "conversions": Text("Conversion"),
    "fulfillments": Text("Fulfillment"),
}


def _proposal_waiting(facts: NoticeFacts) -> Notice:
    rows = ((Text("Proposed by"), facts.name), (Text("Amount"), facts.amount), (Text("Recipient"), facts.account))
    return Notice(
        Text("%(operation)s: a proposal needs your decision", operation=PROPOSED[facts.operation]),
        Text("A proposal was made on %(moment)s. Nothing happens until you approve it.", moment=facts.at),
        Text("View proposal"),
        (
            Facts(tuple(row for row in rows if row[1])),
            Text("While this proposal waits, you get no email about others. It expires 7 days after it was made."),
        ),
    )


def _dispute_opened(facts: NoticeFacts) -> Notice:
    detail = Text("A customer disputed a payment. %(amount)s and the fee were taken from your balance.", amount=facts.amount)
    if facts.at:
        detail = Text(
            "A customer disputed a payment of %(amount)s. Respond by %(moment)s; without a response you lose the amount.",
            amount=facts.amount,
            moment=facts.at,
        )
    return Notice(Text("A payment was disputed: %(amount)s", amount=facts.amount), detail, Text("View dispute"))


def _refund_failed(facts: NoticeFacts) -> Notice:
    return Notice(
        Text("Refund failed: %(amount)s", amount=facts.amount),
        Text("A refund of %(amount)s failed. The customer did not get the money.", amount=facts.amount),
        Text("View payment"),
    )


def _withdrawal_approved(facts: NoticeFacts) -> Notice:
    return Notice(
        Text("Withdrawal approved: %(amount)s", amount=facts.amount),
        Text(
            "Your withdrawal of %(amount)s to %(account)s was approved in review and will be sent.",
            amount=facts.amount,
            account=facts.account,
        ),
        Text("View withdrawal"),
    )


def _withdrawal_rejected(facts: NoticeFacts) -> Notice:
    return Notice(
        Text("Withdrawal rejected: %(amount)s", amount=facts.amount),
        Text(
            "Your withdrawal of %(amount)s to %(account)s was rejected in review. "
            "The amount is available in your balance again.",
            amount=facts.amount,
            account=facts.account,
        ),
        Text("View withdrawal"),
        _because(facts.reason),
    )


def _withdrawal_completed(facts: NoticeFacts) -> Notice:
    return Notice(
        Text("Withdrawal completed: %(amount)s", amount=facts.amount),
        Text("Your withdrawal of %(amount)s to %(account)s was sent.", amount=facts.amount, account=facts.account),
        Text("View withdrawal"),
    )


def _withdrawal_failed(facts: NoticeFacts) -> Notice:
    return Notice(
        Text("Withdrawal failed: %(amount)s", amount=facts.amount),
        Text(
            "Your withdrawal of %(amount)s to %(account)s failed. The amount is available in your balance again.",
            amount=facts.amount,
            account=facts.account,
        ),
        Text("View withdrawal"),
    )


def _schedule_failed(facts: NoticeFacts) -> Notice:
    return Notice(
        Text("A scheduled withdrawal was not created"),
        Text("The withdrawal that was scheduled for %(moment)s was not created.", moment=facts.at),
        Text("View withdrawals"),
        (
            Text("%(reason)s", reason=as_text(load_text(facts.message)) if facts.message else facts.reason),
            Text("No money left your balance. To withdraw it now, open this page:"),
        ),
    )


def _project_approved(facts: NoticeFacts) -> Notice:
    return Notice(
        Text("Project approved: %(name)s", name=facts.name),
        Text("Your project %(name)s was approved. It can accept live payments.", name=facts.name),
        Text("View project"),
    )


def _project_rejected(facts: NoticeFacts) -> Notice:
    return Notice(
        Text("Project rejected: %(name)s", name=facts.name),
        Text("Your project %(name)s was rejected. Change it to submit it for review again.", name=facts.name),
        Text("View project"),
        _because(facts.reason),
    )


def _project_changes_approved(facts: NoticeFacts) -> Notice:
    return Notice(
        Text("Changes approved: %(name)s", name=facts.name),
        Text("The changes of your project %(name)s were approved. Customers see them now.", name=facts.name),
        Text("View project"),
    )


def _project_changes_rejected(facts: NoticeFacts) -> Notice:
    return Notice(
        Text("Changes rejected: %(name)s", name=facts.name),
        Text("The changes of your project %(name)s were rejected. It stays as it was approved.", name=facts.name),
        Text("View project"),
        _because(facts.reason),
    )


def _webhooks_failing(_: NoticeFacts) -> Notice:
    return Notice(
        Text("Webhook events are not delivered"),
        Text(
            "For an hour, no webhook event could be delivered to your server. Events are kept, and delivery is repeated "
            "automatically."
        ),
        Text("View events"),
    )


def _application_connected(facts: NoticeFacts) -> Notice:
    return Notice(
        Text("Application connected: %(name)s", name=facts.name),
        Text("%(email)s allowed the application %(name)s to access your account.", email=facts.by, name=facts.name),
        Text("View applications"),
    )


def _application_disconnected(facts: NoticeFacts) -> Notice:
    return Notice(
        Text("Application disconnected: %(name)s", name=facts.name),
        Text("A connection of the application %(name)s ended. It cannot be used any more.", name=facts.name),
        Text("View applications"),
    )


def _application_expiring(facts: NoticeFacts) -> Notice:
    return Notice(
        Text("Access of %(name)s ends on %(day)s", name=facts.name, day=facts.day),
        Text(
            "The application %(name)s can access your account in live mode until %(day)s. After that, its access ends. "
            "Payments, withdrawals and reserved amounts stay as they are.",
            name=facts.name,
            day=facts.day,
        ),
        Text("Renew connection"),
        (Text("To keep it connected, renew the connection. To let it end, do nothing. This page shows what it may do:"),),
    )


def _new_device(facts: NoticeFacts) -> Notice:
    return Notice(
        Text("New sign-in to your account"),
        Text(
            "A new device signed in to your account on %(moment)s: %(device)s, %(address)s",
            moment=facts.at,
            device=device_of(facts),
            address=facts.address,
        ),
        Text("View sessions"),
        (Text("If this was you, you can ignore this email. If not, sign out that session and change your password:"),),
    )


def _member_joined(facts: NoticeFacts) -> Notice:
    return Notice(
        Text("A member joined: %(name)s", name=facts.name),
        Text("%(name)s is now a member of your account. Role: %(role)s", name=facts.name, role=as_text(facts.role)),
        Text("View audit log"),
    )


def _member_removed(facts: NoticeFacts) -> Notice:
    return Notice(
        Text("No longer a member: %(name)s", name=facts.name),
        Text("%(name)s is no longer a member of your account.", name=facts.name),
        Text("View audit log"),
    )


def _member_role_changed(facts: NoticeFacts) -> Notice:
    return Notice(
        Text("A role was changed: %(name)s", name=facts.name),
        Text("The role of %(name)s is now: %(role)s", name=facts.name, role=as_text(facts.role)),
        Text("View audit log"),
    )


def _withdrawal_needs_member(facts: NoticeFacts) -> Notice:
    return Notice(
        Text("A withdrawal needs a second member: %(amount)s", amount=facts.amount),
        Text(
            "A withdrawal of %(amount)s to %(account)s waits until a second member approves it. Until then nothing is sent.",
            amount=facts.amount,
            account=facts.account,
        ),
        Text("View withdrawal"),
    )


def _refund_needs_member(facts: NoticeFacts) -> Notice:
    return Notice(
        Text("A refund needs a second member: %(amount)s", amount=facts.amount),
        Text(
            "A refund of %(amount)s to another account than the payer's waits until a second member approves it.",
            amount=facts.amount,
        ),
        Text("View payment"),
    )


def _second_member_rule(facts: NoticeFacts) -> Notice:
    asked = Text(
        "%(name)s asks to remove the amount of %(old)s, above which a second member approves.", name=facts.name, old=facts.by
    )
    if facts.reason and facts.by:
        asked = Text(
            "%(name)s asks that a second member approves above %(new)s instead of %(old)s.",
            name=facts.name,
            new=facts.reason,
            old=facts.by,
        )
    elif facts.reason:
        asked = Text("%(name)s asks that a second member approves only above %(new)s.", name=facts.name, new=facts.reason)
    left = Text("It does not apply until another member confirms it, within seven days.")
    return Notice(Text("A change of the second member's amount waits for you"), asked, Text("View members"), (left,))


NOTICES: Mapping[NotificationEvent, Callable[[NoticeFacts], Notice]] = {
    "payment_needs_decision": _payment_needs_decision,
    "proposal_waiting": _proposal_waiting,
    "dispute_opened": _dispute_opened,
    "refund_failed": _refund_failed,
    "withdrawal_approved": _withdrawal_approved,
    "withdrawal_rejected": _withdrawal_rejected,
    "withdrawal_completed": _withdrawal_completed,
    "withdrawal_failed": _withdrawal_failed,
    "schedule_failed": _schedule_failed,
    "withdrawal_needs_member": _withdrawal_needs_member,
    "refund_needs_member": _refund_needs_member,
    "second_member_rule": _second_member_rule,
    "project_approved": _project_approved,
    "project_rejected": _project_rejected,
    "project_changes_approved": _project_changes_approved,
    "project_changes_rejected": _project_changes_rejected,
    "webhooks_failing": _webhooks_failing,
    "application_connected": _application_connected,
    "application_disconnected": _application_disconnected,
    "application_expiring": _application_expiring,
    "new_device": _new_device,
    "member_joined": _member_joined,
    "member_removed": _member_removed,
    "member_role_changed": _member_role_changed,
}
"""What each event says."""
