"""The channel to the bank: files of the inbox are imported once, and exported batches are sent until the bank has them."""

import asyncio
import os
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import msgspec
import pytest

from tests.cast import Actor
from tests.pages.console.operator_pages import signed_in_operator
from tests.rails.bank.camt import Line
from tests.rails.bank.steps import Bank, earned, euros, offer, payment, withdrawn
from tests.running import Service
from tollhouse.accounts.approvals.model import OperatorRefusedError
from tollhouse.http.services import Services
from tollhouse.instance.doctor import store as doctor_store
from tollhouse.kernel import clock
from tollhouse.kernel.ids import new_id
from tollhouse.platform.database.pool import Tx
from tollhouse.platform.settings import config
from tollhouse.rails.bank import channel, channel_store
from tollhouse.rails.bank.files.batch import write
from tollhouse.transfers.gate import pauses_store
from tollhouse.transfers.gate.model import Pause

PROGRAM = """#!/bin/sh
echo "$1 $2" >> {folder}/calls
env | cut -d= -f1 | sort >> {folder}/environment
[ ! -e {folder}/broken ] || {{ echo "connecting" >&2; echo "the bank does not answer" >&2; exit 3; }}
[ "$1" = send ] && cp "$2" {folder}/sent/ || cp -p {folder}/new/* "$2"/ 2>/dev/null
exit 0
"""


class Undone(Exception):
    """Ends a transaction without its changes."""


@dataclass
class Folders:
    """The bank's side of the channel, and the services of an instance that has one."""

    path: Path
    services: Services

    @property
    def sent(self) -> list[Path]:
        """What the bank has received."""
        return sorted((self.path / "sent").iterdir())

    @property
    def calls(self) -> list[str]:
        """How the program was called."""
        file = self.path / "calls"
        return file.read_text().splitlines() if file.exists() else []

    def put(self, name: str, raw: bytes) -> Path:
        """A complete file in the inbox."""
        return written_before(self.path / "inbox" / name, raw)


def written_before(file: Path, raw: bytes) -> Path:
    """A file that nobody has written to for a minute."""
    file.write_bytes(raw)
    at = (clock.now() - timedelta(minutes=1)).timestamp()
    os.utime(file, (at, at))
    return file


@pytest.fixture
async def folders(service: Service, tmp_path: Path) -> AsyncIterator[Folders]:
    """An instance with a program."""
    for name in ("inbox", "sent", "new"):
        (tmp_path / name).mkdir()
    program = tmp_path / "bank-files"
    program.write_text(PROGRAM.format(folder=tmp_path))
    program.chmod(0o700)
    services = service.create_services(connections=4)
    settings = msgspec.structs.replace(services.settings, bank_inbox=tmp_path / "inbox", bank_program=program)
    await services.db.execute("UPDATE bank_sendings SET next_try_at = NULL, leased_until = NULL")  # of other tests
    await services.db.execute("UPDATE bank_fetches SET next_at = '-infinity', leased_until = NULL")
    try:
        yield Folders(tmp_path, msgspec.structs.replace(services, settings=settings))
    finally:
        await services.close()


@pytest.fixture
async def olga(service: Service) -> AsyncIterator[Actor]:
    """Olga operates the service."""
    async with signed_in_operator(service) as actor:
        yield actor


async def page(olga: Actor, address: str) -> str:
    """The words of a page."""
    return " ".join((await olga.send("GET", address)).ok().text.split())


def is_broken(folders: Folders, *, broken: bool) -> None:
    """The program fails from now on, or succeeds again."""
    file = folders.path / "broken"
    file.touch() if broken else file.unlink()


async def due_again(folders: Folders) -> None:
    """The time for the next try has come."""
    await folders.services.db.execute(
        "UPDATE bank_sendings SET next_try_at = now() - interval '1 s' WHERE next_try_at IS NOT NULL"
    )
    await folders.services.db.execute("UPDATE bank_fetches SET next_at = '-infinity'")


async def sending(folders: Folders, batch_id: UUID) -> channel_store.Sending:
    """How sending a batch went."""
    found = await channel_store.find(folders.services.db, batch_id)
    assert found is not None
    return found


