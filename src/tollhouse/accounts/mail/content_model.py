"""What the content of an email consists of, and what it is made from."""

from collections.abc import Mapping

from msgspec import Struct

from tollhouse.accounts.mail.model import Topic
from tollhouse.http.local_formats import Formats
from tollhouse.kernel.text import Text


class Button(Struct, frozen=True):
    """The link of an email: a button in HTML, its URL in plain text. An email has at most one."""

    label: Text
    url: str


class Facts(Struct, frozen=True):
    """Labels and values: a table in HTML, a line for each in plain text."""

    rows: tuple[tuple[Text, str], ...]


class Footer(Struct, frozen=True):
    """Why a notification is sent, and what its link unsubscribes from."""

    text: Text
    topic: Topic


class EmailContent(Struct, frozen=True):
    """The content of an email. Each `Text` among the parts is a paragraph."""

    subject: Text
    parts: tuple[Text | Button | Facts, ...]
    footer: Footer | None = None


class EmailValues(Struct, frozen=True):
    """What the content of an email is made from. `link` is empty for a kind without one; times are in its language."""

    formats: Formats
    base_url: str
    link: str
    created_at: str
    useful_until: str
    is_operator: bool
    facts: Mapping[str, str]
