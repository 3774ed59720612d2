"""The page of the audit log: what it shows, filters, turns and keeps from strangers; and the plan it is read by."""

import html
import re
from typing import Any, get_args
from uuid import UUID

import msgspec
import pytest

from tests.accounts.audit_log.reading import PATH, lines
from tests.cast import Actor, application
from tests.forms import post, seen, signed_out
from tests.test_tidy import PACKAGE
from tests.transfers.withdrawals.steps import asked, fund
from tollhouse.accounts.audit import store as log_store
from tollhouse.accounts.audit.event_types import TOPICS, AuditEventType
from tollhouse.accounts.audit.labels import EVENTS
from tollhouse.kernel.ids import new_id

NEXT = re.compile(r'href="([^"]+)" rel="next"')
ACTION = re.compile(r'<div class="what"><b>([^<]+)</b>')
MANY = """
    INSERT INTO audit_lines (merchant_id, id, created_at, mode, deed, author_kind, author, changed)
    SELECT $1::uuid, lpad(to_hex(n), 32, '0')::uuid, now() - make_interval(secs => n * 60),
           CASE n % 3 WHEN 0 THEN 'live' WHEN 1 THEN 'test' END,
           CASE WHEN n % 1000 = 0 THEN 'webhooks.saved' ELSE 'withdrawal.requested' END, 'api_key', 'k' || n % 7,
           '{"amount": [null, "10.00 EUR"]}'
    FROM generate_series(1, $2::int) AS n
"""


async def reported(actor: Actor, query: str = "") -> list[str]:
    """The deeds of the page, newest first."""
    return ACTION.findall(await seen(actor, PATH + query))


async def test_what_was_done_is_reported_and_filtered(alice: Actor, bob: Actor) -> None:
    app = await application(bob)
    await app.connect(alice, "account:read")
    await fund(alice)
    withdrawal = await asked(alice)
    await alice.key("live")
    said = {"business_name": "<b>Tea</b>", "time_zone": "UTC", "seen_zone": "UTC"}
    await post(alice, "/settings/business", 303, seen_name="Alice's Coffee", **said)
    page = await seen(alice, PATH)
    assert ACTION.findall(page) == [
        "Business settings saved",
        "API key created",
        "Withdrawal requested",
        "API key created",
        "Application connected",
        "Account created",
    ]
    assert f'<a href="/test/withdrawals/{withdrawal["id"]}">€10.00</a>' in page
    assert "/test/developers/requests/" in page
    assert "127.0.0.1" in page
    raw = (await alice.send("GET", PATH)).ok().text
    assert "<ins>&lt;b&gt;Tea&lt;/b&gt;</ins>" in raw
    assert "<del>Alice&#39;s Coffee</del>" in raw
    [key] = [line for line in await lines(alice) if line["deed"] == "api_key.made" and line["mode"] == "test"]
    for query, found in {
        "?what=money": ["Withdrawal requested"],
        "?what=keys&environment=live": ["API key created"],
        "?environment=account": ["Business settings saved", "Account created"],
        "?who=api_key": ["Withdrawal requested"],
        f"?who=api_key:{key['subject']}": ["Withdrawal requested"],
        "?who=api_key:x": [],
        "?who=operator": [],
        f"?from={key['created_at'][:10]}&what=applications": ["Application connected"],
        "?to=2020-01-01": [],
    }.items():
        assert await reported(alice, query) == found, query
    assert "No events match these filters." in await seen(alice, f"{PATH}?who=operator")
    for query in ("?what=lost", "?environment=prod", "?before=x", "?page=2"):
        await seen(alice, PATH + query, 422)
    assert "This must be a date such as" in (wrong := await seen(alice, f"{PATH}?from=soon", 422))
    assert "No events are shown." in wrong


