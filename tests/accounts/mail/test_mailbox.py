"""The operators' pages about mail: where nothing sends it they are its mailbox, and elsewhere they show nothing it says."""

import asyncio
import html
import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import get_args
from uuid import uuid4

import pytest

from tests.accounts.mail.mail_worker import MailWorker
from tests.cast import sign_up
from tests.forms import seen
from tests.pages.console.operator_pages import signed_in_operator
from tests.rails.bank.camt import ACCOUNT
from tests.running import Service, settings_for
from tollhouse.accounts.mail.model import EmailKind
from tollhouse.kernel import clock
from tollhouse.platform.settings.config import InvalidSettingsError

MAIL = re.compile(r'href="(/operator/mail/[0-9a-f-]{36})"')
LINK = re.compile(r'class="btn" href="http://[^/]+(/verify/[\w-]+)"')
WRITE = """
    INSERT INTO mails (id, about, recipient, language, created_at, useful_until, sent_at, shown_at, given_up_at, error)
    VALUES ($1, 'factor_on', $2, 'en', $3::timestamptz, $3::timestamptz + interval '1 day', $4, $5, $6, $7)
"""
WRITE_KIND = """
    INSERT INTO mails (id, about, recipient, language, created_at, useful_until, sent_at)
    VALUES ($1, $2, $3, 'en', $4::timestamptz, $4::timestamptz + interval '1 day', $4)
"""
SHOWN = "SELECT id FROM mails WHERE recipient = $1 AND shown_at IS NOT NULL"


@pytest.mark.long
async def test_without_a_relay_a_mail_is_read_here(service: Service) -> None:
    async with signed_in_operator(service) as olga, sign_up(service, "newcomer", "Newcomer") as actor:
        while not (rows := await olga.sql(SHOWN, actor.email)):
            await asyncio.sleep(0.1)
        listed = await seen(olga, "/operator/mail")
        assert "no email is sent" in listed
        assert f"/operator/mail/{rows[0]['id']}" in MAIL.findall(listed)
        shown = html.unescape((await olga.send("GET", f"/operator/mail/{rows[0]['id']}")).ok().text)
        assert "A merchant account was created" in shown
        [path] = LINK.findall(shown)
        document = (await olga.send("GET", f"/operator/mail/{rows[0]['id']}/html")).ok()
        assert f'{path}" style=' in document.text
        assert document.headers["Content-Security-Policy"].startswith("default-src 'none'; style-src 'unsafe-inline';")
        assert "is verified" in (await actor.form(path, {})).ok().text
        assert (await actor.send("GET", f"/operator/mail/{rows[0]['id']}")).ok(303).location.startswith("/operator/signin")
        await seen(olga, f"/operator/mail/{uuid4()}", 404)


async def test_every_kind_of_email_has_a_name(service: Service) -> None:
    async with signed_in_operator(service) as olga:
        written = clock.now() + timedelta(days=30)
        for kind in get_args(EmailKind):
            await olga.sql(WRITE_KIND, uuid4(), kind, f"{kind}@example.com", written)
        await seen(olga, "/operator/mail")
        for row in await olga.sql("SELECT id, recipient FROM mails WHERE created_at = $1", written):
            assert row["recipient"] in await seen(olga, f"/operator/mail/{row['id']}")
        await olga.sql("DELETE FROM mails WHERE created_at = $1", written)


@pytest.mark.long
async def test_in_live_use_nobody_reads_a_mail_here(make_service: Callable[..., Service]) -> None:
    """With a bank account, or where others reach the server: a link would let an operator into a merchant's account."""
    live = make_service(**ACCOUNT)
    async with signed_in_operator(live) as olga, sign_up(live, "newcomer", "Newcomer") as actor:
        while not (rows := await olga.sql(SHOWN, actor.email)):
            await asyncio.sleep(0.1)
        assert "only to the server log" in await seen(olga, "/operator/mail")
        shown = await seen(olga, f"/operator/mail/{rows[0]['id']}")
        assert "Only the recipient can read the content" in shown
        assert "/verify/" not in shown
        await seen(olga, f"/operator/mail/{rows[0]['id']}/html", 404)


@pytest.mark.parametrize(
    ("base_url", "expected"),
    [
        ("http://localhost:8000", False),
        ("http://127.0.0.1:8000", False),
        ("http://[::1]:8000", False),
        ("https://localhost:8000", True),
        ("https://pay.example", True),
    ],
)
def test_live_use_is_what_others_can_reach(base_url: str, expected: bool) -> None:
    assert settings_for("postgresql://", TOLLHOUSE_BASE_URL=base_url).is_live_use is expected


@pytest.mark.parametrize("base_url", ["http://10.0.0.5:8000", "http://localhost.example", "http://pay.example"])
def test_what_others_can_reach_is_encrypted(base_url: str) -> None:
    with pytest.raises(InvalidSettingsError, match="must use https or be on this machine"):
        settings_for("postgresql://", TOLLHOUSE_BASE_URL=base_url)


def test_any_live_rail_is_live_use(tmp_path: Path) -> None:
    rails = tmp_path / "rails.toml"
    rails.write_text('[evm]\nkind = "evm"\nchain_id = 31337\n')
    assert not settings_for("postgresql://").is_live_use
    assert settings_for("postgresql://", TOLLHOUSE_RAILS_FILE=str(rails)).is_live_use
    assert settings_for("postgresql://", fresh=False, **ACCOUNT).is_live_use


async def test_with_a_relay_only_how_it_went_is_reported(mail_worker: MailWorker) -> None:
    async with signed_in_operator(mail_worker.service) as olga:
        assert "No emails yet" in await seen(olga, "/operator/mail")
        now = clock.now()
        mails = [(now, None, None, None), (None, now, None, None), (None, None, now, "answered_550")]
        for ended in mails:
            await olga.sql(WRITE, uuid4(), "dora@example.com", now, *ended)
        listed = await seen(olga, "/operator/mail")
        assert "Sent through 127.0.0.1" in listed
        assert "hunter2" not in listed
        for word in ("Sent</span>", "Shown</span>", "Failed</span>", "answered_550"):
            assert word in listed
        for path in MAIL.findall(listed):
            assert "Only the recipient can read the content" in await seen(olga, path)
        assert "Page 2 has no entries" in await seen(olga, "/operator/mail?page=2")
