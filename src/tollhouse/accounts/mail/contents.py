"""The content of every email, described once: the plain text and the HTML are rendered from it.

Values in it are not translated and not trusted: `Text` keeps them apart from the wording, and the HTML escapes them.
"""

from collections.abc import Callable, Mapping
from functools import partial

import msgspec
from msgspec import Struct

from tollhouse.accounts.mail.address_contents import CONTENTS as ADDRESS
from tollhouse.accounts.mail.content_model import Button, EmailContent, EmailValues, Facts, Footer
from tollhouse.accounts.mail.factor_contents import CONTENTS as OF_FACTORS
from tollhouse.accounts.mail.factor_contents import not_you
from tollhouse.accounts.mail.labels import KIND_TITLES
from tollhouse.accounts.mail.model import (
    ALWAYS_SENT,
    KINDS,
    EmailKind,
    NotificationEvent,
    Topic,
    mail_name,
)
from tollhouse.accounts.mail.notices import NoticeFacts, notice_of, path_of
from tollhouse.accounts.mail.team_contents import CONTENTS as TEAM
from tollhouse.kernel.text import Text, as_text


def foot_of(values: EmailValues) -> Text:
    """The last paragraph of every email."""
    return Text("Tollhouse at %(site)s sent this email. Replies are not read.", site=values.base_url)


def _verify(values: EmailValues) -> EmailContent:
    return EmailContent(
        Text("Verify your email address"),
        (
            Text(
                "A merchant account was created at %(site)s with this email address. To verify the address, open this link:",
                site=values.base_url,
            ),
            Button(Text("Verify email address"), values.link),
            Text("The link works once, until %(moment)s.", moment=values.useful_until),
            Text("If you did not create this account, ignore this email."),
        ),
    )


def _reset(values: EmailValues) -> EmailContent:
    return EmailContent(
        Text("Reset your password"),
        (
            Text(
                "A password reset was requested at %(site)s for the account with this email address. "
                "To choose a new password, open this link:",
                site=values.base_url,
            ),
            Button(Text("Reset password"), values.link),
            Text("The link works once, until %(moment)s.", moment=values.useful_until),
            Text("If you did not request this, ignore this email. Your password stays the same."),
        ),
    )


def _password_changed(values: EmailValues) -> EmailContent:
    changed = Text(
        "The password of your account was changed on %(moment)s. All other sessions were signed out.",
        moment=values.created_at,
    )
    return EmailContent(Text("Your password was changed"), (changed, *not_you(values)))


def _receipt(values: EmailValues) -> EmailContent:
    facts = values.facts
    rows = (
        (Text("Receipt number"), facts["number"]),
        (Text("Product"), facts["product"]),
        (Text("Total paid"), facts["amount"]),
        (Text("Paid"), facts["paid_at"]),
        (Text("Sold by"), facts["seller"]),
    )
    test = (Text("This is a test payment. No real money was moved."),) if facts["test"] else ()
    return EmailContent(
        Text("Receipt %(number)s from %(shop)s", number=facts["number"], shop=facts["shop"]),
        (
            Text("Thank you for your payment of %(amount)s to %(shop)s.", amount=facts["amount"], shop=facts["shop"]),
            *test,
            Facts(rows),
            Text("To view, print or download the receipt, open this page:"),
            Button(Text("View receipt"), values.base_url + facts["path"]),
            Text("You receive this email because this address was entered for the payment. If it was not you, ignore it."),
        ),
    )


def _recipient_added(values: EmailValues) -> EmailContent:
    facts = values.facts
    rows = (
        (Text("Name"), facts["name"]),
        (Text("Account"), facts["account"]),
        (Text("Method"), facts["method"]),
        (Text("Can be paid from"), facts["active_at"]),
    )
    return EmailContent(
        Text("A withdrawal recipient was added"),
        (
            Text("A recipient of withdrawals was added to your account on %(moment)s:", moment=values.created_at),
            Facts(rows),
            _actor(facts),
            Text("If you do not recognize it, delete it before it can be paid, and change your password and API keys:"),
            Button(Text("View recipients"), values.base_url + facts["path"]),
        ),
    )


