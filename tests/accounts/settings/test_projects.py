"""Projects in the dashboard: opened, changed, reviewed."""

from typing import Any

import pytest

from tests.cast import Actor

GAME = {"name": " Night Owls ", "mode": "live", "website_url": "https://owls.example", "description": "A game.\nFor two."}
NOBODY = "018f0000-0000-7000-8000-000000000000"


async def opened(actor: Actor, **changes: Any) -> dict[str, Any]:
    return (await actor.dashboard("POST", "/projects", GAME | changes)).ok(201).body


async def test_a_merchant_starts_with_one_test_project(alice: Actor) -> None:
    answer = (await alice.dashboard("GET", "/projects")).ok().body
    [first] = answer["projects"]
    assert (first["name"], first["mode"], first["livemode"], first["status"]) == ("Default", "test", False, "approved")
    assert answer["has_more"] is False


async def test_a_test_project_is_approved_at_once(alice: Actor) -> None:
    made = await opened(alice, mode="test")
    assert (made["name"], made["status"], made["rejected_because"]) == ("Night Owls", "approved", None)
    assert (made["website_url"], made["description"]) == (GAME["website_url"], GAME["description"])
    assert (await alice.get(f"/projects/{made['id']}")).ok().body["name"] == "Night Owls"


@pytest.mark.covers("P-41")
async def test_a_live_project_is_reviewed_first(alice: Actor) -> None:
    made = await opened(alice)
    assert (made["status"], made["mode"], made["livemode"]) == ("in_review", "live", True)
    assert (await alice.get("/projects", mode="live")).ok().body["projects"] == []
    (await alice.get(f"/projects/{made['id']}", mode="live")).refused("not_found", 404)
    assert (await alice.dashboard("GET", "/projects?mode=live")).ok().body["projects"] == [made]
    assert len((await alice.dashboard("GET", "/projects")).ok().body["projects"]) == 2


async def test_what_a_project_says_can_be_changed(alice: Actor) -> None:
    made = await opened(alice, mode="test")
    changed = (await alice.dashboard("PUT", f"/projects/{made['id']}", {"name": "Day Owls"})).ok().body
    assert (changed["name"], changed["website_url"], changed["description"]) == ("Day Owls", None, None)
    assert (changed["status"], changed["created_at"], changed["mode"]) == ("approved", made["created_at"], "test")
    assert (await alice.get(f"/projects/{made['id']}")).ok().body["name"] == "Day Owls"
    (await alice.dashboard("PUT", f"/projects/{made['id']}", {"name": "Owls", "mode": "test"})).ok()
    moved = await alice.dashboard("PUT", f"/projects/{made['id']}", {"name": "Moved", "mode": "live"})
    assert moved.field_errors() == {"mode": "fixed"}
    assert (await alice.get(f"/projects/{made['id']}")).ok().body["name"] == "Owls"


async def test_a_change_neither_approves_nor_stops_a_live_project(alice: Actor) -> None:
    made = await opened(alice)
    path = f"/projects/{made['id']}"
    assert (await alice.dashboard("PUT", path, {"name": "Owls"})).ok().body["status"] == "in_review"
    await alice.sql("UPDATE projects SET status = 'approved' WHERE id = $1::uuid", made["id"])
    assert (await alice.dashboard("PUT", path, {"name": "Owls 2"})).ok().body["status"] == "approved"


async def test_a_rejected_project_that_is_changed_is_reviewed_again(alice: Actor) -> None:
    made = await opened(alice)
    await alice.sql(
        "UPDATE projects SET status = 'rejected', rejected_because = 'No imprint' WHERE id = $1::uuid", made["id"]
    )
    [shown] = (await alice.dashboard("GET", "/projects?mode=live")).ok().body["projects"]
    assert (shown["status"], shown["rejected_because"]) == ("rejected", "No imprint")
    changed = (await alice.dashboard("PUT", f"/projects/{made['id']}", {"name": "Owls"})).ok().body
    assert (changed["status"], changed["rejected_because"]) == ("in_review", None)


async def test_nobody_else_sees_or_changes_a_project(alice: Actor, mallory: Actor) -> None:
    made = await opened(alice, mode="test")
    for project_id in (made["id"], NOBODY, "no-id"):
        (await mallory.dashboard("PUT", f"/projects/{project_id}", {"name": "Mine"})).refused("not_found", 404)
    assert made["id"] not in {
        project["id"] for project in (await mallory.dashboard("GET", "/projects")).ok().body["projects"]
    }
    (await alice.anonymously("GET", "/api/v2/merchant/projects")).refused("authentication_required", 401)
    headers = {"X-API-Key": await alice.key()}
    (await alice.anonymously("GET", "/api/v2/merchant/projects", headers=headers)).refused("authentication_required", 401)


REFUSED: list[tuple[dict[str, Any], dict[str, str]]] = [
    ({"name": "  "}, {"name": "invalid_value"}),
    ({"name": "a\u0007b"}, {"name": "invalid_value"}),
    ({"name": "x" * 101, "website_url": "owls.example"}, {"name": "invalid_value", "website_url": "invalid_url"}),
    ({"website_url": "https://u:p@owls.example"}, {"website_url": "invalid_url"}),
    ({"website_url": "javascript:alert(1)"}, {"website_url": "invalid_url"}),
    ({"description": "x" * 1_001}, {"description": "invalid_value"}),
    ({"mode": "both"}, {"mode": "invalid_value"}),
    ({"status": "approved"}, {"status": "unknown_field"}),
    ({"name": None}, {"name": "invalid_type"}),
]


async def test_what_a_project_cannot_say(alice: Actor) -> None:
    for changes, problems in REFUSED:
        assert (await alice.dashboard("POST", "/projects", GAME | changes)).field_errors() == problems, changes


async def test_many_projects_come_in_pages(alice: Actor) -> None:
    made = [(await opened(alice, mode="test", name=f"Shop {number}"))["id"] for number in range(3)]
    first = (await alice.dashboard("GET", "/projects?limit=2")).ok().body
    second = (await alice.dashboard("GET", "/projects?limit=2&page=2")).ok().body
    assert [project["id"] for project in first["projects"]] == made[:0:-1]
    assert (first["has_more"], second["has_more"], second["projects"][0]["id"]) == (True, False, made[0])
    assert (await alice.dashboard("GET", "/projects?limit=0")).field_errors() == {"limit": "invalid_value"}
    assert (await alice.dashboard("GET", "/projects?mode=both")).field_errors() == {"mode": "invalid_value"}


async def test_of_several_projects_a_link_names_one(alice: Actor, carol: Actor) -> None:
    link = {"display_name": "Coffee", "amount": "1.00", "currency": "EUR"}
    made = await opened(alice, mode="test")
    (await alice.post("/payment-links", link)).refused("invalid_project", 422)
    assert (await alice.post("/payment-links", link | {"project_id": made["id"]})).ok(201).body["project_id"] == made["id"]
    (await carol.post("/payment-links", link | {"project_id": made["id"]})).refused("invalid_project", 422)


async def test_a_suspended_merchant_reads_and_changes_nothing(alice: Actor) -> None:
    await alice.sql("UPDATE merchants SET suspended_at = now() WHERE id = $1::uuid", alice.merchant_id)
    [first] = (await alice.dashboard("GET", "/projects")).ok().body["projects"]
    (await alice.dashboard("POST", "/projects", GAME)).refused("account_suspended", 403)
    (await alice.dashboard("PUT", f"/projects/{first['id']}", {"name": "X"})).refused("account_suspended", 403)
