"""The dashboard's pages about projects, as a browser without scripts gets and posts them."""

import asyncio
import re

from tests.cast import Actor
from tests.forms import hidden, post, refuses_foreign_forms, refuses_strangers, seen, wrong

OWLS = {"name": "Night Owls", "website_url": "https://owls.example", "description": "A game.\r\nFor two."}
ROW = re.compile(r'<td[^>]* class="lead b r1"><a class="hit" href="/(?:test|live)/projects/([0-9a-f-]{36})">([^<]+)</a>')


async def names(actor: Actor, mode: str = "test") -> dict[str, str]:
    """The ids of the projects that are listed, by name."""
    return {name: found for found, name in ROW.findall(await seen(actor, f"/{mode}/projects"))}


async def form(actor: Actor, path: str) -> dict[str, str]:
    """What the form posts without showing it."""
    return hidden((await actor.send("GET", path)).ok())


async def test_a_project_is_opened_once_however_often_it_is_posted(alice: Actor) -> None:
    fields = await form(alice, "/test/projects/new") | OWLS
    responses = await asyncio.gather(*(post(alice, "/test/projects/new", **fields) for _ in range(3)))
    assert {answer.location for answer in responses} == {"/test/projects?done=opened"}
    assert list(await names(alice)) == ["Night Owls", "Default"]
    assert "Project created." in await seen(alice, "/test/projects?done=opened")
    kept = (await alice.get(f"/projects/{(await names(alice))['Night Owls']}")).ok().body
    assert (kept["website_url"], kept["description"]) == ("https://owls.example", "A game.\nFor two.")
    again = await post(alice, "/test/projects/new", 422, **fields | {"name": "Day Owls"})
    assert "This form has already created a project" in again.text
    await post(alice, "/test/projects/new", **hidden(again) | OWLS | {"name": "Day Owls"})
    assert len(await names(alice)) == 3


async def test_a_live_project_waits_for_its_review(alice: Actor) -> None:
    assert "No live projects yet" in await seen(alice, "/live/projects")
    answer = await post(alice, "/live/projects/new", **await form(alice, "/live/projects/new") | OWLS)
    assert "Project submitted for review." in await seen(alice, answer.location)
    project_id = (await names(alice, "live"))["Night Owls"]
    path = f"/live/projects/{project_id}"
    assert "This project is in review." in await seen(alice, path)
    await alice.sql(
        "UPDATE projects SET status = 'rejected', rejected_because = 'No <b>site</b>.' WHERE id = $1::uuid", project_id
    )
    assert "Rejected: No <b>site</b>. Change the project" in await seen(alice, path)
    await post(alice, path, **await form(alice, path) | OWLS | {"name": "Owls"})
    assert "In review</span>" in await seen(alice, f"{path}?done=saved")


async def test_what_is_wrong_is_said_at_its_field(alice: Actor) -> None:
    bad = {"name": " ", "website_url": "ftp://owls.example", "description": "x" * 1001}
    for path in ("/test/projects/new", f"/test/projects/{(await names(alice))['Default']}"):
        page = await post(alice, path, 422, **await form(alice, path) | bad)
        assert wrong(page).keys() == bad.keys()
        assert 'value="ftp://owls.example"' in page.text
    assert list(await names(alice)) == ["Default"]


async def test_the_second_of_two_gets_an_error_and_loses_nothing(alice: Actor) -> None:
    path = f"/test/projects/{(await names(alice))['Default']}"
    first = await form(alice, path)
    for _ in range(2):
        assert (await post(alice, path, **first | OWLS)).location == f"{path}?done=saved"
    page = await post(alice, path, 409, **first | OWLS | {"name": "Mine"})
    assert "The project was changed in the meantime." in page.text
    assert 'value="Mine"' in page.text
    await post(alice, path, 409, **OWLS | {"name": "Mine"})
    await post(alice, path, **hidden(page) | OWLS | {"name": "Mine"})
    assert "Mine" in await names(alice)


async def test_nobody_else_sees_or_changes_one(alice: Actor, mallory: Actor) -> None:
    path = f"/test/projects/{(await names(alice))['Default']}"
    await refuses_strangers(alice, mallory, path)
    await post(mallory, path, 404, **await form(alice, path) | OWLS)
    await refuses_foreign_forms(alice, "/test/projects/new", path)
