"""Sending: a mail goes out once its deed is done, is tried again where it can help, and is given up where it cannot."""

import asyncio
from pathlib import Path
from typing import Any

import asyncpg
import msgspec
import pytest

from tests.accounts.mail.mail_worker import MailWorker
from tests.accounts.mail.postbox import Postbox
from tests.cast import Actor, sign_up
from tests.certificates import self_signed
from tests.running import free_port
from tollhouse.accounts.mail import rendering, store
from tollhouse.accounts.mail import slice as jobs
from tollhouse.accounts.mail.model import Email
from tollhouse.instance.monitoring.database_metrics import read_metrics
from tollhouse.kernel import clock
from tollhouse.platform import smtp
from tollhouse.platform.smtp import MailDeferredError, parse_relay, send_mail

SIGN_UP = "/api/v2/merchant/signup"
WAITS, SENT, GIVEN_UP = {"later": True}, {"sent": True}, {"given_up": True}


@pytest.fixture
async def dora(mail_worker: MailWorker) -> Any:
    """Somebody who has just signed up."""
    async with sign_up(mail_worker.service, "dora", "Dora's Deli") as actor:
        yield actor


async def test_a_mail_says_who_it_is_from_and_what_it_is_about(mail_worker: MailWorker, dora: Actor) -> None:
    [mail] = await mail_worker.mail_to(dora)
    assert str(mail.message["From"]) == "The Toll <toll@house.example>"
    assert mail.message["To"] == dora.email
    assert mail.message["Auto-Submitted"] == "auto-generated"
    assert mail.message["Content-Language"] == "en"
    assert [part.get_content_type() for part in mail.message.walk()] == ["multipart/alternative", "text/plain", "text/html"]
    assert mail.subject == "Verify your email address"
    assert max(len(line) for line in mail.text.splitlines() if "://" not in line) <= 72
    assert "Deli" not in mail.text
    assert await mail_worker.mail_to(dora) == [mail]


async def test_links_lead_to_the_base_url_and_no_secret_is_kept(mail_worker: MailWorker) -> None:
    body = {"email": "eve@example.com", "password": "correct horse battery", "business_name": "Eve"}
    async with sign_up(mail_worker.service, "fay", "Fay") as fay:
        (await fay.anonymously("POST", SIGN_UP, body, {"Host": "evil.example"})).refused("misdirected_request", 421)
        headers = {"X-Forwarded-Host": "evil.example", "Accept-Language": "de-AT"}
        (await fay.anonymously("POST", SIGN_UP, body, headers)).ok(201)
    await mail_worker.send()
    [mail] = mail_worker.postbox.to("eve@example.com")
    assert mail_worker.service.url + mail.path in mail.text
    assert "evil" not in str(mail.message)
    assert mail.subject == "Bestätigen Sie Ihre E-Mail-Adresse"
    assert mail.message["Content-Language"] == "de"
    rows = await mail_worker.sql("SELECT mails::text FROM mails UNION ALL SELECT failed_attempts::text FROM failed_attempts")
    secret = mail.path.rpartition("/")[2]
    assert not [row for row in rows if secret in row[0] or secret[-20:] in row[0]]


async def test_what_is_rolled_back_is_not_mailed(mail_worker: MailWorker) -> None:
    async def action(tx: Any) -> None:
        await store.enqueue(tx, Email("factor_on", "nobody@example.com", "en"), clock.now())
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await mail_worker.services.db.transact(action)
    assert await mail_worker.state() == []


