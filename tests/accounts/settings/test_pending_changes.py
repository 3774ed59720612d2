"""Changes of an approved live project are reviewed: until an operator approves them, the approved values are in force."""

import asyncio
import re
from typing import Any

import asyncpg
import pytest

from tests.cast import Actor
from tests.forms import hidden, post, seen
from tests.pages.console.commands import operator
from tests.pages.console.operator_pages import signed_in_operator
from tests.payments.shop import COFFEE
from tests.running import Service

FACTS = {"name": "Night Owls", "website_url": "https://owls.example", "description": "A game."}
CASINO = {"name": "Casino", "website_url": None, "description": "A game."}
SEEN = re.compile(r'name="seen" value="([^"]+)"')


async def approved(actor: Actor) -> str:
    """An approved live project."""
    project_id = (await actor.dashboard("POST", "/projects", FACTS | {"mode": "live"})).ok(201).body["id"]
    await actor.sql("UPDATE projects SET status = 'approved' WHERE id = $1::uuid", project_id)
    return project_id


async def changed(actor: Actor, project_id: str, facts: dict[str, Any]) -> dict[str, Any]:
    return (await actor.dashboard("PUT", f"/projects/{project_id}", facts)).ok().body


async def public(actor: Actor, project_id: str) -> tuple[Any, ...]:
    """What applications and customers are told of the project."""
    body = (await actor.get(f"/projects/{project_id}", mode="live")).ok().body
    return body["name"], body["website_url"], body["description"]


async def audited(actor: Actor) -> list[str]:
    """What the audit log has of changes that are reviewed."""
    rows = await actor.sql("SELECT deed FROM audit_lines WHERE merchant_id = $1::uuid ORDER BY id", actor.merchant_id)
    return [row["deed"] for row in rows if row["deed"].startswith("project.changes")]


async def test_a_change_waits_and_the_approved_values_stay(alice: Actor, service: Service) -> None:
    project_id = await approved(alice)
    body = await changed(alice, project_id, CASINO)
    assert (body["name"], body["website_url"], body["status"]) == (FACTS["name"], FACTS["website_url"], "approved")
    assert body["pending_changes"] == {"name": "Casino", "website_url": None}
    assert await public(alice, project_id) == tuple(FACTS.values())
    (await alice.post("/payment-links", COFFEE, mode="live")).ok(201)
    waiting = (await operator(service, "projects", "list", "--status", "in_review", "--json")).json["projects"]
    [one] = [project for project in waiting if project["project_id"] == project_id]
    assert one["pending_changes"] == {"name": "Casino", "website_url": None}
    done = await operator(service, "projects", "approve", project_id, "--json")
    assert (done.status, done.json["action"]) == (0, "project_changes_approved")
    assert await public(alice, project_id) == tuple(CASINO.values())
    [shown] = (await alice.dashboard("GET", "/projects?mode=live")).ok().body["projects"]
    assert (shown["pending_changes"], shown["status"]) == (None, "approved")
    assert (await operator(service, "projects", "approve", project_id)).status == 1
    assert await audited(alice) == ["project.changes_requested", "project.changes_approved"]


async def test_changes_are_rejected_with_a_reason_and_submitted_again(alice: Actor, service: Service) -> None:
    project_id = await approved(alice)
    assert (await operator(service, "projects", "reject-changes", project_id, "--reason", "No")).status == 1
    await changed(alice, project_id, CASINO)
    assert (await operator(service, "projects", "reject-changes", project_id, "--reason", "No gambling")).status == 0
    [shown] = (await alice.dashboard("GET", "/projects?mode=live")).ok().body["projects"]
    assert (shown["status"], shown["pending_changes"], shown["changes_rejected_because"]) == (
        "approved",
        None,
        "No gambling",
    )
    assert await public(alice, project_id) == tuple(FACTS.values())
    again = await changed(alice, project_id, FACTS | {"description": "Two games."})
    assert (again["pending_changes"], again["changes_rejected_because"]) == ({"description": "Two games."}, None)


async def test_the_approved_values_withdraw_a_change(alice: Actor) -> None:
    project_id = await approved(alice)
    await changed(alice, project_id, CASINO)
    assert (await changed(alice, project_id, FACTS))["pending_changes"] is None
    assert await audited(alice) == ["project.changes_requested", "project.changes_withdrawn"]


