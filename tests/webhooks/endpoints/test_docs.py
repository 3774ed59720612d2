"""The page for integrators is true: its code verifies its vector, its tables are what the service does."""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from tests.cast import Actor
from tests.receiver import Receiver
from tests.webhooks.endpoints.conftest import Open
from tollhouse.http.dispatch import IdempotencyKeyRequired
from tollhouse.kernel import limits
from tollhouse.platform.settings.config import load
from tollhouse.webhooks.delivery.response_excerpts import BODY_CHARS_MAX
from tollhouse.webhooks.delivery.signed_request import signature, standard_headers
from tollhouse.webhooks.endpoints import api
from tollhouse.webhooks.endpoints import model as labels
from tollhouse.webhooks.events.record import EVENT_TYPES, TEST_EVENT

DOCS = Path(__file__).parents[3] / "docs"
TEXT = "\n".join((DOCS / name).read_text() for name in ("webhooks.md", "webhook-reference.md"))
ROW = re.compile(r"^\| (.+?) \| (.+?) \|$", re.MULTILINE)
CODE = re.compile(r"^```(python|javascript|php|go)\n(.+?)^```$", re.MULTILINE | re.DOTALL)
# How each language is run, and what stands around its function: the body comes by standard input.
PYTHON = """
import sys
SNIPPET
print(is_genuine(sys.argv[1], sys.stdin.buffer.read(), sys.argv[2]))
"""
JAVASCRIPT = """
import { readFileSync } from "node:fs";
SNIPPET
console.log(isGenuine(process.argv[2], readFileSync(0), process.argv[3]));
"""
PHP = """<?php
SNIPPET
var_export(is_genuine($argv[1], file_get_contents('php://stdin'), $argv[2]));
"""
GO = """package main
import ("crypto/hmac"; "crypto/sha256"; "encoding/hex"; "fmt"; "io"; "os")
SNIPPET
func main() { body, _ := io.ReadAll(os.Stdin); fmt.Println(isGenuine(os.Args[1], body, os.Args[2])) }
"""
PROGRAMS = {
    "python": ([sys.executable], "check.py", PYTHON),
    "javascript": (["node"], "check.mjs", JAVASCRIPT),
    "php": (["php"], "check.php", PHP),
    "go": (["go", "run"], "check.go", GO),
}


def section(title: str) -> str:
    """The text below a heading, up to the next one of its kind or above."""
    level = title.partition(" ")[0]
    below = TEXT.partition(f"\n{title}\n")[2]
    assert below, title
    return re.split(rf"\n#{{2,{len(level)}}} ", below, maxsplit=1)[0]


def vector() -> dict[str, str]:
    """The published vector, by what each line is."""
    rows = ROW.findall(section("### Test vector"))[1:]
    return {name.strip("`"): value.strip("`") for name, value in rows}


@pytest.mark.covers("W-20")
def test_the_vector_is_ours() -> None:
    given = vector()
    secret, body = given["Secret"], given["Body, UTF-8, without a line break"].encode()
    assert signature(secret, body) == given["X-Service-Signature"]
    triple = standard_headers([secret], UUID(given["webhook-id"]), int(given["webhook-timestamp"]), body)
    assert triple == {name: given[name] for name in triple}
    arrives = section("## Delivery request")
    for name in ("X-Service-Signature", *triple):
        assert f"{name}: {given[name]}\n" in arrives


@pytest.mark.long
@pytest.mark.covers("W-20")
@pytest.mark.parametrize("language", list(PROGRAMS))
def test_the_code_verifies_the_vector_and_nothing_else(language: str, tmp_path: Path) -> None:
    program, name, frame = PROGRAMS[language]
    if shutil.which(program[0]) is None:
        pytest.skip(f"there is no {language} here")
    snippets: dict[str, str] = dict(CODE.findall(section("## Verify the signature")))
    (tmp_path / name).write_text(frame.replace("SNIPPET", snippets[language]))
    given = vector()
    secret, right = given["Secret"], given["X-Service-Signature"]
    body = given["Body, UTF-8, without a line break"].encode()

    def verdict(sent: bytes, claimed: str, key: str = secret) -> str:
        command = [*program, str(tmp_path / name), key, claimed]
        done = subprocess.run(command, input=sent, capture_output=True, check=True, cwd=tmp_path)
        return done.stdout.decode().strip().lower()

    assert verdict(body, right) == "true"
    for wrong in ((body + b"\n", right), (body, right.upper()), (body, right[:-1]), (body, right + "0"), (body, "é")):
        assert verdict(*wrong) == "false"
    assert verdict(body, right, secret.removeprefix("whsec_")) == "false"


