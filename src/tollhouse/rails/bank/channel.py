"""Files to and from the bank without hands: a program, such as a client for EBICS or SFTP, or folders that one watches.

The program is called with `fetch FOLDER`, to put new files of the bank into the folder, and with `send FILE`. It succeeds
with exit status 0. A file that may have been sent is sent again: it has the same message id, by which banks recognize it.
"""

import asyncio
import os
import signal
import tempfile
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import IO

from tollhouse.accounts.approvals.model import OperatorContext, OperatorRefusedError
from tollhouse.http.services import Services
from tollhouse.kernel import clock
from tollhouse.kernel.ids import new_id
from tollhouse.platform import private_files
from tollhouse.platform.log.events import log
from tollhouse.rails.bank import channel_store, imports, payouts, payouts_store
from tollhouse.rails.bank.channel_store import Channel, Leased, channel_of
from tollhouse.rails.bank.files.batch import write
from tollhouse.rails.bank.files.transfer import bank_account
from tollhouse.rails.bank.files.xml import DOCUMENT_BYTES_MAX
from tollhouse.rails.bank.model import NOTHING_LEFT
from tollhouse.rails.batches.actions import ensure_may_leave

OPERATOR = "bank channel"
"""Who imports the files of the channel, in the history of operators' actions."""
PROGRAM_WITHIN_S = 120
LEASE = timedelta(seconds=2 * PROGRAM_WITHIN_S)
FETCH_EVERY = timedelta(minutes=15)
RETRY_AFTER_MAX = timedelta(hours=1)
COMPLETE_AFTER_S = 10
"""A file of the inbox is complete if it was not written to for so long."""
ERROR_CHARS_MAX = 300
INHERITED = ("PATH", "HOME", "LANG", "TZ")
"""The program gets no other variable of the environment, which has the keys of the service."""
DONE, FAILED = "done", "failed"


async def send_batches(services: Services) -> None:
    """Send the exported batches that are due. While payouts are paused, they wait."""
    channel = channel_of(services.settings)
    while channel.sends and (leased := await channel_store.lease(services.db, clock.now(), LEASE)) is not None:
        await _send(services, channel, leased)


async def fetch(services: Services) -> None:
    """Fetch files by the program every quarter of an hour, and import what is in the inbox."""
    channel = channel_of(services.settings)
    if channel.inbox is None:
        return
    if channel.program is not None and await channel_store.lease_fetch(services.db, clock.now(), LEASE):
        error = await _run(channel.program, "fetch", channel.inbox)
        if error is not None:
            log.error("bank_channel_failed", part="fetch", detail=error)
        await channel_store.record_fetch(services.db, clock.now(), clock.now() + FETCH_EVERY, error)
    await import_inbox(services, channel.inbox)


async def import_inbox(services: Services, inbox: Path) -> None:
    """Import the complete files of the inbox, and move each to `done` or `failed`.

    A statement that does not continue the last one may come before its predecessor: files that were refused are tried again
    as long as others are imported.
    """
    waiting = await asyncio.to_thread(_complete_files, inbox)
    while waiting:
        refused: list[tuple[Path, str]] = []
        for file in waiting:
            reason = await _import(services, file)
            if reason is None:
                await asyncio.to_thread(_move, file, DONE)
            else:
                refused.append((file, reason))
        if len(refused) == len(waiting):
            for file, reason in refused:
                log.error("bank_file_refused", part="inbox", detail=f"{file.name}: {reason}")
                await asyncio.to_thread(_move, file, FAILED, reason)
            return
        waiting = [file for file, _ in refused]


async def _send(services: Services, channel: Channel, leased: Leased) -> None:
    now = clock.now()
    found = await payouts_store.batch_for_bank(services.db, leased.batch_id)
    if await channel_store.is_at_bank(services.db, found.id):  # sent by hand, or before the database was restored
        await channel_store.record_sent(services.db, found.id, now)
        return
    if not found.transfers:
        await channel_store.record_failure(services.db, leased, NOTHING_LEFT, None)
        return
    try:
        await ensure_may_leave(services.db, payouts.BANK, found.id)
        error = await _hand_over(channel, f"pain.001-{found.id}.xml", write(found))
    except (OperatorRefusedError, OSError) as refused:
        error = str(refused)[:ERROR_CHARS_MAX]
    if error is None:
        await channel_store.record_sent(services.db, found.id, clock.now())
        return
    log.error("bank_channel_failed", part="send", detail=error, attempt=leased.tries)
    await channel_store.record_failure(services.db, leased, error, now + _retry_after(leased.tries))


