"""What operators see and do at their pages, and that all of it is kept."""

import asyncio
import re
from uuid import uuid4

import asyncpg
import pytest

from tests.cast import Actor, sign_up
from tests.pages.console.commands import operator
from tests.pages.console.operator_pages import KEPT, signed_in_operator
from tests.payments.shop import COFFEE, open_link, pay
from tests.running import Service

SEEN = re.compile(r'name="seen" value="([^"]+)"')


async def kept(actor: Actor) -> list[tuple[str, str, str | None, str | None]]:
    """What is kept of this merchant: what, who, why, in which environment."""
    rows = await actor.sql(KEPT, actor.merchant_id)
    return [(row["action"], row["operator"], row["reason"], row["mode"]) for row in rows]


async def in_review(actor: Actor, **facts: str) -> str:
    """A live project that waits for an operator."""
    body = {"name": "Night Owls", "mode": "live"} | facts
    return (await actor.dashboard("POST", "/projects", body)).ok(201).body["id"]


async def seen(olga: Actor, project_id: str) -> dict[str, str]:
    """What the page of a project says was seen of it."""
    shown = (await olga.send("GET", f"/operator/projects/{project_id}")).ok().text
    return {"seen": SEEN.findall(shown)[0]}


async def test_a_merchant_is_suspended_with_a_reason_and_goes_on(olga: Actor, alice: Actor) -> None:
    page = f"/operator/merchants/{alice.merchant_id}"
    asked = (await olga.send("GET", f"{page}/suspend")).ok().text
    assert "Suspend merchant Alice&#39;s Coffee?" in asked
    (await alice.get("/balances")).ok()
    done = (await olga.form(f"{page}/suspend", {"reason": " Chargebacks "})).ok(303).location
    assert done.startswith(f"{page}?action=")
    shown = (await olga.send("GET", done)).ok().text
    assert "Done: merchant suspended" in shown
    assert "Chargebacks" in shown
    assert "Done" not in (await olga.send("GET", page)).ok().text
    (await alice.get("/balances")).refused("account_suspended", 403)
    assert (await olga.form(f"{page}/reactivate", {"reason": "Settled"})).ok(303)
    (await alice.get("/balances")).ok()
    assert await kept(alice) == [
        ("merchant_suspended", olga.email, "Chargebacks", None),
        ("merchant_reactivated", olga.email, "Settled", None),
    ]


@pytest.mark.parametrize("reason", ["", "  ", "x" * 501, "two\nlines"])
async def test_a_suspension_needs_a_reason_on_one_line(olga: Actor, alice: Actor, reason: str) -> None:
    page = f"/operator/merchants/{alice.merchant_id}"
    refused = (await olga.form(f"{page}/suspend", {"reason": reason})).ok(422)
    assert "Enter a reason: one line of 1 to 500 characters." in refused.text
    (await olga.form(f"{page}/suspend", {})).ok(422)
    (await alice.get("/balances")).ok()
    assert await kept(alice) == []


async def test_the_second_of_two_gets_an_error(olga: Actor, alice: Actor) -> None:
    page = f"/operator/merchants/{alice.merchant_id}"
    ended = await asyncio.gather(*(olga.form(f"{page}/suspend", {"reason": f"Reason {n}"}) for n in range(4)))
    assert sorted(answer.status for answer in ended) == [303, 409, 409, 409]
    late = next(answer.text for answer in ended if answer.status == 409)
    assert "This merchant was already suspended. No changes were made. The history below shows who" in late
    assert olga.email in late
    assert "Reactivate" in late
    assert "was already suspended" in (await olga.send("GET", f"{page}/suspend")).ok(409).text
    assert [action[0] for action in await kept(alice)] == ["merchant_suspended"]
    (await olga.form(f"{page}/reactivate", {"reason": "Settled"})).ok(303)
    assert "is not suspended" in (await olga.form(f"{page}/reactivate", {"reason": "Settled"})).ok(409).text


@pytest.mark.parametrize("path", ["merchants/{}", "merchants/{}/suspend", "projects/{}", "deliveries/{}/live"])
async def test_what_is_not_there_is_not_found(olga: Actor, path: str) -> None:
    for name in (str(uuid4()), "nothing"):
        (await olga.send("GET", f"/operator/{path.format(name)}")).refused("not_found", 404)
    (await olga.form(f"/operator/merchants/{uuid4()}/suspend", {"reason": "Why"})).refused("not_found", 404)
    answer = await olga.form(f"/operator/projects/{uuid4()}/approve", {"seen": "2026-11-21T00:00:00.000Z"})
    answer.refused("not_found", 404)