@pytest.mark.parametrize(
    ("verb", "answer", "error", "end", "copies"),
    [
        ("RCPT", "550 no such user", "answered_550", "given_up", 0),
        ("RCPT", "451 greylisted", "answered_451", "later", 1),
        ("TAKEN", "554 spam", "answered_554", "given_up", 0),
        ("TAKEN", "452 full", "answered_452", "later", 1),
        ("TAKEN", "HANG UP", "connection_error", "later", 2),
        ("MAIL", "550 not you", "answered_550", "later", 1),
        ("GREETING", "421 busy", "answered_421", "later", 1),
        ("GREETING", "HANG UP", "connection_error", "later", 1),
        ("QUIT", "HANG UP", None, "sent", 1),
    ],
)
async def test_an_answer_decides(
    mail_worker: MailWorker, dora: Actor, verb: str, answer: str, error: str | None, end: str, copies: int
) -> None:
    mail_worker.postbox.responses[verb] = answer
    await mail_worker.send()
    [mail] = await mail_worker.state()
    assert (mail["attempts"], mail["error"]) == (1, error)
    assert [name for name in ("sent", "given_up", "later") if mail[name]] == [end]
    mail_worker.postbox.responses.clear()
    await mail_worker.turn_the_clock()
    assert len(await mail_worker.mail_to(dora)) == copies


