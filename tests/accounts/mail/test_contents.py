"""Every kind of email as it is sent: two parts that say the same, in each language, whatever the values are."""

import re
from datetime import UTC, datetime, timedelta
from email import message_from_bytes, policy
from email.message import EmailMessage
from itertools import product
from pathlib import Path
from typing import Any, get_args
from uuid import uuid4

import msgspec
import pytest
from lxml import etree

from tests.accounts.mail.mail_worker import MailWorker
from tests.http.test_contrast import TEXT, TOKENS, contrast
from tollhouse.accounts.mail import rendering
from tollhouse.accounts.mail.contents import CONTENTS
from tollhouse.accounts.mail.model import KINDS as NOTIFICATION_KINDS
from tollhouse.accounts.mail.model import Email, EmailKind, QueuedEmail
from tollhouse.http.languages import LANGUAGES
from tollhouse.kernel.text import Text, dump_text

TEMPLATE = (Path(rendering.__file__).parent / "templates/email.html").read_text()
KINDS: tuple[EmailKind, ...] = get_args(EmailKind)
NOW = datetime(2026, 11, 23, 16, 42, 7, tzinfo=UTC)
DEVICE = {"browser": "Firefox", "system": "Linux", "address": "192.0.2.7"}
SALE = {"number": "2026-000001", "shop": "Shop", "product": "Coffee", "seller": "Shop, Berlin", "amount": "€4.20"}
RECEIPT = SALE | {"paid_at": "23 November 2026, 16:42 UTC", "path": "/pay/x?payment=y", "test": "yes"}
PROPOSAL = {"operation": "withdrawals"}
RECIPIENT = {
    "name": "Nina",
    "account": "NL91 ABNA 0417",
    "method": "SEPA transfer",
    "active_at": "tomorrow",
    "by_kind": "person",
    "by": "dora@ example. com",
    "turns_off_at": "tomorrow",
    "due_at": "today",
    "day": "6 December 2026",
    "reason": "It was too little.",
    "respond_by": "tomorrow",
    "path": "/live/x",
    "new_role": "finance",
    "api_keys": "1,204",
    "connections": "7",
    "old": "dora@ example. com",
    "new": "dora@ new. example",
    "email": "nina@ example. com",
}

ENTRY = {"event": "refund_failed", "facts": {"amount": "4.20", "currency": "EUR"}, "created_at": "2026-11-23T16:42:07Z"}
NOTICE = {
    "merchant": "0198a4b2-7c31-7f7a-9b1e-3f2a6c5d4e10",
    "business": "Shop & Söhne",
    "mode": "live",
    "subject": "x",
    "amount": "4.20",
    "currency": "EUR",
    "role": "Owner",
    "at": "2026-11-23T16:42:07Z",
    "day": "2026-11-30T16:42:07Z",
    "message": dump_text(Text("From %(least)s characters.", least=1)),
    "count": "60",
    "entries": msgspec.json.encode([ENTRY]).decode(),
}
HOSTILE = {"browser": '"><script>x</script>', "system": "<img src=//evil>\r\n\r\nBcc: x", "address": "%(a)s {{ 7 * 7 }}"}
ADDRESS = re.compile(r"https?://\S+")


class Document:
    """The HTML as a mail client reads it. Each element is closed, so it is XML too."""

    def __init__(self, html: str) -> None:
        root: Any = etree.fromstring(html)
        elements = list(root.iter())
        self.names = {str(element.tag) for element in elements}
        self.attributes = {str(name) for element in elements for name in element.attrib}
        self.links = [str(element.get("href")) for element in root.iter("a")]
        self.words = [" ".join(str(text).split()) for text in root.find("body").itertext() if str(text).strip()]


def message_of(mail_worker: MailWorker, kind: EmailKind, language: str, facts: dict[str, str]) -> EmailMessage:
    """The email as it arrives."""
    email = Email(kind, "dora@example.com", language, uuid4(), facts)
    queued = QueuedEmail(uuid4(), email, NOW, NOW + timedelta(days=1), 1)
    sent = rendering.mime_message(mail_worker.services, queued).as_bytes(policy=policy.SMTP)
    return message_from_bytes(sent, policy=policy.default)


def parts_of(message: EmailMessage) -> tuple[str, Document]:
    """Its plain text, and its HTML as read."""
    plain, html = message.get_body(("plain",)), message.get_body(("html",))
    assert plain is not None
    assert html is not None
    return plain.get_content().replace("\r\n", "\n"), Document(html.get_content())


def test_every_kind_has_a_content() -> None:
    assert set(CONTENTS) == set(KINDS)