def test_states_and_errors_are_all_described() -> None:
    states, errors = section("## Event statuses"), section("## Attempt errors")
    assert {name.strip("`"): words for name, words in ROW.findall(states)[1:]} == {
        status: str(meaning) for status, meaning in labels.STATUSES.items()
    }
    rows = ROW.findall(errors)[1:]
    assert rows[0] == ("`http_500`, and so on", str(labels.describe_error("http_500")))
    assert {name.strip("`"): words for name, words in rows[1:]} == {name: str(text) for name, text in labels.ERRORS.items()}


async def test_the_reference_lists_the_event_types(alice: Actor) -> None:
    assert "[API reference](/docs/api) lists the event types" in section("## Delivery request")
    events = (await alice.anonymously("GET", "/docs/api.md")).ok().text.partition("## Events\n")[2].partition("\n## ")[0]
    assert re.findall(r"^- \[([^\]]+)\]", events, re.MULTILINE) == [*EVENT_TYPES, TEST_EVENT]


async def test_the_states_are_those_of_the_database(alice: Actor) -> None:
    [found] = await alice.sql(
        "SELECT pg_get_constraintdef(oid) AS rule FROM pg_constraint"
        " WHERE conrelid = 'webhook_events'::regclass AND conname = 'webhook_events_status_check'"
    )
    assert set(re.findall(r"'([a-z]+)'", found["rule"])) == set(labels.STATUSES)


def test_every_error_of_the_operations_has_its_cause() -> None:
    reported = section("## Errors")
    declared = {error for operation in api.INTEGRATION_OPERATIONS for error in operation.errors}
    for error in declared | {IdempotencyKeyRequired}:
        assert re.search(rf"^\| {error.status} \| `{error.code}` \|", reported, re.MULTILINE), error


async def test_every_header_is_described(alice: Actor, receiver: Receiver, harness_of: Open) -> None:
    await (await harness_of(alice)).secret()
    await (await harness_of(alice)).record(receiver.url)
    [got] = await receiver.wait()
    reported = section("## Delivery request")
    ours = [name for name in got.headers if name.lower().startswith(("x-", "webhook-"))]
    assert len(ours) == 9
    for name in ours:
        assert f"`{name}`" in reported
    sample = re.findall(r"^([A-Za-z-]+): (.+)$", reported, re.MULTILINE)
    assert {name: value for name, value in sample if name in {"Content-Type", "User-Agent"}} == {
        name: got.headers[name] for name in ("Content-Type", "User-Agent")
    }


def test_the_limits_are_ours() -> None:
    settings = load({})
    expected: dict[str, Any] = {
        "seconds until the response headers arrive": limits.DELIVERY_DEADLINE_S,
        "bytes read of the response body": f"{limits.DELIVERY_BODY_BYTES_MAX:,}",
        "bytes stored of the response body, for the event's page": f"{BODY_CHARS_MAX:,}",
        "retries in live mode": limits.LIVE_RETRIES_MAX,
        "retries in test mode": 0,
        "hours an event is held without a secret": limits.HELD_S // 3600,
        "minutes to activate a generated secret": limits.PENDING_SECRET_S // 60,
        "characters in a URL": f"{limits.URL_CHARS_MAX:,}",
        "events per page": f"{limits.PAGE_ROWS_DEFAULT}, at most {limits.PAGE_ROWS_MAX}",
        "characters in an `Idempotency-Key`": limits.IDEMPOTENCY_KEY_CHARS_MAX,
        "seconds that a request waits for events": limits.FEED_WAIT_S_MAX,
        "requests of a credential that wait for events, per web process": f"{limits.FEED_READERS_PER_CREDENTIAL_MAX:,}",
        "hours that a replaced secret can sign beside the new one": limits.SECRET_OVERLAP_H_MAX,
        "tests per minute": settings.rate_webhook_test_per_min,
    }
    assert dict(ROW.findall(section("## Limits"))[1:]) == {name: str(value) for name, value in expected.items()}
    spans = [_span(seconds) for seconds in settings.webhook_retry_schedule]
    assert f"after {', '.join(spans)} (each 20 % more or less): {1 + len(spans)} in all" in section("## Retries")


def _span(seconds: float) -> str:
    """`5 min`."""
    unit, length = next((unit, length) for unit, length in (("h", 3600), ("min", 60), ("s", 1)) if seconds >= length)
    return f"{seconds / length:g} {unit}"