async def _hand_over(channel: Channel, name: str, raw: bytes) -> str | None:
    """Give the file to the program, or put it into the outbox. Returns why that failed. Raises `OSError`."""
    if channel.program is None:
        if channel.outbox is None:
            raise AssertionError("only a channel that sends is asked to")
        await asyncio.to_thread(private_files.replace, channel.outbox / name, raw)
        return None
    with tempfile.TemporaryDirectory(prefix="tollhouse-") as folder:
        file = Path(folder, name)
        await asyncio.to_thread(private_files.create, file, raw)
        return await _run(channel.program, "send", file)


async def _run(program: Path, verb: str, path: Path) -> str | None:
    """Run the program in a process group of its own, which ends with it if it takes too long.

    Returns why it failed, from its standard error; None if it succeeded.
    """
    environment = {name: os.environ[name] for name in INHERITED if name in os.environ}
    with tempfile.TemporaryFile() as errors:
        try:
            process = await asyncio.create_subprocess_exec(
                program,
                verb,
                path,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=errors,
                env=environment,
                start_new_session=True,
            )
        except OSError as error:
            return f"{program.name} cannot be started: {error.strerror}"
        try:
            async with asyncio.timeout(PROGRAM_WITHIN_S):
                status = await process.wait()
        except TimeoutError:
            return f"{program.name} {verb} did not end within {PROGRAM_WITHIN_S} s"
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
        return None if status == 0 else f"{program.name} {verb} ended with {status}. {_last_line(errors)}".strip()


def _last_line(errors: IO[bytes]) -> str:
    errors.seek(0, os.SEEK_END)
    errors.seek(max(0, errors.tell() - 4096))
    lines = errors.read().decode(errors="replace").split("\n")
    said = next((line for line in reversed(lines) if line.strip()), "")
    return "".join(char for char in said if char.isprintable())[:ERROR_CHARS_MAX]


async def _import(services: Services, file: Path) -> str | None:
    """Import a file. Returns why it was refused; None if it was imported, or another worker has moved it."""
    try:
        raw = await asyncio.to_thread(_read, file)
    except FileNotFoundError:
        return None
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    context = OperatorContext(OPERATOR, clock.now(), on_command_line=True)
    try:
        await imports.import_file(raw, bank_account(services.settings), context, services)
    except OperatorRefusedError as refused:
        return str(refused.message)
    return None


def _complete_files(inbox: Path) -> list[Path]:
    """The files of the inbox by name, except hidden ones and those that may still be written."""
    until = clock.now().timestamp() - COMPLETE_AFTER_S
    return sorted(
        file
        for file in inbox.iterdir()
        if not file.name.startswith(".") and not file.is_symlink() and file.is_file() and file.stat().st_mtime <= until
    )


def _read(file: Path) -> bytes:
    """The file, up to one byte over the size limit."""
    with file.open("rb") as opened:
        return opened.read(DOCUMENT_BYTES_MAX + 1)


def _move(file: Path, folder: str, reason: str | None = None) -> None:
    """Move a file of the inbox; the reason is a text file beside it. Nothing happens if it was moved before.

    Banks use names again: a file of the same name stays, and the new one gets an ID in its name.
    """
    target = file.parent / folder / file.name
    target.parent.mkdir(mode=0o700, exist_ok=True)
    if target.exists() or _beside(target).exists():
        target = target.with_name(f"{file.stem}-{new_id()}{file.suffix}")
    try:
        file.replace(target)
    except FileNotFoundError:
        return
    if reason is not None:
        private_files.replace(_beside(target), f"{reason}\n".encode())


def _beside(file: Path) -> Path:
    """The text file with the reason why this one was refused."""
    return file.with_name(f"{file.name}.txt")


def _retry_after(tries: int) -> timedelta:
    """A minute, then twice as long each time, up to an hour."""
    return min(timedelta(minutes=2 ** min(tries - 1, 10)), RETRY_AFTER_MAX)