def opening_minor(statement: bytes) -> int:
    """The opening balance of a statement, which is its first amount."""
    return int(re.findall(rb"<Amt[^>]*>([0-9.]+)<", statement)[0].replace(b".", b""))


async def test_statements_of_the_bank_are_fetched_and_imported_whatever_their_order(
    alice: Actor, bank: Bank, folders: Folders
) -> None:
    _, first_id, first = await offer(alice)
    _, second_id, second = await offer(alice)
    early = await bank.statement(Line(1000, structured=first))
    late = await bank.statement(Line(1000, structured=second), opening=opening_minor(early) + 1000)
    written_before(folders.path / "new" / "b-early.xml", early)
    written_before(folders.path / "new" / "a-late.xml", late)
    (folders.path / "inbox" / "c-half.xml").write_bytes(early[:100])  # the bank's program is still writing it
    await channel.fetch(folders.services)
    assert (await payment(alice, first_id))["status"] == (await payment(alice, second_id))["status"] == "succeeded"
    assert [path.name for path in sorted((folders.path / "inbox" / "done").iterdir())] == ["a-late.xml", "b-early.xml"]
    assert (folders.path / "inbox" / "c-half.xml").exists()
    assert folders.calls == [f"fetch {folders.path / 'inbox'}"]
    assert not {"DATABASE_URL", "TOLLHOUSE_SECRET_KEYS"} & set((folders.path / "environment").read_text().split())
    await channel.fetch(folders.services)  # the program is called every quarter of an hour
    assert len(folders.calls) == 1
    assert (await channel_store.fetches(folders.services.db)).error is None
    [row] = await alice.sql("SELECT uploaded_by FROM bank_imports ORDER BY id DESC LIMIT 1")
    assert row["uploaded_by"] == "bank channel"


async def test_a_file_that_is_no_statement_is_put_aside_with_the_reason(folders: Folders) -> None:
    folders.put("strange.xml", b"<html/>")
    await channel.import_inbox(folders.services, folders.path / "inbox")
    failed = folders.path / "inbox" / "failed"
    assert (failed / "strange.xml").read_bytes() == b"<html/>"
    assert "camt.053" in (failed / "strange.xml.txt").read_text()
    assert list((folders.path / "inbox").glob("*.xml")) == []


async def test_a_file_is_put_aside_beside_others_of_its_name(folders: Folders) -> None:
    names = ("strange.xml", "strange.xml", "strange.xml.txt")
    for number, name in enumerate(names):
        folders.put(name, b"<html>%d</html>" % number)
        await channel.import_inbox(folders.services, folders.path / "inbox")
    kept = [path.read_bytes() for path in (folders.path / "inbox" / "failed").iterdir()]
    assert sorted(item for item in kept if item.startswith(b"<html>")) == [
        b"<html>%d</html>" % number for number in range(3)
    ]
    assert len(kept) == 2 * len(names)


async def test_two_workers_import_a_file_once(alice: Actor, bank: Bank, folders: Folders) -> None:
    _, payment_id, reference = await offer(alice)
    folders.put("statement.xml", await bank.statement(Line(1000, structured=reference)))
    inbox = folders.path / "inbox"
    await asyncio.gather(*(channel.import_inbox(folders.services, inbox) for _ in range(2)))
    assert (await payment(alice, payment_id))["amount_received"] == "10.00"
    assert [path.name for path in (inbox / "done").iterdir()] == ["statement.xml"]


async def test_a_program_that_fails_is_shown_with_its_words_and_called_again(folders: Folders) -> None:
    is_broken(folders, broken=True)
    await channel.fetch(folders.services)
    failed = await channel_store.fetches(folders.services.db)
    assert failed.error == "bank-files fetch ended with 3. the bank does not answer"
    await due_again(folders)
    await channel.fetch(folders.services)
    assert (await channel_store.fetches(folders.services.db)).failed_since == failed.failed_since
    is_broken(folders, broken=False)
    await due_again(folders)
    await channel.fetch(folders.services)
    assert (await channel_store.fetches(folders.services.db)).error is None


