"""The content of emails about the team of a merchant, and about what one of it did for all."""

from collections.abc import Callable, Mapping

from tollhouse.accounts.mail.content_model import Button, EmailContent, EmailValues, Facts
from tollhouse.accounts.mail.model import EmailKind
from tollhouse.kernel.text import Text


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


CONTENTS: Mapping[EmailKind, Callable[[EmailValues], EmailContent]] = {
    "everything_stopped": _everything_stopped,
}
"""The content of each kind."""
