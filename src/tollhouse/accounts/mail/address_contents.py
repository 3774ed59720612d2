"""The content of emails about a change of the address by which a person signs in."""

from collections.abc import Callable, Mapping

from tollhouse.accounts.mail.content_model import Button, EmailContent, EmailValues
from tollhouse.accounts.mail.factor_contents import not_you
from tollhouse.accounts.mail.model import EmailKind
from tollhouse.kernel.text import Text


def _requested(values: EmailValues) -> EmailContent:
    requested = Text(
        "A change of the email address of your account to %(new)s was requested on %(moment)s. Nothing is changed until it "
        "is confirmed at the new address.",
        new=values.facts["new"],
        moment=values.created_at,
    )
    return EmailContent(Text("A change of your email address was requested"), (requested, *not_you(values)))


def _confirm(values: EmailValues) -> EmailContent:
    return EmailContent(
        Text("Confirm your new email address"),
        (
            Text(
                "At %(site)s, the user %(old)s asked to change the email address of the account to this one. To confirm the "
                "change, open this link:",
                old=values.facts["old"],
                site=values.base_url,
            ),
            Button(Text("Confirm email address"), values.link),
            Text("The link works until %(moment)s.", moment=values.useful_until),
            Text("If you did not request this, ignore this email."),
        ),
    )


def _undo(values: EmailValues) -> EmailContent:
    return EmailContent(
        Text("Your email address was changed"),
        (
            Text(
                "The email address of your account was changed to %(new)s on %(moment)s. If this was you, you can ignore "
                "this email.",
                new=values.facts["new"],
                moment=values.created_at,
            ),
            Text(
                "If this was not you, undo the change. Your account gets this address back, all sessions end, and API keys "
                "and connections that were made meanwhile stop working:"
            ),
            Button(Text("Undo change"), values.link),
            Text("The link works until %(moment)s. It needs no sign-in.", moment=values.useful_until),
        ),
    )


def _undone(values: EmailValues) -> EmailContent:
    return EmailContent(
        Text("The change of your email address was undone"),
        (
            Text(
                "The email address of an account at %(site)s had been changed to this one. On %(moment)s, that was undone "
                "from the previous address, %(old)s. You cannot sign in with this address any more.",
                site=values.base_url,
                moment=values.created_at,
                old=values.facts["old"],
            ),
            Text("Sign in with the previous address. If you lost access to it, ask the operator of this server for help."),
            Button(Text("Sign in"), f"{values.base_url}/signin"),
        ),
    )


CONTENTS: Mapping[EmailKind, Callable[[EmailValues], EmailContent]] = {
    "address_requested": _requested,
    "confirm_address": _confirm,
    "undo_address": _undo,
    "address_undone": _undone,
}
"""The content of each kind."""