async def test_merchants_are_found_by_name_email_and_id(olga: Actor, service: Service) -> None:
    name = f"Zoë's %_ Zoo {uuid4().hex[:6]}"
    async with sign_up(service, "zoe", name) as zoe:
        for search in (name, name.upper(), zoe.email, zoe.email.upper()[:12], zoe.merchant_id, zoe.merchant_id.upper()):
            shown = (await olga.send("GET", "/operator/merchants", params={"search": search})).ok().text
            assert zoe.merchant_id in shown, search
        nothing = (await olga.send("GET", "/operator/merchants", params={"search": name, "status": "suspended"})).ok().text
        assert "No merchants match these filters." in nothing
        (await olga.form(f"/operator/merchants/{zoe.merchant_id}/suspend", {"reason": "Why"})).ok(303)
        found = await olga.send("GET", "/operator/merchants", params={"search": name, "status": "suspended"})
        assert zoe.merchant_id in found.ok().text
        active = await olga.send("GET", "/operator/merchants", params={"search": name, "status": "active"})
        assert "No merchants match these filters." in active.ok().text
    (await olga.send("GET", "/operator/merchants?status=gone")).refused("validation_failed", 422)
    (await olga.send("GET", "/operator/merchants?page=0")).refused("validation_failed", 422)


async def test_the_list_of_merchants_turns_its_pages(olga: Actor, alice: Actor, bob: Actor) -> None:
    first = (await olga.send("GET", "/operator/merchants?limit=1")).ok().text
    assert bob.merchant_id in first
    assert "limit=1&amp;page=2" in first
    second = (await olga.send("GET", "/operator/merchants?limit=1&page=2")).ok().text
    assert alice.merchant_id in second
    assert "limit=1&amp;page=1" in second
    assert "Page 9999 has no entries" in (await olga.send("GET", "/operator/merchants?page=9999")).ok().text


async def test_a_merchants_page_shows_what_is_its(olga: Actor, alice: Actor) -> None:
    await pay(await open_link(alice))
    shown = (await olga.send("GET", f"/operator/merchants/{alice.merchant_id}")).ok().text
    for words in (alice.email, "4.20", "EUR", "Default", "No operator actions yet."):
        assert words in shown, words


async def test_a_project_is_approved_and_sells(olga: Actor, alice: Actor) -> None:
    project_id = await in_review(alice, website_url="https://owls.example", description="By\nnight")
    listed = (await olga.send("GET", "/operator/projects")).ok().text
    assert f"/operator/projects/{project_id}" in listed
    shown = (await olga.send("GET", f"/operator/projects/{project_id}")).ok().text
    assert 'href="https://owls.example"' in shown
    page = f"/operator/projects/{project_id}"
    (await olga.form(f"{page}/approve", {"remark": "x" * 501, **await seen(olga, project_id)})).ok(422)
    done = (await olga.form(f"{page}/approve", {"remark": "", **await seen(olga, project_id)})).ok(303)
    assert "Done: project approved" in (await olga.send("GET", done.location)).ok().text
    assert f"/operator/projects/{project_id}" not in (await olga.send("GET", "/operator/projects")).ok().text
    assert f"/operator/projects/{project_id}" in (await olga.send("GET", "/operator/projects?status=all")).ok().text
    (await alice.post("/payment-links", COFFEE, mode="live")).ok(201)
    assert await kept(alice) == [("project_approved", olga.email, None, "live")]


async def test_a_project_is_rejected_with_a_reason_that_its_merchant_sees(olga: Actor, alice: Actor) -> None:
    project_id = await in_review(alice)
    page = f"/operator/projects/{project_id}"
    (await olga.form(f"{page}/reject", {"reason": "", **await seen(olga, project_id)})).ok(422)
    (await olga.form(f"{page}/reject", {"reason": "No imprint", **await seen(olga, project_id)})).ok(303)
    [shown] = (await alice.dashboard("GET", "/projects?mode=live")).ok().body["projects"]
    assert (shown["status"], shown["rejected_because"]) == ("rejected", "No imprint")
    assert "No imprint" in (await olga.send("GET", page)).ok().text
    assert await kept(alice) == [("project_rejected", olga.email, "No imprint", "live")]