def _recipients_only_off(values: EmailValues) -> EmailContent:
    facts = values.facts
    return EmailContent(
        Text("Withdrawals to any recipient will be allowed"),
        (
            Text(
                "The limit to saved recipients was turned off for your account on %(moment)s. Until %(end)s, withdrawals "
                "still go only to saved recipients.",
                moment=values.created_at,
                end=facts["turns_off_at"],
            ),
            _actor(facts),
            Text("If you do not recognize this, turn the limit on again at once, and change your password and API keys:"),
            Button(Text("View recipients"), values.base_url + facts["path"]),
        ),
    )


def _actor(facts: Mapping[str, str]) -> Text:
    match facts["by_kind"]:
        case "person":
            return Text("%(email)s did this in the dashboard.", email=facts["by"])
        case "application":
            return Text("The application %(client_id)s did this.", client_id=facts["by"])
        case _:
            return Text("An API key did this.")


class DigestEntry(Struct, frozen=True):
    """A notification in a daily email."""

    event: NotificationEvent
    facts: NoticeFacts
    created_at: str


def _digest(values: EmailValues) -> EmailContent:
    facts = values.facts
    entries = msgspec.json.decode(facts["entries"], type=list[DigestEntry])
    rows = tuple(
        (notice_of(entry.event, entry.facts.formatted(values.formats)).title, values.formats.moment(entry.created_at))
        for entry in entries
    )
    count, rest = int(facts["count"]), int(facts["count"]) - len(entries)
    return EmailContent(
        Text("Notifications since the last daily email: %(count)s", count=count),
        (
            Facts(rows),
            *((Text("And %(count)s more.", count=rest),) if rest else ()),
            Button(Text("View notifications"), f"{values.base_url}/live/notifications"),
        ),
        _footer(facts, "Daily email", "digest"),
    )


def _application_reported(values: EmailValues) -> EmailContent:
    name = values.facts["name"]
    return EmailContent(
        Text("Application reported: %(name)s", name=name),
        (
            Text("A merchant reported the application %(name)s. The reasons of all reports are on its page:", name=name),
            Button(Text("View application"), values.base_url + values.facts["path"]),
            Text("Further reports about it today send no email."),
        ),
    )


def _notification(event: NotificationEvent, values: EmailValues) -> EmailContent:
    """What the inbox says, the page about it, and where to turn such emails off."""
    facts, kind = values.facts, KINDS[event]
    notice = notice_of(event, _notice_facts(values))
    path = facts.get("path") or path_of(event, facts.get("mode", ""), facts.get("subject"))
    return EmailContent(
        notice.title,
        (
            notice.detail,
            *notice.more,
            Button(notice.label, values.base_url + path),
        ),
        None if kind in ALWAYS_SENT else _footer(facts, KIND_TITLES[kind], kind),
    )


def _notice_facts(values: EmailValues) -> NoticeFacts:
    """The facts, formatted. What a version before enqueued has no mode, and was formatted then."""
    facts = values.facts
    read = msgspec.convert(dict(facts), NoticeFacts)
    if "mode" in facts:
        return read.formatted(values.formats)
    return msgspec.structs.replace(read, at=facts.get("respond_by", facts.get("due_at", values.created_at)))


def _footer(facts: Mapping[str, str], title: str, topic: Topic) -> Footer | None:
    """Nothing for what a version before enqueued: it has no merchant."""
    if "merchant" not in facts:
        return None
    text = Text(
        "You get these emails about %(business)s: %(kind)s. To stop them, open this link:",
        business=mail_name(facts["business"]),
        kind=as_text(title),
    )
    return Footer(text, topic)


CONTENTS: Mapping[EmailKind, Callable[[EmailValues], EmailContent]] = {
    "verify": _verify,
    "reset": _reset,
    "password_changed": _password_changed,
    **OF_FACTORS,
    "receipt": _receipt,
    "recipient_added": _recipient_added,
    "recipients_only_off": _recipients_only_off,
    "application_reported": _application_reported,
    **TEAM,
    **ADDRESS,
    "digest": _digest,
    **{event: partial(_notification, event) for event in KINDS},
}
"""The content of each kind."""
