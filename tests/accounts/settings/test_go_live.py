"""The banner that says what is missing before an environment accepts payments, and leads to the next step."""

import re
from uuid import UUID

import pytest

from tests.cast import Actor
from tests.forms import post, seen
from tests.payments.shop import approve_project

PAGES = ("home", "payments", "payment-links", "payment-links/new", "settings/payments")
BANNER = re.compile(
    r'<div class="banner (?:warn|bad)".*?</div>\s*(?:<a class="btn" href="([^"]+)">([^<]+)</a>\s*)?</div>', re.DOTALL
)
CREATE = ">Create payment link</a>"


async def banners(actor: Actor, mode: str = "live") -> list[tuple[str, tuple[str, str]]]:
    """The text and the button of each banner of each page; the same on all. A form warns of links that nobody can pay."""
    found = [
        [
            (match.group(), (match[1] or "", match[2] or ""))
            for match in BANNER.finditer(await seen(actor, f"/{mode}/{path}"))
            if "Customers cannot pay it" not in match.group()
        ]
        for path in PAGES
    ]
    assert all(banner == found[0] for banner in found), found
    return found[0]


async def project_of(actor: Actor, status: str, **columns: str) -> UUID:
    """Set the status of the only live project."""
    [row] = await actor.sql(
        "UPDATE projects SET status = $2, rejected_because = $3 WHERE merchant_id = $1::uuid AND mode = 'live' RETURNING id",
        actor.merchant_id,
        status,
        columns.get("rejected_because"),
    )
    return row["id"]


async def test_from_nothing_to_an_approved_project(alice: Actor) -> None:
    [(text, button)] = await banners(alice)
    assert "Live payments require an approved project." in text
    assert button == ("/live/projects/new", "Create project")
    assert CREATE not in await seen(alice, "/live/payment-links")
    assert '<form method="post" action="/live/payment-links/new"' not in await seen(alice, "/live/payment-links/new")

    form = await seen(alice, button[0])
    [key] = re.findall(r'name="key" value="([^"]+)"', form)
    await post(alice, button[0], name="Owls & <more>", key=key)
    [(text, button)] = await banners(alice)
    assert "in review" in text
    assert "“Owls & <more>”" in text
    project_id = await project_of(alice, "in_review")
    assert button == (f"/live/projects/{project_id}", "View project")
    await seen(alice, button[0])

    await project_of(alice, "rejected", rejected_because="No imprint.")
    [(text, button)] = await banners(alice)
    assert "Reason: No imprint." in text
    assert button == (f"/live/projects/{project_id}", "Edit project")

    await project_of(alice, "approved")
    assert await banners(alice) == []
    assert CREATE in await seen(alice, "/live/payment-links")
    assert '<form method="post" action="/live/payment-links/new"' in await seen(alice, "/live/payment-links/new")


@pytest.mark.parametrize("others", [("rejected",), ("in_review",), ("rejected", "in_review")], ids="-".join)
async def test_one_approved_project_suffices(alice: Actor, others: tuple[str, ...]) -> None:
    await approve_project(alice, "live")
    for status in others:
        await alice.sql(
            "INSERT INTO projects (id, merchant_id, mode, name, status, rejected_because, created_at, updated_at) VALUES"
            " (gen_random_uuid(), $1::uuid, 'live', 'B', $2, CASE WHEN $2 = 'rejected' THEN 'No.' END, now(), now())",
            alice.merchant_id,
            status,
        )
    assert await banners(alice) == []


async def test_test_mode_has_a_project_from_the_start(alice: Actor) -> None:
    assert await banners(alice, "test") == []


@pytest.mark.parametrize("mode", ["live", "test"])
async def test_a_suspended_merchant_has_one_banner(alice: Actor, mode: str) -> None:
    await alice.sql("UPDATE merchants SET suspended_at = now() WHERE id = $1::uuid", alice.merchant_id)
    [(text, button)] = await banners(alice, mode)
    assert "This account is suspended." in text
    assert button == ("", "")


async def test_another_merchants_project_does_not_count(alice: Actor, carol: Actor) -> None:
    await approve_project(carol, "live")
    [(text, _)] = await banners(alice)
    assert "Live payments require an approved project." in text
    assert await banners(carol) == []


async def test_a_page_has_one_banner(alice: Actor) -> None:
    unverified = "Your email address is not verified yet."
    await alice.sql("UPDATE users SET verified_at = NULL WHERE merchant_id = $1::uuid", alice.merchant_id)
    assert unverified in await seen(alice, "/test/home")
    live = await seen(alice, "/live/home")
    assert "Live payments require an approved project." in live
    assert unverified not in live
