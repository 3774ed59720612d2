"""Databases of released versions, with rows in every table, are upgraded: nothing that the API said of them changes."""

import asyncio
import gzip
import html
import re
from collections import deque
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import aiohttp
import asyncpg
import msgspec
import pytest

from tests.cast import PASSWORD, Actor, Application
from tests.invariants import ours as without_tests
from tests.journeys.with_bank.every_page import page_routes
from tests.pages.console.operator_pages import signed_in_operator
from tests.payments.bank import refund, sell
from tests.rails.bank import camt
from tests.rails.bank.camt import Line
from tests.rails.bank.steps import Bank, earned, euros, withdrawn
from tests.rails.bank.test_payouts import left, withdrawal
from tests.running import Service, as_application, new_database, settings_for
from tests.upgrades.api_lists import differences, read_lists
from tests.upgrades.two_roles import privileges_kept
from tollhouse.instance.checks.run import Scope, check
from tollhouse.instance.database import embedded
from tollhouse.platform.database.migrations import apply, migrate, ours
from tollhouse.transfers.gate.pauses_store import TAKE_IDENTITY

pytestmark = pytest.mark.long

HERE = Path(__file__).parent
RELEASES = {"0.3.0": 120}
"""The last migration of a release. `schema_migrations` has the digests that it recorded."""
PARTITIONS = "SELECT partitions_make($1)"
EMPTY = {
    "currency_scales",
    "failed_attempts",
    "sandbox_plans",
    "test_clocks",
    "webhook_deliveries",
    "withdrawal_quotes",
    "check_state",
    "secret_keys",
    "ledger_transaction_applications",
    "bank_import_entries",
    "bank_import_pieces",
    "bank_import_statements",
}
"""Tables without rows that outlive a restart, or that only an unfinished import has."""
TABLES = """
    SELECT relname FROM pg_class
    WHERE relkind IN ('r', 'p') AND NOT relispartition AND relnamespace = 'public'::regnamespace ORDER BY relname
"""
HREF = re.compile(r'href="(/[^"#]*)')


class Upgraded(msgspec.Struct):
    """A database of a release after the upgrade, a service on it, and what the release said."""

    service: Service
    recorded: dict[str, Any]


@pytest.fixture(scope="module", params=RELEASES)
def upgraded(request: pytest.FixtureRequest, server: embedded.Server) -> Iterator[Upgraded]:
    """The database of a release, upgraded."""
    version = request.param
    recorded = msgspec.json.decode(gzip.decompress((HERE / f"{version}.json.gz").read_bytes()))
    dsn = asyncio.run(upgraded_database(server.cluster.dsn, version, recorded))
    with Service(settings_for(dsn, fresh=False, **camt.ACCOUNT), worker=False) as service:
        yield Upgraded(service, recorded)


async def upgraded_database(dsn: str, version: str, recorded: dict[str, Any]) -> str:
    """Make the database of a release, and migrate it."""
    dsn = await new_database(dsn)
    await apply(dsn, [migration for migration in ours() if migration.number <= RELEASES[version]])
    raw = await asyncpg.connect(dsn)
    try:
        await raw.execute("SET session_replication_role = replica")  # rows come as they are, without triggers
        await raw.fetch(PARTITIONS, datetime.fromisoformat(recorded["recorded_at"]))
        tables = [row["relname"] for row in await raw.fetch(TABLES)]
        await raw.execute(f"TRUNCATE {', '.join(tables)}")
        await raw.execute(gzip.decompress((HERE / f"{version}.sql.gz").read_bytes()).decode())
        await raw.execute("SET search_path = public")
        empty = [name for name in tables if not await raw.fetch(f"SELECT FROM {name} LIMIT 1")]
        assert set(empty) <= EMPTY
        await raw.execute(TAKE_IDENTITY)  # it is upgraded where it was, and not a copy
        await raw.execute("RESET session_replication_role")
        async with privileges_kept(raw, dsn):
            done = await migrate(as_application(dsn), dsn)
        assert done == [migration.name for migration in ours() if migration.number > RELEASES[version]]
    finally:
        await raw.close()
    return dsn


@pytest.fixture
async def bank(upgraded: Upgraded) -> AsyncIterator[Bank]:
    """The bank, and the operator who goes between it and the service."""
    services = upgraded.service.create_services(connections=4)
    yield Bank(services)
    await services.db.close()