def test_every_action_is_done_somewhere_has_words_and_is_of_one_topic() -> None:
    names = set(get_args(AuditEventType))
    assert names == set(EVENTS)
    kinds = [kind for kinds in TOPICS.values() for kind in kinds]
    assert sorted(kinds) == sorted({name.partition(".")[0] for name in names})
    source = "".join(path.read_text() for path in PACKAGE if path.parent.name not in {"audit", "audit_log"})
    assert [name for name in names if f'"{name}"' not in source] == []


async def test_pages_turn_at_the_last_line_seen(alice: Actor) -> None:
    await alice.sql(MANY, alice.merchant_id, 45)
    at, found = f"{PATH}?what=money", list[int]()
    while at:
        page = await seen(alice, at)
        found.append(len(ACTION.findall(page)))
        at = (NEXT.findall(page) or [""])[0]
    assert found == [20, 20, 5]
    assert len(await lines(alice, "?what=money")) == 45


async def test_nobody_elses(alice: Actor, mallory: Actor) -> None:
    [one] = await lines(alice)
    await seen(mallory, f"{PATH}?before={one['id']}", 404)
    await seen(alice, f"{PATH}?before={one['id']}")
    await alice.key()
    assert [line["deed"] for line in await lines(mallory)] == ["account.opened"]
    for path in (PATH, f"{PATH}.csv"):
        assert (await alice.anonymously("GET", path)).ok(303).location == signed_out(path)
    await alice.sql("UPDATE merchants SET suspended_at = now() WHERE id = $1::uuid", alice.merchant_id)
    assert len(await reported(alice)) == 2


async def test_cells_are_no_formulas(alice: Actor) -> None:
    (await alice.dashboard("POST", "/projects", {"name": "=1+1", "mode": "test"})).ok(201)
    [opened, _] = await lines(alice)
    assert opened["name"] == "'=1+1"


async def test_in_german(alice: Actor) -> None:
    await fund(alice)
    await asked(alice, {"amount": "12.50"})
    page = html.unescape((await alice.send("GET", PATH, headers={"Accept-Language": "de"})).ok().text)
    assert "Auszahlung beantragt" in page
    assert "12,50 €" in page


@pytest.mark.long
async def test_a_page_is_read_along_the_index(alice: Actor) -> None:
    services = alice.service.create_services()
    async with services.db.connection() as tx:
        await tx.raw.execute("BEGIN")
        await tx.raw.execute("SET LOCAL session_replication_role = replica")  # no look-up for each row
        await tx.raw.fetch(MANY, UUID(alice.merchant_id), 100_000)
        await tx.raw.execute("ANALYZE audit_lines")
        await tx.raw.execute(f"PREPARE said AS {log_store.OLDER}")
        everything = f"'{alice.merchant_id}', '3000-01-01', '{new_id()}', '1970-01-01', '3000-01-01'"
        for plan_mode in ("force_generic_plan", "force_custom_plan"):
            await tx.raw.execute(f"SET LOCAL plan_cache_mode = {plan_mode}")
            for kinds, author, at_most in (("{}", "", 100), ("{}", "k3", 1_000), ("{webhooks}", "", 30_000)):
                asked_for = f"{everything}, '', '{kinds}', '', '{author}', 21"
                said = await tx.raw.fetchval(f"EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE said({asked_for})")
                plan = msgspec.json.decode(said)[0]["Plan"]
                [scan] = [node for node in nodes(plan) if node.get("Relation Name") == "audit_lines"]
                assert scan["Node Type"] == "Index Scan"
                assert scan["Index Name"] in {"audit_lines_newest", *(["audit_lines_by_topic"] if kinds != "{}" else [])}
                assert scan.get("Rows Removed by Filter", 0) <= at_most
        await tx.raw.execute("ROLLBACK")
        await tx.raw.execute("DEALLOCATE said")
    await services.db.close()


def nodes(plan: dict[str, Any]) -> list[dict[str, Any]]:
    """A plan, and the plans below it."""
    return [plan, *(node for below in plan.get("Plans", []) for node in nodes(below))]
