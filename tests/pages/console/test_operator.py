"""What an operator does at the command line, and what comes of it over HTTP."""

import asyncio
from typing import Any

import asyncpg
import pytest

from tests.cast import Actor
from tests.pages.console.commands import operator
from tests.payments.shop import COFFEE, events
from tests.running import Service, new_database

NOBODY = "018f0000-0000-7000-8000-000000000000"
ME = "local administrator"
KEPT = "SELECT * FROM operator_actions WHERE merchant_id = $1::uuid ORDER BY at, id"


async def in_review(actor: Actor) -> str:
    """A live project that waits for an operator."""
    body = {"name": "Night Owls", "mode": "live"}
    return (await actor.dashboard("POST", "/projects", body)).ok(201).body["id"]


async def adjust(service: Service, actor: Actor, amount: str, **changes: str) -> Any:
    """Correct the test balance."""
    words = {"mode": "test", "currency": "EUR", "amount": amount, "reason": "Goodwill"} | changes
    options = [word for name, value in words.items() for word in (f"--{name}", value)]
    return await operator(service, "adjust", actor.merchant_id, *options, "--json")


@pytest.mark.long
@pytest.mark.covers("P-13")
async def test_a_suspended_merchant_is_refused_until_it_is_reactivated(alice: Actor, service: Service) -> None:
    (await alice.get("/balances")).ok()
    done = await operator(service, "merchants", "suspend", alice.merchant_id, "--reason", "Chargebacks", "--json")
    assert (done.status, done.json["action"], done.json["operator"]) == (0, "merchant_suspended", ME)
    (await alice.get("/balances")).refused("account_suspended", 403)
    (await alice.dashboard("GET", "/session")).ok()
    again = await operator(service, "merchants", "suspend", alice.merchant_id)
    assert (again.status, again.out, again.talk) == (1, "", f"Merchant {alice.merchant_id} is already suspended.")
    listed = {
        merchant["merchant_id"]: merchant
        for merchant in (await operator(service, "merchants", "list", "--json")).json["merchants"]
    }
    assert (listed[alice.merchant_id]["status"], listed[alice.merchant_id]["business_name"]) == (
        "suspended",
        "Alice's Coffee",
    )
    assert (await operator(service, "merchants", "reactivate", alice.merchant_id)).status == 0
    (await alice.get("/balances")).ok()
    assert (await operator(service, "merchants", "reactivate", alice.merchant_id)).status == 1
    kept = await alice.sql(KEPT, alice.merchant_id)
    assert [(row["action"], row["operator"], row["reason"], row["mode"]) for row in kept] == [
        ("merchant_suspended", ME, "Chargebacks", None),
        ("merchant_reactivated", ME, None, None),
    ]


@pytest.mark.long
@pytest.mark.covers("P-41")
async def test_a_live_project_sells_when_it_is_approved(alice: Actor, service: Service) -> None:
    project_id = await in_review(alice)
    (await alice.post("/payment-links", COFFEE, mode="live")).refused("invalid_project", 422)
    waiting = (await operator(service, "projects", "list", "--status", "in_review", "--json")).json["projects"]
    assert project_id in {transfer["project_id"] for transfer in waiting}
    done = await operator(service, "projects", "approve", project_id, "--json")
    assert (done.status, done.json["subject_id"], done.json["mode"]) == (0, project_id, "live")
    [shown] = (await alice.get("/projects", mode="live")).ok().body["projects"]
    assert (shown["id"], shown["status"]) == (project_id, "approved")
    (await alice.post("/payment-links", COFFEE, mode="live")).ok(201)
    again = await operator(service, "projects", "approve", project_id)
    assert (again.status, again.talk) == (1, f"Project {project_id} is already approved.")