async def test_a_relay_that_is_down_or_hangs_keeps_nobody(
    mail_worker: MailWorker, dora: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    mail_worker.postbox.responses["EHLO"] = "HANG"
    with monkeypatch.context() as shortly:
        shortly.setattr(smtp, "MAIL_DEADLINE_S", 0.2)
        await mail_worker.send()
    assert [mail["error"] for mail in await mail_worker.state()] == ["timeout"]
    down = msgspec.structs.replace(mail_worker.services.settings, smtp=parse_relay(f"smtp://127.0.0.1:{free_port()}"))
    await mail_worker.turn_the_clock()
    await jobs.send_due(msgspec.structs.replace(mail_worker.services, settings=down))
    assert [(mail["error"], mail["attempts"]) for mail in await mail_worker.state()] == [("connection_error", 2)]
    mail_worker.postbox.responses.clear()
    await mail_worker.turn_the_clock()
    assert len(await mail_worker.mail_to(dora)) == 1


@pytest.mark.long
async def test_emails_that_no_relay_takes_are_overdue_and_one_that_a_server_defers_is_not(mail_worker: MailWorker) -> None:
    """Each failed attempt schedules the next one: how long that one is due says nothing about the first."""

    async def overdue_s() -> float:
        found = {
            metric.name: metric.samples[0].value for metric in await read_metrics(mail_worker.services.db) if metric.samples
        }
        return found["tollhouse_email_overdue_seconds"]

    async with sign_up(mail_worker.service, "dora", "Dora's Deli"), sign_up(mail_worker.service, "dan", "Dan's Deli"):
        await mail_worker.sql("UPDATE mails SET created_at = created_at - interval '20 min'")
        mail_worker.postbox.responses["RCPT"] = "451 later"
        await mail_worker.send()
        assert [mail["later"] for mail in await mail_worker.state()] == [True, True]
        assert await overdue_s() > 1_100
        mail_worker.postbox.responses.clear()
    async with sign_up(mail_worker.service, "dirk", "Dirk's Deli"):
        await mail_worker.send()
        assert [mail["sent"] for mail in await mail_worker.state()] == [False, False, True]
        assert await overdue_s() == 0
    await mail_worker.turn_the_clock()
    await mail_worker.send()
    assert await overdue_s() == 0


@pytest.mark.usefixtures("dora")
async def test_it_is_given_up_after_the_last_attempt_or_when_it_is_of_no_use_any_more(mail_worker: MailWorker) -> None:
    mail_worker.postbox.responses["RCPT"] = "451 later"
    await mail_worker.sql("UPDATE mails SET attempts = 9")
    await mail_worker.send()
    assert [(mail["attempts"], mail["given_up"]) for mail in await mail_worker.state()] == [(10, True)]
    async with sign_up(mail_worker.service, "late", "Late"):
        await mail_worker.sql(
            "UPDATE mails SET created_at = created_at - interval '3 days', useful_until = now() - interval '1 ms'"
        )
        await mail_worker.turn_the_clock()
        await mail_worker.send()
    assert (await mail_worker.state())[-1] | {"error": "too_late", "given_up": True} == (await mail_worker.state())[-1]


async def test_who_dies_between_sending_and_writing_it_down_sends_it_again(mail_worker: MailWorker, dora: Actor) -> None:
    """At least once: the second mail has the id of the first one."""
    mail_worker.postbox.responses["TAKEN"] = "HANG"
    sending = asyncio.create_task(mail_worker.send())
    await mail_worker.postbox.came.wait()
    sending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await sending
    mail_worker.postbox.responses.clear()
    assert len(await mail_worker.mail_to(dora)) == 1, "somebody else has it for a while"
    await mail_worker.turn_the_clock()
    first, second = await mail_worker.mail_to(dora)
    assert first.message["Message-ID"] == second.message["Message-ID"]
    assert [mail["sent"] for mail in await mail_worker.state()] == [True]


async def test_two_workers_send_it_once(mail_worker: MailWorker, dora: Actor) -> None:
    await asyncio.gather(*(mail_worker.send() for _ in range(4)))
    assert len(mail_worker.postbox.to(dora.email)) == 1


async def test_what_is_no_address_is_given_up_and_holds_up_nobody(mail_worker: MailWorker, dora: Actor) -> None:
    await mail_worker.sql("UPDATE mails SET recipient = 'a,b@example.com' WHERE recipient = $1", dora.email)
    async with sign_up(mail_worker.service, "gil", "Gil") as gil:
        assert len(await mail_worker.mail_to(gil)) == 1
    assert (await mail_worker.state())[0]["error"] == "no_address"


async def test_mails_are_forgotten_after_two_weeks_but_not_those_that_wait(mail_worker: MailWorker, dora: Actor) -> None:
    await mail_worker.sql("UPDATE mails SET created_at = created_at - interval '14 days'")
    await jobs.delete_emails(mail_worker.services)
    assert len(await mail_worker.state()) == 1
    await mail_worker.mail_to(dora)
    await jobs.delete_emails(mail_worker.services)
    assert await mail_worker.state() == []


async def test_a_password_goes_over_tls_alone(
    mail_worker: MailWorker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    tls, ca_file = self_signed(tmp_path, "127.0.0.1")
    monkeypatch.setenv("SSL_CERT_FILE", str(ca_file))
    monkeypatch.setattr(smtp, "THIS_MACHINE", frozenset[str]())
    email = Email("factor_on", "hal@example.com", "en")
    await mail_worker.services.db.transact(lambda tx: store.enqueue(tx, email, clock.now()))
    [row] = await mail_worker.sql("SELECT id FROM mails")
    mail = await store.get(mail_worker.services.db, row["id"])
    assert mail is not None
    message = rendering.mime_message(mail_worker.services, mail)
    async with Postbox(free_port(), tls) as guarded, Postbox(free_port()) as open_to_all:
        await send_mail(parse_relay(f"smtp://hal:p%40ss@127.0.0.1:{guarded.port}"), message)
        assert [(mail.over_tls, mail.login) for mail in guarded.received] == [(True, "\0hal\0p@ss")]
        with pytest.raises(MailDeferredError, match="not_supported"):
            await send_mail(parse_relay(f"smtp://hal:p%40ss@127.0.0.1:{open_to_all.port}"), message)
        monkeypatch.delenv("SSL_CERT_FILE")
        with pytest.raises(MailDeferredError, match=r"tls_error|connection_error"):
            await send_mail(parse_relay(f"smtp://127.0.0.1:{guarded.port}"), message)
        assert open_to_all.received == []


async def test_the_table_holds_no_mail_that_cannot_be(mail_worker: MailWorker) -> None:
    await mail_worker.services.db.transact(
        lambda tx: store.enqueue(tx, Email("factor_on", "hal@example.com", "en"), clock.now())
    )
    for change in ("sent_at = now()", "next_attempt_at = NULL", "used_at = now(), about = 'new_device'", "about = 'news'"):
        with pytest.raises((asyncpg.CheckViolationError, asyncpg.ForeignKeyViolationError)):
            await mail_worker.sql(f"UPDATE mails SET {change}")  # noqa: S608 - a constant above
