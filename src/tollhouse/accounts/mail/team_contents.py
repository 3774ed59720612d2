"""The content of emails about the team of a merchant, and about what one of it did for all."""

from collections.abc import Callable, Mapping
from typing import cast

from tollhouse.accounts.mail.content_model import Button, EmailContent, EmailValues, Facts
from tollhouse.accounts.mail.model import EmailKind
from tollhouse.kernel.roles import NAMES, Role
from tollhouse.kernel.text import Text, as_text


def _everything_stopped(values: EmailValues) -> EmailContent:
    facts = values.facts
    return EmailContent(
        Text("All live API keys and connections were revoked"),
        (
            Text(
                "%(email)s stopped everything in live mode on %(moment)s. Servers and applications have no access any more.",
                email=facts["by"],
                moment=values.created_at,
            ),
            Facts(((Text("API keys"), facts["api_keys"]), (Text("Connections"), facts["connections"]))),
            Text("If you expected this, create new keys and connect your applications again."),
            Button(Text("View audit log"), f"{values.base_url}/settings/audit"),
        ),
    )


def _invitation(values: EmailValues) -> EmailContent:
    facts = values.facts
    merchant = facts["business"]
    return EmailContent(
        Text("Invitation to %(merchant)s", merchant=merchant),
        (
            Text(
                "%(email)s invites you to the merchant account %(merchant)s at %(site)s.",
                email=facts["by"],
                merchant=merchant,
                site=values.base_url,
            ),
            Text("Your role there: %(role)s.", role=_role(values)),
            Text("To see the invitation and to accept it, open this link:"),
            Button(Text("View invitation"), values.link),
            Text("The link works once, until %(moment)s, and only with this email address.", moment=values.useful_until),
            Text("If you do not know this merchant, ignore this email."),
        ),
    )


def _member_left(values: EmailValues) -> EmailContent:
    facts = values.facts
    merchant = facts["business"]
    left = Text(
        "%(by)s removed you from the merchant account %(merchant)s on %(moment)s. You have no access to it any more.",
        by=facts["by"],
        merchant=merchant,
        moment=values.created_at,
    )
    home = Button(Text("Go to the dashboard"), f"{values.base_url}/")
    return EmailContent(Text("You are no longer a member of %(merchant)s", merchant=merchant), (left, SURPRISED, home))


def _role_changed(values: EmailValues) -> EmailContent:
    facts = values.facts
    merchant = facts["business"]
    changed = Text(
        "%(by)s changed your role in the merchant account %(merchant)s on %(moment)s. Your role is now: %(role)s",
        by=facts["by"],
        merchant=merchant,
        role=_role(values),
        moment=values.created_at,
    )
    members = Button(Text("View members"), f"{values.base_url}/settings/members")
    return EmailContent(Text("Your role at %(merchant)s was changed", merchant=merchant), (changed, SURPRISED, members))


SURPRISED = Text("If you did not expect this, contact an owner of the merchant account.")


def _role(values: EmailValues) -> Text:
    return as_text(NAMES[cast("Role", values.facts["new_role"])])


CONTENTS: Mapping[EmailKind, Callable[[EmailValues], EmailContent]] = {
    "everything_stopped": _everything_stopped,
    "invitation": _invitation,
    "team_left": _member_left,
    "team_role_changed": _role_changed,
}
"""The content of each kind."""