async def test_a_rejected_project_shows_why(alice: Actor, service: Service) -> None:
    project_id = await in_review(alice)
    assert (await operator(service, "projects", "reject", project_id)).status == 2
    assert (await operator(service, "projects", "reject", project_id, "--reason", " ")).status == 2
    assert (await operator(service, "projects", "reject", project_id, "--reason", "No imprint")).status == 0
    [shown] = (await alice.dashboard("GET", "/projects?mode=live")).ok().body["projects"]
    assert (shown["status"], shown["rejected_because"]) == ("rejected", "No imprint")
    (await alice.get(f"/projects/{project_id}", mode="live")).refused("not_found", 404)
    (await alice.dashboard("PUT", f"/projects/{project_id}", {"name": "Night Owls", "description": "Imprint"})).ok()
    assert (await operator(service, "projects", "approve", project_id)).status == 0
    kept = await alice.sql(KEPT, alice.merchant_id)
    assert [(row["action"], row["mode"], row["reason"]) for row in kept] == [
        ("project_rejected", "live", "No imprint"),
        ("project_approved", "live", None),
    ]


async def test_a_balance_is_adjusted_both_ways(alice: Actor, service: Service) -> None:
    given = await adjust(service, alice, "100.00")
    assert (given.status, given.json["amount_minor"], given.json["currency"], given.json["mode"]) == (
        0,
        10_000,
        "EUR",
        "test",
    )
    taken = await adjust(service, alice, "-30.50", reason="Taken back")
    assert (taken.status, taken.json["amount_minor"]) == (0, -3_050)
    assert (await alice.get("/balances/EUR")).ok().body["available"] == "69.50"
    newest, oldest = (await alice.get("/ledger")).ok().body["ledger"]
    assert (newest["type"], newest["direction"], newest["amount"]) == ("adjustment", "debit", "30.50")
    assert oldest["source"] == {"type": "adjustment", "id": given.json["action_id"]}
    assert [name for name, _ in await events(alice)] == ["balance.updated", "balance.updated"]
    assert (await alice.get("/balances/EUR", mode="live")).ok().body["total_minor"] == 0
    kept = await alice.sql(KEPT, alice.merchant_id)
    assert [(row["currency"], row["amount_minor"], row["reason"], row["operator"]) for row in kept] == [
        ("EUR", 10_000, "Goodwill", ME),
        ("EUR", -3_050, "Taken back", ME),
    ]


async def test_nothing_is_taken_that_is_not_there(alice: Actor, service: Service) -> None:
    await adjust(service, alice, "12.00")
    refused = await adjust(service, alice, "-15")
    assert (refused.status, refused.out) == (1, "")
    assert refused.talk == "The available balance is 12.00 EUR. You cannot debit 15.00."
    assert (await alice.get("/balances/EUR")).ok().body["available"] == "12.00"
    assert len(await alice.sql(KEPT, alice.merchant_id)) == 1
    ended = await asyncio.gather(*(adjust(service, alice, "-7") for _ in range(4)))
    assert sorted(outcome.status for outcome in ended) == [0, 1, 1, 1], ended
    assert (await alice.get("/balances/EUR")).ok().body["available"] == "5.00"


async def test_what_is_given_repays_debt_first(alice: Actor, service: Service) -> None:
    await alice.sql(
        "INSERT INTO ledger_accounts (mode, currency, merchant_id, code, normal_side, guarded)"
        " VALUES ('test', 'EUR', $1::uuid, 'debt', 'debit', true)",
        alice.merchant_id,
    )
    await alice.sql(
        "SELECT * FROM ledger_post(gen_random_uuid(), 'test', 'adjustment', 'test', gen_random_uuid(), 0, now(),"
        " '{adjustment}', '{EUR}', '{300}', ARRAY[$1::uuid], '{debt}', ARRAY[NULL::uuid], '{equity:adjustment}',"
        " ARRAY[gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), gen_random_uuid()])",
        alice.merchant_id,
    )
    assert (await adjust(service, alice, "5.00")).status == 0
    balance = (await alice.get("/balances/EUR")).ok().body
    assert (balance["available"], balance["debt"]) == ("2.00", "0.00")