@pytest.mark.parametrize(("word", "fields"), [("approve", {}), ("reject", {"reason": "No imprint"})])
async def test_only_what_was_seen_is_decided(olga: Actor, alice: Actor, word: str, fields: dict[str, str]) -> None:
    """A merchant cannot show one thing to be reviewed and have another approved."""
    project_id = await in_review(alice)
    looked = await seen(olga, project_id)
    (await alice.dashboard("PUT", f"/projects/{project_id}", {"name": "Slot Machines"})).ok()
    late = (await olga.form(f"/operator/projects/{project_id}/{word}", looked | fields)).ok(409)
    assert "was changed since you opened it" in late.text
    assert "Slot Machines" in late.text
    assert await kept(alice) == []
    again = {"seen": SEEN.findall(late.text)[0]} | fields
    (await olga.form(f"/operator/projects/{project_id}/{word}", again)).ok(303)
    (await olga.form(f"/operator/projects/{project_id}/{word}", again)).ok(409)


@pytest.mark.parametrize("fields", [{}, {"seen": "yesterday"}, {"seen": "2026-11-21"}])
async def test_a_decision_says_what_was_seen(olga: Actor, alice: Actor, fields: dict[str, str]) -> None:
    project_id = await in_review(alice)
    (await olga.form(f"/operator/projects/{project_id}/approve", fields)).refused("invalid_request", 400)
    assert await kept(alice) == []


async def test_a_website_is_a_link_only_when_it_is_one(olga: Actor, alice: Actor) -> None:
    project_id = await in_review(alice)
    await alice.sql(
        "UPDATE projects SET website_url = 'javascript:alert(1)', description = '<script>' WHERE id = $1::uuid", project_id
    )
    shown = (await olga.send("GET", f"/operator/projects/{project_id}")).ok().text
    assert 'href="javascript' not in shown
    assert "<script>" not in shown


async def test_two_operators_decide_at_once(service: Service, alice: Actor) -> None:
    project_id = await in_review(alice)
    async with signed_in_operator(service, "olga") as olga, signed_in_operator(service, "otto") as otto:
        fields = await seen(olga, project_id)
        ended = await asyncio.gather(
            olga.form(f"/operator/projects/{project_id}/approve", fields),
            otto.form(f"/operator/projects/{project_id}/reject", fields | {"reason": "No imprint"}),
        )
    assert sorted(answer.status for answer in ended) == [303, 409]
    assert len(await kept(alice)) == 1


async def test_the_history_has_the_command_lines_actions_too(olga: Actor, alice: Actor, service: Service) -> None:
    words = ("--mode", "test", "--currency", "EUR", "--amount", "-3.50", "--reason", "Taken back for testing")
    (await alice.post("/test/balances/fund", {"currency": "EUR", "amount": "9.00"}, key=str(uuid4()))).ok(201)
    assert (await operator(service, "adjust", alice.merchant_id, *words)).status == 0
    (await olga.form(f"/operator/merchants/{alice.merchant_id}/suspend", {"reason": "Why not"})).ok(303)
    shown = (await olga.send("GET", "/operator/history")).ok().text
    for said in (
        "\N{MINUS SIGN}€3.50",
        "Taken back for testing",
        "Why not",
        olga.email,
        "Operator joined",
        "Alice&#39;s Coffee",
    ):
        assert said in shown, said
    assert "page=2" in (await olga.send("GET", "/operator/history?limit=1")).ok().text


@pytest.mark.parametrize(
    "values",
    [
        "'me', 'operator_joined', $1, NULL, $1",
        "'me', 'merchant_suspended', NULL, NULL, $1",
        "'me', 'operator_closed', NULL, 'live', $1",
        "'me', 'statement_imported', $1, NULL, $1",
        "'me', 'payout_refused', NULL, NULL, $1",
    ],
)
async def test_the_database_knows_what_an_action_is_about(alice: Actor, values: str) -> None:
    statement = f"INSERT INTO operator_actions (operator, action, merchant_id, mode, subject_id, id, at) VALUES ({values}"  # noqa: S608
    with pytest.raises(asyncpg.CheckViolationError):
        await alice.sql(statement.replace("$1", "$1::uuid") + ", gen_random_uuid(), now())", alice.merchant_id)


@pytest.mark.parametrize(
    "change",
    [
        "closed_at = now()",
        "link_hash = sha256('x')",
        "link_hash = sha256('x'), link_expires_at = now()",
        "password_hash = NULL, link_hash = 'x', link_expires_at = now()",
    ],
)
async def test_the_database_refuses_half_an_operator(olga: Actor, change: str) -> None:
    with pytest.raises(asyncpg.CheckViolationError):
        await olga.sql(f"UPDATE operators SET {change} WHERE email = $1", olga.email)  # noqa: S608