@pytest.mark.parametrize(("kind", "language"), [*product(KINDS, LANGUAGES)])
async def test_both_parts_say_the_same(mail_worker: MailWorker, kind: EmailKind, language: str) -> None:
    message = message_of(mail_worker, kind, language, DEVICE | RECIPIENT | RECEIPT | PROPOSAL | NOTICE)
    assert [part.get_content_type() for part in message.walk()] == ["multipart/alternative", "text/plain", "text/html"]
    assert message["Content-Language"] == language
    assert not [part.defects for part in message.walk() if part.defects]
    plain, html = parts_of(message)
    said = " ".join(html.words).replace(":", "")
    for paragraph in plain.split("\n\n"):
        assert " ".join(paragraph.split()).replace(":", "") in said, "a table has no colons"
    assert str(message["Subject"]) in html.words
    shown = [link.rstrip(".:") for link in ADDRESS.findall(plain) if link.count("/") > 2]
    assert html.links == shown
    assert len(shown) == (2 if message["List-Unsubscribe"] else 1)
    assert html.names <= {"html", "head", "meta", "title", "style", "body", "table", "tr", "td", "h1", "p", "a"}
    assert not html.attributes & {"src", "background", "srcset"}


@pytest.mark.parametrize("language", LANGUAGES)
async def test_hostile_values_stay_text(mail_worker: MailWorker, language: str) -> None:
    message = message_of(mail_worker, "new_device", language, HOSTILE)
    plain, html = parts_of(message)
    assert not {"script", "img"} & html.names
    assert message["Bcc"] is None
    for part in (plain, " ".join(html.words)):
        text = " ".join(part.split())
        assert '"><script>x</script>' in text
        assert "<img src=//evil> Bcc: x, %(a)s {{ 7 * 7 }}" in text
    assert len(plain.split("\n\n")) == 4, "a value makes no paragraphs"


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind in NOTIFICATION_KINDS or kind == "digest"])
async def test_notifications_can_be_unsubscribed_by_one_click(mail_worker: MailWorker, kind: EmailKind) -> None:
    message = message_of(mail_worker, kind, "en", DEVICE | PROPOSAL | NOTICE)
    if kind == "new_device":
        assert message["List-Unsubscribe"] is None
        return
    header = str(message["List-Unsubscribe"])
    assert re.fullmatch(rf"<{re.escape(mail_worker.service.url)}/unsubscribe/[\w-]+>", header), (
        "one URL, not folded or encoded"
    )
    assert message["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    assert header.strip("<>") in parts_of(message)[1].links


async def test_what_the_version_before_enqueued_is_sent_as_it_was_written(mail_worker: MailWorker) -> None:
    before = {"amount": "€4.20", "respond_by": "tomorrow at noon", "path": "/live/disputes/x"}
    message = message_of(mail_worker, "dispute_opened", "en", before)
    plain, html = parts_of(message)
    assert "a payment of €4.20. Respond by tomorrow at noon;" in " ".join(plain.split())
    assert html.links == [f"{mail_worker.service.url}/live/disputes/x"]
    assert message["List-Unsubscribe"] is None


async def test_an_operator_is_sent_to_no_page(mail_worker: MailWorker) -> None:
    queued = QueuedEmail(uuid4(), Email("factor_on", "olga@example.com", "en"), NOW, NOW, 1)
    rendered = rendering.render(mail_worker.services, queued)
    assert "contact the operator of this server" in rendered.text
    assert "<a " not in rendered.html


async def test_the_html_loads_nothing(mail_worker: MailWorker) -> None:
    rendered = rendering.render(
        mail_worker.services, QueuedEmail(uuid4(), Email("verify", "d@example.com", "en"), NOW, NOW, 1)
    )
    assert not re.search(r"url\(|@import|@font-face|<link|<img|<script", rendered.html)
    assert set(ADDRESS.findall(re.sub(r'[<">]', " ", rendered.html))) <= {rendered.link, mail_worker.service.url}


def test_colours_are_those_of_the_pages_and_can_be_read() -> None:
    dark = dict[str, str]()
    for name, colour in re.findall(r"\.(\w+) \{[^}]*?color: (#\w+) !important", TEMPLATE):
        dark[name] = colour
    used = {colour.replace("#ffffff", "#fff") for colour in re.findall(r"#[0-9a-f]{6}", TEMPLATE)}
    assert used <= {colour for both in TOKENS.values() for colour in both}
    light = {"text": "#10182a", "muted": "#5c677d", "ground": "#f6f7f9", "frame": "#fff", "button": "#2c4be0"}
    assert light.keys() <= dark.keys()
    assert set(light.values()) <= used
    for colours in (light, dark):
        for text, ground in [*product(("text", "muted"), ("ground", "frame"))]:
            assert contrast(colours[text], colours[ground]) >= TEXT, (text, ground)
        assert contrast("#fff", colours["button"]) >= TEXT
