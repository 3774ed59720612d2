"""The content of emails about the second factors and passkeys of an account."""

from collections.abc import Callable, Mapping

from tollhouse.accounts.mail.content_model import Button, EmailContent, EmailValues
from tollhouse.accounts.mail.model import EmailKind
from tollhouse.kernel.text import Text


def not_you(values: EmailValues) -> tuple[Text | Button, ...]:
    """What to do about a change that somebody else made."""
    if values.is_operator:
        return (Text("If this was not you, contact the operator of this server immediately."),)
    return (
        Text("If this was not you, reset your password immediately:"),
        Button(Text("Reset password"), f"{values.base_url}/forgot"),
    )


def _factor_on(values: EmailValues) -> EmailContent:
    if "passkeys" in values.facts:
        added = Text(
            "An authenticator app was added to your account on %(moment)s. "
            "Its codes can be used where a passkey or a backup code can.",
            moment=values.created_at,
        )
        return EmailContent(Text("An authenticator app was added to your account"), (added, *not_you(values)))
    turned_on = Text(
        "Two-factor authentication was turned on for your account on %(moment)s. "
        "From now on, signing in requires the password and a code.",
        moment=values.created_at,
    )
    return EmailContent(Text("Two-factor authentication was turned on"), (turned_on, *not_you(values)))


def _factor_off(values: EmailValues) -> EmailContent:
    if "passkeys" in values.facts:
        removed = Text(
            "The authenticator app was removed from your account on %(moment)s. "
            "Signing in with the password still requires a passkey or a backup code.",
            moment=values.created_at,
        )
        return EmailContent(Text("The authenticator app was removed from your account"), (removed, *not_you(values)))
    turned_off = Text(
        "Two-factor authentication was turned off for your account on %(moment)s. "
        "From now on, signing in requires only the password.",
        moment=values.created_at,
    )
    return EmailContent(Text("Two-factor authentication was turned off"), (turned_off, *not_you(values)))


def _passkey_added(values: EmailValues) -> EmailContent:
    added = Text(
        "The passkey %(name)s was added to your account on %(moment)s. It signs in without the password.",
        name=values.facts["name"],
        moment=values.created_at,
    )
    first = Text(
        "Two-factor authentication is now on: signing in with the password also requires a passkey or a backup code."
    )
    paragraphs = (added, first) if "first" in values.facts else (added,)
    return EmailContent(Text("A passkey was added to your account"), (*paragraphs, *not_you(values)))


def _passkey_removed(values: EmailValues) -> EmailContent:
    removed = Text(
        "The passkey %(name)s was removed from your account on %(moment)s.",
        name=values.facts["name"],
        moment=values.created_at,
    )
    last = Text("Two-factor authentication is now off. From now on, signing in requires only the password.")
    paragraphs = (removed, last) if "last" in values.facts else (removed,)
    return EmailContent(Text("A passkey was removed from your account"), (*paragraphs, *not_you(values)))


CONTENTS: Mapping[EmailKind, Callable[[EmailValues], EmailContent]] = {
    "factor_on": _factor_on,
    "factor_off": _factor_off,
    "passkey_added": _passkey_added,
    "passkey_removed": _passkey_removed,
}
"""The content of each kind."""