async def test_a_program_that_takes_too_long_ends_with_its_children(
    folders: Folders, monkeypatch: pytest.MonkeyPatch
) -> None:
    alive = folders.path / "alive"
    os.mkfifo(alive)
    program = folders.path / "bank-files"
    program.write_text(f"#!/bin/sh\n(echo begun; exec sleep 3600) > {alive}\n")
    reading, said = os.open(alive, os.O_RDONLY | os.O_NONBLOCK), b""
    try:
        for seconds in (0.1, 1, 10, 60):  # until the child has begun
            monkeypatch.setattr(channel, "PROGRAM_WITHIN_S", seconds)
            await due_again(folders)
            await channel.fetch(folders.services)
            assert f"did not end within {seconds} s" in ((await channel_store.fetches(folders.services.db)).error or "")
            said = await until_closed(reading)
            if said:
                break
    finally:
        os.close(reading)
    assert said == b"begun\n"


async def until_closed(reading: int) -> bytes:
    """What was written to a named pipe, as soon as nobody can write to it any more."""
    said = b""
    async with asyncio.timeout(60):
        while True:
            try:
                part = os.read(reading, 100)
            except BlockingIOError:
                await asyncio.sleep(0.02)
                continue
            if not part:
                return said
            said += part


async def test_an_exported_batch_is_sent_until_the_bank_has_it(alice: Actor, bank: Bank, folders: Folders) -> None:
    await earned(alice, bank)
    payout_id = await withdrawn(alice, bank)
    batch = await Bank(folders.services).export(payout_id)
    is_broken(folders, broken=True)
    await asyncio.gather(channel.send_batches(folders.services), channel.send_batches(folders.services))
    failed = await sending(folders, batch.id)
    assert (failed.tries, failed.sent_at) == (1, None)
    assert failed.error == "bank-files send ended with 3. the bank does not answer"
    is_broken(folders, broken=False)
    await channel.send_batches(folders.services)
    assert folders.sent == []  # it is tried again after a while
    await due_again(folders)
    await asyncio.gather(channel.send_batches(folders.services), channel.send_batches(folders.services))
    assert [path.read_bytes() for path in folders.sent] == [write(batch)]
    assert (await sending(folders, batch.id)).sent_at is not None
    await due_again(folders)
    await channel.send_batches(folders.services)
    assert len([call for call in folders.calls if call.startswith("send")]) == 2
    await bank.shows(Line(400, "DBIT", end_to_end=UUID(payout_id).hex))
    assert (await euros(alice))[1] == 0


async def test_a_payout_that_is_being_sent_is_not_refused(alice: Actor, bank: Bank, folders: Folders) -> None:
    await earned(alice, bank)
    payout_id, other_id = await withdrawn(alice, bank), await withdrawn(alice, bank)
    batch = await Bank(folders.services).export(payout_id, other_id)
    await bank.refuse(other_id)  # nobody has begun
    leased = await channel_store.lease(folders.services.db, clock.now(), channel.LEASE)
    assert leased is not None
    assert leased.batch_id == batch.id
    with pytest.raises(OperatorRefusedError, match="is being sent"):
        await bank.refuse(payout_id)
    died = "UPDATE bank_sendings SET next_try_at = '-infinity', leased_until = now() WHERE leased_until IS NOT NULL"
    await folders.services.db.execute(died)
    await channel.send_batches(folders.services)
    [sent] = folders.sent
    assert UUID(payout_id).hex.encode() in sent.read_bytes()
    assert UUID(other_id).hex.encode() not in sent.read_bytes()
    await bank.refuse(payout_id)  # the operator knows from the bank


async def test_what_may_not_leave_or_has_left_is_not_sent(alice: Actor, bank: Bank, folders: Folders) -> None:
    await earned(alice, bank, "20.00")
    with_channel = Bank(folders.services)
    refused, by_hand, suspended = [await withdrawn(alice, bank) for _ in range(3)]
    nothing = await with_channel.export(refused)
    await bank.refuse(refused)
    known = await with_channel.export(by_hand)
    await bank.shows(Line(400, "DBIT", end_to_end=UUID(by_hand).hex))
    held = await with_channel.export(suspended)
    await alice.sql("UPDATE merchants SET suspended_at = now() WHERE id = $1::uuid", alice.merchant_id)
    await channel.send_batches(folders.services)
    assert folders.sent == []
    assert (await sending(folders, nothing.id)).next_try_at is None
    assert (await sending(folders, known.id)).sent_at is not None
    assert "suspended" in ((await sending(folders, held.id)).error or "")
    await alice.sql("UPDATE merchants SET suspended_at = NULL WHERE id = $1::uuid", alice.merchant_id)
    await due_again(folders)
    await channel.send_batches(folders.services)
    assert [path.read_bytes() for path in folders.sent] == [write(held)]