@pytest.mark.parametrize(
    "changes",
    [
        {"amount": "0"},
        {"amount": "1.001"},
        {"amount": "+1"},
        {"amount": "1e3"},
        {"amount": "--1"},
        {"currency": "eur"},
        {"currency": "XXX"},
        {"mode": "both"},
        {"reason": ""},
        {"reason": "two\nlines"},
    ],
)
async def test_what_cannot_be_meant_is_a_usage_error(alice: Actor, service: Service, changes: dict[str, str]) -> None:
    refused = await adjust(service, alice, **({"amount": "1"} | changes))
    assert (refused.status, refused.out) == (2, "")
    assert await alice.sql(KEPT, alice.merchant_id) == []


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (("merchants", "suspend", NOBODY), 1),
        (("merchants", "reactivate", NOBODY), 1),
        (("projects", "approve", NOBODY), 1),
        (("projects", "reject", NOBODY, "--reason", "Why"), 1),
        (("adjust", NOBODY, "--mode", "test", "--currency", "EUR", "--amount", "1", "--reason", "Why"), 1),
        (("merchants", "suspend", "alice"), 2),
        (("merchants", "suspend"), 2),
        (("projects", "list", "--status", "open"), 2),
        (("adjust", NOBODY, "--mode", "test"), 2),
        (("merchants", "pardon", NOBODY), 2),
    ],
)
async def test_how_a_refused_command_ends(service: Service, words: tuple[str, ...], status: int) -> None:
    ended = await operator(service, *words)
    assert (ended.status, ended.out) == (status, "")
    assert (
        status == 2 or f"There is no {words[0].rstrip('s') if words[0] != 'adjust' else 'merchant'} {NOBODY}." in ended.talk
    )


async def test_the_lists_are_readable(alice: Actor, service: Service) -> None:
    project_id = await in_review(alice)
    await alice.sql("UPDATE projects SET description = E'A\\x1b[2J\\nB' WHERE id = $1", project_id)
    merchants = await operator(service, "merchants", "list")
    projects = await operator(service, "projects", "list")
    assert any(line.startswith(alice.merchant_id) and "active" in line for line in merchants.out.splitlines())
    assert any(line.startswith(project_id) and "in_review" in line for line in projects.out.splitlines())
    names, *lines = merchants.out.splitlines()
    assert {line[names.index("STATUS") :].split()[0] for line in lines} <= {"active", "suspended"}
    assert "A\\u001b[2J B" in projects.out


async def test_a_database_without_tables_says_what_to_do(service: Service) -> None:
    empty = await new_database(service.dsn)
    ended = await operator(service, "merchants", "list", DATABASE_URL=empty)
    assert ended.status == 1
    assert "tollhouse migrate" in ended.talk
    gone = await operator(service, "merchants", "list", DATABASE_URL="postgresql://nobody@127.0.0.1:1/nothing")
    assert (gone.status, gone.talk) == (1, "The database cannot be reached.")


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE operator_actions SET reason = 'Another' WHERE merchant_id = $1::uuid",
        "DELETE FROM operator_actions WHERE merchant_id = $1::uuid",
        "TRUNCATE operator_actions CASCADE",
    ],
)
async def test_what_was_done_is_kept_for_ever(alice: Actor, service: Service, statement: str) -> None:
    assert (await operator(service, "merchants", "suspend", alice.merchant_id)).status == 0
    with pytest.raises(asyncpg.IntegrityConstraintViolationError):
        await alice.sql(statement, *([alice.merchant_id] if "$1" in statement else []))


@pytest.mark.parametrize(
    "values",
    [
        "'me', 'project_rejected', $1, 'live', $1, NULL, NULL, NULL",
        "'me', 'balance_adjusted', $1, 'live', $1, 'Why', 'EUR', NULL",
        "'me', 'balance_adjusted', $1, 'live', $1, 'Why', 'EUR', 0",
        "'me', 'merchant_suspended', $1, NULL, $1, 'Why', 'EUR', 1",
        "'', 'merchant_suspended', $1, NULL, $1, NULL, NULL, NULL",
        "'me', 'merchant_deleted', $1, NULL, $1, NULL, NULL, NULL",
        "'me', 'transfer_dismissed', NULL, NULL, $1, NULL, NULL, NULL",
        "'me', 'payout_refused', $1, 'live', $1, NULL, NULL, NULL",
    ],
)
async def test_the_database_refuses_half_an_action(alice: Actor, values: str) -> None:
    columns = "id, operator, action, merchant_id, mode, subject_id, reason, currency, amount_minor, at"
    with pytest.raises(asyncpg.CheckViolationError):
        await alice.sql(
            f"INSERT INTO operator_actions ({columns}) VALUES (gen_random_uuid(), "  # noqa: S608
            + values.replace("$1", "$1::uuid")
            + ", now())",
            alice.merchant_id,
        )
