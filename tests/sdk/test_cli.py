"""The command line for integrators, against the real service: credentials, requests, events that are made to happen."""

import asyncio
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from aiohttp import web

from tests.cast import Actor, application, consent
from tests.sdk.proxy import Proxy, error_response
from tollhouse_cli.config import CLIENT_ID
from tollhouse_cli.login import SCOPES
from tollhouse_cli.main import EVENTS, PAGES, main, parser

USER_CODE = re.compile("[A-Z]{4}-[A-Z]{4}")
Run = Callable[..., Awaitable[tuple[int, str, str]]]


@pytest.fixture
def run(alice: Actor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command with a folder of its own; the result is its status and what it printed."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    for name in ("TOLLHOUSE_API_KEY", "TOLLHOUSE_URL", "TOLLHOUSE_CLI_CONFIG"):
        monkeypatch.delenv(name, raising=False)

    async def command(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        status = await asyncio.to_thread(main, [f"--url={alice.service.url}", *arguments])
        said = capsys.readouterr()
        return status, _without_log(said.out), said.err

    return command


def _without_log(printed: str) -> str:
    """What the command printed: the service is in this process, too, and logs with colors."""
    return "".join(line for line in printed.splitlines(keepends=True) if "\x1b[" not in line)


@pytest.fixture
async def logged_in(run: Run, alice: Actor) -> Run:
    """The same after a login with a test key."""
    status, said, error = await run("login", "--key", await alice.key())
    assert (status, "test environment" in said) == (0, True), error
    return run


async def test_a_login_is_kept_for_its_owner_alone(logged_in: Run, alice: Actor, tmp_path: Path) -> None:
    folder = tmp_path / "tollhouse-cli"
    assert (folder / "config.json").stat().st_mode & 0o777 == 0o600
    assert folder.stat().st_mode & 0o777 == 0o700
    assert json.loads((folder / "config.json").read_text())["url"] == alice.service.url
    assert "Alice's Coffee" in (await logged_in("account"))[1]
    assert (await logged_in("logout"))[0] == 0
    status, _, error = await logged_in("account")
    assert (status, "tollhouse-cli login" in error) == (1, True)


async def test_live_is_what_was_said_so(logged_in: Run, alice: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "--live login" in (await logged_in("--live", "account"))[2]
    assert "begins with th_test_" in (await logged_in("login", "--key", await alice.key("live")))[2]
    assert (await logged_in("--live", "login", "--key", await alice.key("live")))[0] == 0
    assert '"mode":"live"' in (await logged_in("--live", "--json", "account"))[1]
    assert '"mode":"test"' in (await logged_in("--json", "account"))[1]
    assert "test environment only" in (await logged_in("--live", "trigger", "payment.succeeded"))[2]
    monkeypatch.setenv("TOLLHOUSE_API_KEY", await alice.key("live"))
    assert "no API key of the test environment" in (await logged_in("account"))[2]


async def test_a_key_that_is_not_accepted_is_not_stored(run: Run, tmp_path: Path) -> None:
    status, _, error = await run("login", "--key", "th_test_wrong")
    assert (status, "invalid_api_key" in error) == (1, True)
    assert not (tmp_path / "tollhouse-cli" / "config.json").exists()


async def test_a_code_that_a_person_confirms_logs_in(
    run: Run, alice: Actor, bob: Actor, proxy: Proxy, tmp_path: Path
) -> None:
    app = await application(bob, "public")
    tokens = await app.connect(alice, "account:read offline_access")
    code = {"device_code": "d", "user_code": "BCDF-GHJK", "verification_uri": "http://here/device", "expires_in": 600}
    proxy.plan.extend(
        [
            web.json_response({**code, "interval": 0}),
            error_response(400, "authorization_pending"),
            web.json_response(tokens),
            error_response(503, "temporarily_unavailable"),
        ]
    )
    status, _, said = await run(f"--url={proxy.url}", "login")
    assert (status, "BCDF-GHJK" in said) == (0, True), said
    assert b"offline_access" in proxy.passed[0].body
    kept = tmp_path / "tollhouse-cli" / "tokens-test.json"
    assert kept.stat().st_mode & 0o777 == 0o600
    assert "Alice's Coffee" in (await run("account"))[1]
    proxy.plan.clear()
    proxy.plan.append(web.json_response({}))
    assert (await run(f"--url={proxy.url}", "logout"))[0] == 0
    assert not kept.exists()


@pytest.mark.long
async def test_a_login_is_confirmed_at_the_service(run: Run, alice: Actor, capsys: pytest.CaptureFixture[str]) -> None:
    command = asyncio.ensure_future(run("login"))
    printed = ""
    async with asyncio.timeout(30):
        while (shown := USER_CODE.search(printed)) is None:
            await asyncio.sleep(0.02)
            printed += capsys.readouterr().err
    consent_page = (await alice.form("/device", {"user_code": shown[0]})).ok(303).location
    (await consent(alice, consent_page, [*SCOPES, "offline_access"])).ok(303)
    status, _, error = await command
    assert status == 0, error
    account = json.loads((await run("--json", "account"))[1])
    assert (account["business_name"], account["mode"], account["oauth_client_id"]) == (
        "Alice's Coffee", "test", CLIENT_ID,
    )  # fmt: skip
    assert sorted(account["scopes"]) == sorted([*SCOPES, "offline_access"])
    assert (await run("logout"))[0] == 0
    grants = (await alice.dashboard("GET", "/oauth/grants")).ok().body["grants"]
    assert [grant["status"] for grant in grants if grant["client_id"] == CLIENT_ID] == ["revoked"]


async def test_live_writes_by_code_wait_for_an_operator(run: Run) -> None:
    status, _, error = await run("--live", "login", "--scope", "payments:write")
    assert (status, "until an operator allows it" in error) == (1, True), error


async def test_any_path_can_be_called(logged_in: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    members = ["-d", "display_name=Coffee", "-d", "amount=4.20", "-d", "currency=EUR"]
    status, said, error = await logged_in("post", "/payment-links", *members, "--idempotency-key", "order-1")
    link = json.loads(said)
    assert (status, link["amount_minor"]) == (0, 420), error
    again = await logged_in("post", "payment-links", "--body", json.dumps({"display_name": "Coffee"}), *members[2:])
    assert json.loads(again[1])["id"] != link["id"]
    listed = await logged_in("--json", "get", "/api/v2/integration/payment-links", "-q", "limit=1", "-q", "status=active")
    assert (listed[1].count("\n"), len(json.loads(listed[1])["payment_links"])) == (1, 1)
    assert (await logged_in("get", "/reports/financial-summary", "-q", "format=csv"))[1].startswith("from,to")
    assert "not NAME=VALUE" in (await logged_in("get", "/currencies", "-q", "limit"))[2]
    assert "not_found" in (await logged_in("get", "/nothing"))[2]
    recipient = json.loads((await logged_in("post", "/withdrawal-recipients", *_recipient()))[1])
    assert json.loads((await logged_in("delete", f"/withdrawal-recipients/{recipient['id']}"))[1])["id"] == recipient["id"]
    monkeypatch.setattr("sys.stdin", io.StringIO('{"saved_recipients_only": false}'))
    assert "saved_recipients_only" in (await logged_in("put", "/settings/withdrawals", "--body", "-"))[1]


def _recipient() -> list[str]:
    return ["-d", "name=Nina", "-d", "method_id=sandbox:EUR", "-d", "receiver=Nina Nowak"]


async def test_a_link_is_created_and_pages_have_addresses(logged_in: Run, alice: Actor) -> None:
    status, said, _ = await logged_in("links", "create", "--amount", "4.20", "--webhook-url", "http://127.0.0.1:9999/hook")
    assert (status, said.startswith(f"{alice.service.url}/pay/")) == (0, True)
    for page in PAGES:
        address = (await logged_in("open", page, "--print"))[1].strip()
        assert (await alice.send("GET", address)).status in {200, 303}, address


@pytest.mark.parametrize("event", EVENTS)
async def test_an_event_is_made_to_happen(event: str, logged_in: Run, alice: Actor) -> None:
    status, said, error = await logged_in("trigger", event)
    assert (status, said.startswith(event)) == (0, True), error
    for _ in range(200):
        found = (await alice.get(f"/webhook-events?type={event}")).ok().body["webhook_events"]
        if found:
            return
        await asyncio.sleep(0.05)
    raise AssertionError(f"{event} did not happen")


async def test_deliveries_are_shown_and_an_event_is_sent_again(logged_in: Run, alice: Actor) -> None:
    (await alice.post("/webhook/rotate-secret")).ok()
    event = (await alice.post("/webhook/test", {"url": "http://127.0.0.1:9999/hook"})).ok(202).body
    assert event["id"] in (await logged_in("logs", "deliveries", "--once"))[1]
    async with asyncio.timeout(30):
        while "/webhook/test 202" not in (printed := (await logged_in("logs", "tail", "--once"))[1]):
            await asyncio.sleep(0.02)
    assert "/request-log" not in printed
    status, said, _ = await logged_in("events", "resend", event["id"])
    assert (status, "delivered again" in said) == (0, True)


def test_every_command_and_option_is_completed(capsys: pytest.CaptureFixture[str]) -> None:
    for shell in ("bash", "zsh", "fish"):
        assert main(["completion", shell]) == 0
        said = capsys.readouterr().out
        assert "payment.chargeback" in said
        assert "resend" in said
    assert main(["completion", "bash"]) == 0
    script = (
        capsys.readouterr().out
        + 'COMP_WORDS=(tollhouse-cli events re); COMP_CWORD=2; _tollhouse_cli x re x; echo "$COMPREPLY"'
    )
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "resend\n"
    assert parser().prog == "tollhouse-cli"


def test_help_imports_nothing_that_takes_long() -> None:
    """So that it starts at once: neither the SDK nor an HTTP client is there when the options are read."""
    script = "import sys, tollhouse_cli.main as m; m.parser(); print(sorted(sys.modules))"
    environment = {**os.environ, "PYTHONPATH": ""}
    run = [sys.executable, "-c", script]
    loaded = subprocess.run(run, capture_output=True, text=True, check=True, env=environment).stdout
    assert not {name for name in ("httpx2", "asyncio", "tollhouse_sdk", "typing_extensions", "ssl") if f"'{name}'" in loaded}
