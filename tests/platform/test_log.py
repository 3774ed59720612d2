"""Whatever becomes of standard error, requests are answered: nothing waits for the log, and nothing fails by it."""

import ast
import asyncio
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import aiohttp
import msgspec
import pytest

from tests.cast import sign_up
from tests.running import KEY, Service, settings_for
from tests.sources import OF_THE_SOURCE, PACKAGE, modules_below, nodes_of
from tollhouse.platform.log.events import ALLOWED
from tollhouse.platform.log.sink import LINES_MAX, LogSink, SinkStream

LEVELS = {"debug", "info", "warning", "error", "exception"}
BROKEN = ["full disk", "closed pipe", "stopped reader"]
ENDS_WITHIN_S = 20


@OF_THE_SOURCE
def test_no_line_has_a_field_that_is_redacted() -> None:
    fields = [
        (f"{path.relative_to(PACKAGE)}:{call.lineno}", field.arg)
        for path in modules_below(PACKAGE)
        for call in nodes_of(path)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in LEVELS
        if isinstance(call.func.value, ast.Name) and call.func.value.id == "log"
        for field in call.keywords
    ]
    assert len(fields) > 50
    assert [place for place, name in fields if name not in ALLOWED | {"exc_info"}] == []


@contextmanager
def broken_descriptor(how: str) -> Iterator[int]:
    """A descriptor that takes no line."""
    if how == "full disk":
        opened = [os.open("/dev/full", os.O_WRONLY)]
    else:
        reads, writes = os.pipe()
        opened = [writes, reads]
        if how == "closed pipe":
            os.close(opened.pop())
        else:
            fill(writes)
    try:
        yield opened[0]
    finally:
        for one in opened:
            os.close(one)


def fill(pipe: int) -> None:
    """Write until nothing more fits in."""
    os.set_blocking(pipe, False)
    for piece in (b"x" * 4096, b"x"):
        try:
            while True:
                os.write(pipe, piece)
        except BlockingIOError:
            pass
    os.set_blocking(pipe, True)


@pytest.fixture
def service_alone(make_service: Callable[..., Service]) -> Service:
    """A database that no other test changes: a web process refuses keys and a schema that are not its own."""
    return make_service(fresh=True)


@pytest.mark.long
@pytest.mark.parametrize("how", BROKEN)
async def test_requests_are_answered_without_a_log(service_alone: Service, how: str) -> None:
    service = service_alone
    settings = settings_for(service.dsn)
    environment = {
        "DATABASE_URL": service.dsn,
        "TOLLHOUSE_SECRET_KEYS": KEY,
        "TOLLHOUSE_BASE_URL": settings.base_url,
        "TOLLHOUSE_DATA_DIR": str(settings.data_dir),
    }
    words = ["web", "--port", settings.base_url.rpartition(":")[2]]
    with broken_descriptor(how) as descriptor:
        web = subprocess.Popen(
            [sys.executable, "-m", "tollhouse", *words],
            env=os.environ | environment,
            stdin=subprocess.DEVNULL,
            stderr=descriptor,
        )
        try:
            await responses(settings.base_url, web)
            async with sign_up(Service(settings), "alice", "Alice's Coffee") as alice:
                for number in range(6):
                    body = {"display_name": f"Coffee {number}", "amount": "4.20", "currency": "EUR"}
                    (await alice.post("/payment-links", body)).ok(201)
                ready = (await alice.anonymously("GET", "/readyz")).ok().body
            assert (ready["log_lines_lost"] > 0) == (how != "stopped reader")
        finally:
            web.terminate()
            assert await asyncio.to_thread(web.wait, ENDS_WITHIN_S) in {0, -15}


async def responses(url: str, web: "subprocess.Popen[bytes]") -> None:
    """Wait until it does."""
    async with asyncio.timeout(60), aiohttp.ClientSession() as http:
        while web.poll() is None:
            try:
                async with http.get(f"{url}/healthz") as answer:
                    assert answer.status == 200
                    return
            except aiohttp.ClientConnectionError:
                await asyncio.sleep(0.05)
    raise AssertionError(f"it ended: {web.returncode}")