async def test_the_books_are_intact(upgraded: Upgraded) -> None:
    report = await check(upgraded.service.dsn, Scope(full=True))
    assert report is not None
    assert without_tests(report.broken) == []


async def test_the_api_says_what_it_said(upgraded: Upgraded) -> None:
    found: list[str] = []
    async with aiohttp.ClientSession() as http:
        for merchant in upgraded.recorded["merchants"]:
            for mode, key in merchant["keys"].items():
                now = await read_lists(http, upgraded.service.url, key, merchant["said"][mode])
                found += differences(merchant["said"][mode], now, f"{merchant['email']} {mode} ")
    assert not found, "\n".join(found[:200])


async def test_every_page_that_links_lead_to_is_there(upgraded: Upgraded) -> None:
    richest = max(upgraded.recorded["merchants"], key=lambda merchant: len(msgspec.json.encode(merchant["said"])))
    async with signed_in(upgraded.service, richest) as actor, signed_in_operator(upgraded.service) as operator:
        assert await failures(actor, "/test/home") == []
        assert await failures(operator, "/operator") == []


async def test_what_was_begun_goes_on(upgraded: Upgraded, bank: Bank) -> None:
    """New payments, refunds and withdrawals on old balances; statements continue; tokens are refreshed."""
    known = upgraded.recorded["application"]
    live = next(merchant for merchant in upgraded.recorded["merchants"] if "ledger" in merchant["said"]["live"])
    async with signed_in(upgraded.service, live) as alice:
        app = Application(alice, known["client_id"], known["client_secret"])
        tokens = (await app.refresh(known["refresh_token"])).ok().body
        (await app.api(tokens["access_token"], "GET", "/account")).ok()
        (await refund(alice, await sell(alice), "4.00")).ok(201)
        shown = {row["end_to_end_id"] for row in await upgraded.service.sql("SELECT end_to_end_id FROM bank_entry_parts")}
        listed = (await bank.payouts()).values()
        waiting = [row for row in listed if row.status == "prepared" and row.id.hex not in shown]
        before = await euros(alice)
        await earned(alice, bank, "10.00")
        payout = await withdrawn(alice, bank, "4.00")
        await bank.export(payout, *(str(transfer.id) for transfer in waiting))
        gone = [left(str(transfer.id), minor(transfer.amount)) for transfer in waiting]
        await bank.shows(Line(30, "DBIT", words="Fee"), left(payout), *gone)
        available, _, debt = await euros(alice)
        assert available - debt == before[0] - before[2] + 600
        assert (await withdrawal(alice, payout))["status"] == "completed"
    report = await check(upgraded.service.dsn, Scope(full=True))
    assert report is not None
    assert without_tests(report.broken) == []


@asynccontextmanager
async def signed_in(service: Service, merchant: dict[str, Any]) -> AsyncIterator[Actor]:
    """Somebody of a recorded merchant, with the password and the API keys of then."""
    keys = {f"{mode} None": key for mode, key in merchant["keys"].items()}
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as browser:
        actor = Actor(service, browser, merchant["email"], "", keys)
        body = {"email": merchant["email"], "password": PASSWORD}
        actor.merchant_id = (await actor.dashboard("POST", "/login", body)).ok().body["merchant"]["merchant_id"]
        yield actor


async def failures(actor: Actor, *starts: str) -> list[str]:
    """The pages that fail, of one page of each route that links lead to."""
    routes, waiting, seen, failed = page_routes(), deque(starts), set[str](), list[str]()
    while waiting:
        path = waiting.popleft()
        route = next((name for name, pattern in routes.items() if pattern.fullmatch(path.partition("?")[0])), None)
        if route is None or route in seen:
            continue
        seen.add(route)
        answer = await actor.send("GET", path)
        if answer.status >= 400:
            failed.append(f"{path} answers {answer.status}")
        elif answer.status >= 300:
            waiting.append(answer.location.removeprefix(actor.service.url))
        else:
            waiting.extend(html.unescape(match) for match in HREF.findall(answer.text))
    return failed


def minor(amount: str) -> int:
    """Cents."""
    return round(float(amount) * 100)
