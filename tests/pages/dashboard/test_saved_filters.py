"""Saved filters: each user's own, per list and mode, bounded, and harmless when a list no longer has them."""

import re
from urllib.parse import urlencode

import pytest

from tests.cast import Actor
from tests.forms import post, seen
from tests.payments.shop import open_link
from tollhouse.pages.dashboard.saved_filters import LISTS
from tollhouse.pages.dashboard.saved_filters_store import PER_LIST_MAX

PATH = "/test/saved-filters"
ID = re.compile(rf'action="{PATH}/([0-9a-f-]+)/rename"')
APPLIED = re.compile(r'href="(/test/[^"]+)">Apply')


async def save(actor: Actor, name: str, query: str = "status=succeeded", list_name: str = "payments") -> str:
    """Save these filters; the address of the list with them."""
    return (await post(actor, PATH, name=name, list=list_name, query=query)).location


async def test_a_filter_is_saved_applied_renamed_and_deleted(alice: Actor) -> None:
    await open_link(alice)
    assert "Save filters" not in await seen(alice, "/test/payment-links")
    assert "Save filters" in await seen(alice, "/test/payment-links?status=active&currency=EUR")
    filters = urlencode({"status": "active", "currency": "EUR"})
    assert await save(alice, "  Open   euros ", filters, "payment-links") == f"/test/payment-links?{filters}"
    shown = await seen(alice, "/test/payment-links")
    assert f'href="/test/payment-links?{filters}"' in shown
    assert "Open euros" in shown
    assert 'aria-current="true"><svg' in await seen(alice, f"/test/payment-links?{filters}&limit=5")
    assert "Open euros" not in await seen(alice, "/test/payments?status=failed")
    managed = await seen(alice, PATH)
    (filter_id,) = ID.findall(managed)
    await post(alice, f"{PATH}/{filter_id}/rename", **{f"name-{filter_id}": "Euros"})
    assert 'value="Euros"' in await seen(alice, f"{PATH}?done=renamed")
    for _ in range(2):
        await post(alice, f"{PATH}/{filter_id}/delete")
    assert "No saved filters yet" in await seen(alice, PATH)


async def test_a_name_is_saved_once_and_its_filters_are_replaced(alice: Actor) -> None:
    await open_link(alice)
    await save(alice, "Mine")
    await save(alice, "Mine", "status=failed")
    await save(alice, "Other", "status=pending")
    managed = await seen(alice, PATH)
    assert "payments?status=failed" in managed
    assert "payments?status=succeeded" not in managed
    taken = ID.findall(managed)[1]
    page = await post(alice, f"{PATH}/{taken}/rename", 422, **{f"name-{taken}": "Mine"})
    assert "Another filter of this list has this name." in page.text


@pytest.mark.parametrize("name", ["", "   ", "x" * 61, "a\u202eb"])
async def test_a_name_is_readable_and_short(alice: Actor, name: str) -> None:
    page = await post(alice, PATH, 422, name=name, list="payments", query="status=failed")
    assert "Enter a name of 1 to 60 characters." in page.text
    assert 'value="status=failed"' in page.text  # nothing is lost


async def test_their_number_and_length_are_bounded(alice: Actor) -> None:
    for number in range(PER_LIST_MAX):
        await save(alice, f"Filter {number}")
    page = await post(alice, PATH, 422, name="One more", list="payments", query="status=failed")
    assert f"A list can have {PER_LIST_MAX} saved filters." in page.text
    await save(alice, "Filter 3", "status=failed")
    await save(alice, "Filter 1", list_name="ledger", query="currency=EUR")
    page = await post(alice, PATH, 422, name="Long", list="ledger", query="currency=" + "E" * 2_000)
    assert "too long" in page.text
    await post(alice, PATH, 404, name="Elsewhere", list="audit-log", query="who=person")
    await post(alice, PATH, 404, name="Nothing", list="payments")


@pytest.mark.parametrize("query", ["status=lost", "color=red", "status=failed&status=failed", "before=x", "%ff=1"])
async def test_an_outdated_filter_breaks_no_page(alice: Actor, query: str) -> None:
    await open_link(alice)
    for list_name in LISTS:
        await save(alice, "Old", query, list_name)
    for list_name in LISTS:
        await seen(alice, f"/test/{list_name}?limit=5" if "developers/requests" not in list_name else f"/test/{list_name}")
    assert "Old: no longer available" in await seen(alice, "/test/payments?currency=EUR")
    managed = await seen(alice, PATH)
    applied = APPLIED.findall(managed)
    assert managed.count("No longer available") + len(applied) == len(LISTS)
    assert not any(address.startswith("/test/payments?") for address in applied)
    for address in applied:
        await seen(alice, address)


async def test_a_suspended_merchant_only_applies_them(alice: Actor) -> None:
    await open_link(alice)
    await save(alice, "Mine")
    await alice.sql("UPDATE merchants SET suspended_at = now() WHERE id = $1::uuid", alice.merchant_id)
    listed = await seen(alice, "/test/payments?status=failed")
    assert 'href="/test/payments?status=succeeded"' in listed
    assert "Save filters" not in listed
    assert "Save filters" not in await seen(alice, "/test/payment-links?status=active")
    managed = await seen(alice, PATH)
    assert 'href="/test/payments?status=succeeded"' in managed
    assert not ID.findall(managed)
    assert "Delete" not in managed


@pytest.mark.parametrize("query", ["status=failed\r\nSet-Cookie: a=b", "reference=ä", "reference=a b", "currency=EUR#top"])
async def test_only_a_query_string_is_saved(alice: Actor, query: str) -> None:
    await post(alice, PATH, 404, name="Broken", list="payments", query=query)
    assert "No saved filters yet" in await seen(alice, PATH)


async def test_they_are_of_one_user_and_one_mode(alice: Actor, carol: Actor) -> None:
    await open_link(alice)
    await save(alice, "Private")
    assert "Private" not in await seen(carol, PATH)
    assert "Private" not in await seen(alice, "/live/saved-filters")
    (filter_id,) = ID.findall(await seen(alice, PATH))
    await post(carol, f"{PATH}/{filter_id}/delete")
    await post(carol, f"{PATH}/{filter_id}/rename", **{f"name-{filter_id}": "Taken"})
    await post(alice, f"/live/saved-filters/{filter_id}/delete")
    assert "Private" in await seen(alice, PATH)
    assert (await alice.anonymously("POST", PATH)).status in {303, 401, 403}