async def test_batches_wait_while_payouts_are_paused(alice: Actor, bank: Bank, folders: Folders) -> None:
    await earned(alice, bank)
    batch = await Bank(folders.services).export(await withdrawn(alice, bank))

    async def paused(tx: Tx) -> None:
        await pauses_store.insert(tx, Pause(new_id(), "operator", None, clock.now(), "olga", "A drill"))
        assert await channel_store.lease(tx, clock.now(), channel.LEASE) is None
        raise Undone  # nobody else sees the pause

    with pytest.raises(Undone):
        await folders.services.db.transact(paused)
    assert (await sending(folders, batch.id)).tries == 0


async def test_batches_are_put_into_an_outbox_and_carried_by_hand_without_one(
    alice: Actor, bank: Bank, folders: Folders
) -> None:
    await earned(alice, bank)
    by_hand, payout_id = await withdrawn(alice, bank), await withdrawn(alice, bank)
    batch = await bank.export(by_hand)
    assert await channel_store.find(bank.services.db, batch.id) is None
    settings = msgspec.structs.replace(folders.services.settings, bank_program=None, bank_outbox=folders.path / "sent")
    services = msgspec.structs.replace(folders.services, settings=settings)
    sent = await Bank(services).export(payout_id)
    await channel.send_batches(services)
    assert [(path.name, path.read_bytes()) for path in folders.sent] == [(f"pain.001-{sent.id}.xml", write(sent))]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"TOLLHOUSE_BANK_INBOX": "/nowhere"}, "must be the path of an existing folder"),
        ({"TOLLHOUSE_BANK_PROGRAM": "sh"}, "must be the absolute path of an executable file"),
        ({"TOLLHOUSE_BANK_PROGRAM": "/bin/sh"}, "TOLLHOUSE_BANK_INBOX is required"),
        (
            {"TOLLHOUSE_BANK_PROGRAM": "/bin/sh", "TOLLHOUSE_BANK_OUTBOX": "/", "TOLLHOUSE_BANK_INBOX": "/"},
            "cannot be set together",
        ),
    ],
)
def test_settings_of_the_channel_are_checked(changes: dict[str, str], message: str) -> None:
    with pytest.raises(config.InvalidSettingsError, match=message):
        config.load(changes)


async def test_pages_and_doctor_show_how_sending_and_fetching_go(
    alice: Actor, olga: Actor, bank: Bank, folders: Folders
) -> None:
    await earned(alice, bank)
    payout_id = await withdrawn(alice, bank)
    batch = await Bank(folders.services).export(payout_id)
    address, payout = f"/operator/batches/{batch.id}", f"/operator/payouts/{payout_id}"
    assert "not known" not in await page(olga, payout)
    assert "will be sent to the bank automatically" in await page(olga, address)
    is_broken(folders, broken=True)
    await channel.send_batches(folders.services)
    await channel.fetch(folders.services)
    unknown = "It is not known whether the bank has the file."
    assert f"{unknown} Attempts: 1. Last error: bank-files send ended with 3." in await page(olga, address)
    assert unknown in await page(olga, payout)
    assert "Last error: bank-files fetch ended with 3." in await page(olga, "/operator/statements")
    bank_row = await doctor_store.read_bank(folders.services.db, clock.now() - timedelta(days=3))
    assert (bank_row["unsent"], bank_row["fetch_error"] is None) == (1, False)
    is_broken(folders, broken=False)
    await due_again(folders)
    await channel.send_batches(folders.services)
    await channel.fetch(folders.services)
    assert "The file was sent to the bank." in await page(olga, address)
    assert unknown not in await page(olga, payout)
    assert "Files were last fetched from the bank" in await page(olga, "/operator/statements")
