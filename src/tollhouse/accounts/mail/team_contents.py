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
                "%(email)s invites you to the merchant account %(merchant)s at %(site)s. To see the invitation and to "
                "accept it, open this link:",
                email=facts["by"],
                merchant=merchant,
                site=values.base_url,
            ),
            Text("Your role there: %(role)s.", role=_role(values)),
            Button(Text("View invitation"), values.link),
            Text("The link works once, until %(moment)s, and only with this email address.", moment=values.useful_until),
            Text("If you do not know this merchant, ignore this email."),
        ),
    )


def _member_left(values: EmailValues) -> EmailContent:
    facts = values.facts
    email, merchant = facts["email"], facts["business"]
    left = Text(
        "%(email)s has no access to the merchant account %(merchant)s any more. This was done by %(by)s on %(moment)s.",
        email=email,
        merchant=merchant,
        by=facts["by"],
        moment=values.created_at,
    )
    home = Button(Text("Go to the dashboard"), f"{values.base_url}/")
    return EmailContent(
        Text("Not a member of %(merchant)s any more: %(email)s", merchant=merchant, email=email), (left, SURPRISED, home)
    )


def _role_changed(values: EmailValues) -> EmailContent:
    facts = values.facts
    email, merchant = facts["email"], facts["business"]
    changed = Text(
        "The role of %(email)s in the merchant account %(merchant)s is now: %(role)s. This was done by %(by)s on "
        "%(moment)s.",
        email=email,
        merchant=merchant,
        role=_role(values),
        by=facts["by"],
        moment=values.created_at,
    )
    members = Button(Text("View members"), f"{values.base_url}/settings/members")
    return EmailContent(
        Text("Role changed at %(merchant)s: %(email)s", merchant=merchant, email=email), (changed, SURPRISED, members)
    )


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