@pytest.mark.long
@pytest.mark.parametrize("how", BROKEN)
def test_a_command_does_its_work_when_nobody_hears_it_talk(service: Service, how: str) -> None:
    environment = {"DATABASE_URL": service.dsn, "TOLLHOUSE_SECRET_KEYS": KEY}
    with broken_descriptor(how) as descriptor:
        done = subprocess.run(
            [sys.executable, "-m", "tollhouse", "operator", "merchants", "list"],
            env=os.environ | environment,
            stderr=descriptor,
            stdout=subprocess.PIPE,
            timeout=60,
            check=False,
        )
    assert done.returncode == 0


@pytest.fixture
def piped() -> Iterator[tuple[LogSink, int, int]]:
    """A log that writes into a pipe; the two ends."""
    reads, writes = os.pipe()
    sink = LogSink(writes, lambda count: b"lost %d\n" % count)
    yield sink, reads, writes
    with Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), writes)
    os.close(reads)
    sink.flush()  # nothing is written once the number of the descriptor may be another file's
    os.close(writes)


def test_lines_are_written_in_their_order(piped: tuple[LogSink, int, int]) -> None:
    sink, reads, _ = piped
    for number in range(100):
        sink.put(b"%d\n" % number)
    sink.flush()
    assert os.read(reads, 65_536).splitlines() == [b"%d" % number for number in range(100)]
    assert sink.lost == 0


def test_what_is_lost_is_counted_and_reported_when_that_is_possible_again(tmp_path: Path) -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    sink = LogSink(full, lambda count: b"lost %d\n" % count)
    sink.put(b"a\n")
    sink.put(b"b\n")
    sink.flush()
    assert sink.lost == 2
    mended = os.open(tmp_path / "log", os.O_WRONLY | os.O_CREAT)
    os.dup2(mended, full)
    sink.put(b"c\n")
    sink.flush()
    assert (tmp_path / "log").read_bytes() == b"lost 2\nc\n"
    assert sink.lost == 2
    os.close(mended)
    os.close(full)


def test_nobody_waits_for_a_reader_that_stopped(piped: tuple[LogSink, int, int]) -> None:
    sink, reads, writes = piped
    fill(writes)
    for number in range(LINES_MAX + 2000):  # the writer may have taken some before the pipe was full
        sink.put(b"%d\n" % number)
    assert 0 < sink.lost <= 2000
    heard = bytearray()
    # In one line, or in two if the writer took the first lines only after some had been lost.
    reader = threading.Thread(
        target=hear, args=(reads, heard, lambda: count_lost(heard) == sink.lost and b"9998\n" in heard)
    )
    reader.start()
    reader.join(ENDS_WITHIN_S)
    assert b"\n9998\n" in heard
    assert count_lost(heard) == sink.lost


def count_lost(heard: bytearray) -> int:
    """The number of lines that were reported as lost."""
    return sum(int(number) for number in re.findall(rb"lost ([0-9]+)\n", heard))


def hear(reads: int, heard: bytearray, enough: Callable[[], bool]) -> None:
    """Read until it is enough."""
    while not enough():
        heard += os.read(reads, 65_536)


def test_standard_error_never_fails(piped: tuple[LogSink, int, int]) -> None:
    sink, reads, _ = piped
    stream = SinkStream(sink, 2)
    print("half a character: \ud800", file=stream, flush=True)
    assert os.read(reads, 1000) == b"half a character: \\ud800\n"


def test_a_line_that_cannot_be_made_raises_nothing() -> None:
    made = subprocess.run(
        [sys.executable, "-c", NO_LINE], capture_output=True, text=True, timeout=60, check=True, env=dict(os.environ)
    )
    lines = [msgspec.json.decode(line) for line in made.stderr.splitlines()]
    reported = {line["event"]: line for line in lines}
    assert set(reported) == {"first", "log_lines_lost", "library_message", "second"}
    assert reported["log_lines_lost"]["count"] == 1
    assert reported["library_message"]["detail"] == "of a library"
    assert set(reported["second"]) == {"event", "level", "timestamp", "port"}


NO_LINE = """
import logging
from tollhouse.platform.log.events import log, set_up
class Unspeakable:
    def __repr__(self):
        raise ZeroDivisionError
set_up()
log.info("first")
log.info("never", detail=Unspeakable())
logging.getLogger("somebody").warning("of %s", "a library")
log.info("second", code=None, port=80)
"""