async def test_a_rejected_project_has_no_pending_changes(alice: Actor, service: Service) -> None:
    project_id = await approved(alice)
    await changed(alice, project_id, CASINO)
    assert (await operator(service, "projects", "reject", project_id, "--reason", "Gambling")).status == 0
    [shown] = (await alice.dashboard("GET", "/projects?mode=live")).ok().body["projects"]
    assert (shown["status"], shown["name"], shown["pending_changes"]) == ("rejected", FACTS["name"], None)


@pytest.mark.parametrize(("word", "fields"), [("approve", {}), ("reject-changes", {"changes_reason": "Gambling"})])
async def test_only_the_changes_that_were_seen_are_decided(
    service: Service, alice: Actor, word: str, fields: dict[str, str]
) -> None:
    project_id = await approved(alice)
    path = f"/operator/projects/{project_id}"
    await changed(alice, project_id, FACTS | {"name": "Day Owls"})
    async with signed_in_operator(service) as olga:
        looked = {"seen": SEEN.findall((await olga.send("GET", path)).ok().text)[0]}
        await changed(alice, project_id, CASINO)
        late = (await olga.form(f"{path}/{word}", looked | fields)).ok(409)
        assert "was changed since you opened it" in late.text
        assert await public(alice, project_id) == tuple(FACTS.values())
        assert path in (await olga.send("GET", "/operator/projects")).ok().text
        (await olga.form(f"{path}/{word}", {"seen": SEEN.findall(late.text)[0]} | fields)).ok(303)
        assert path not in (await olga.send("GET", "/operator/projects")).ok().text
    assert await public(alice, project_id) == tuple((CASINO if word == "approve" else FACTS).values())


async def test_a_change_and_its_approval_at_once_never_approve_what_was_not_seen(service: Service, alice: Actor) -> None:
    project_id = await approved(alice)
    path = f"/operator/projects/{project_id}"
    await changed(alice, project_id, FACTS | {"name": "Day Owls"})
    async with signed_in_operator(service) as olga:
        looked = {"seen": SEEN.findall((await olga.send("GET", path)).ok().text)[0]}
        decided, body = await asyncio.gather(olga.form(f"{path}/approve", looked), changed(alice, project_id, CASINO))
    name = "Day Owls" if decided.status == 303 else FACTS["name"]
    assert (await public(alice, project_id))[0] == name
    assert body["pending_changes"]["name"] == "Casino"


async def test_the_pages_show_what_is_in_force_and_what_is_in_review(alice: Actor) -> None:
    project_id = await approved(alice)
    path = f"/live/projects/{project_id}"
    form = hidden((await alice.send("GET", path)).ok())
    answer = await post(alice, path, **form | FACTS | {"name": "<b>Casino"})
    assert answer.location == f"{path}?done=changes_sent"
    page = await seen(alice, answer.location)
    assert "Changes submitted for review." in page
    assert "customers see the approved project" in page
    assert 'value="<b>Casino"' in page
    assert "Changes in review" in await seen(alice, "/live/projects")


async def test_the_database_refuses_a_change_that_was_not_approved(alice: Actor) -> None:
    project_id = await approved(alice)
    for statement in (
        "UPDATE projects SET name = 'Casino' WHERE id = $1::uuid",
        "UPDATE projects SET website_url = NULL WHERE id = $1::uuid",
        "UPDATE projects SET description = 'Casino' WHERE id = $1::uuid",
    ):
        with pytest.raises(asyncpg.IntegrityConstraintViolationError):
            await alice.sql(statement, project_id)
    await changed(alice, project_id, CASINO)
    with pytest.raises(asyncpg.IntegrityConstraintViolationError):
        await alice.sql("UPDATE projects SET name = 'Other', pending_changes = NULL WHERE id = $1::uuid", project_id)
    for wrong in ("{}", '{"status": "approved"}', '{"name": null}', "[]"):
        with pytest.raises(asyncpg.CheckViolationError):
            await alice.sql("UPDATE projects SET pending_changes = $2::text::jsonb WHERE id = $1::uuid", project_id, wrong)
