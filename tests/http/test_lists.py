"""Every list of the API is read by page or by cursor, bounded in time and depth."""

import base64
from typing import Any

from msgspec import structs

from tests.cast import Actor
from tests.payments.bank import sell
from tests.payments.shop import open_link
from tollhouse.http.lists import CatalogueQuery, ConnectionsQuery, ListQuery
from tollhouse.instance.api import OPERATIONS
from tollhouse.webhooks.events.record import EVENT_TYPES, TEST_EVENT, EventType

INTEGRATION = "/api/v2/integration"
LISTS = [one for one in OPERATIONS if "page" in one.needs]
OPEN = [one.path for one in LISTS if one.full_path.startswith(INTEGRATION) and "{" not in one.path]
TIMED = [one.path for one in LISTS if one.path in OPEN and not issubclass(one.query or ListQuery, CatalogueQuery)]
NEVER_PAGED = {
    "/api-keys",
    "/events",
    "/invitations",
    "/members",
    "/oauth/clients",
    "/oauth/grants",
    "/passkeys",
    "/session/email",
    "/sessions",
    "/api/v2/oauth/permissions",
}
MOVING = {"indicative_rate", "rate_as_of"}


def still(row: dict[str, Any]) -> dict[str, Any]:
    """What does not change between two looks."""
    return {name: value for name, value in row.items() if name not in MOVING}


async def all_of(actor: Actor, path: str, limit: int) -> list[Any]:
    """The whole list, from cursor to cursor."""
    found: list[Any] = []
    cursor, sign = "", "&" if "?" in path else "?"
    while True:
        body = (await actor.get(f"{path}{sign}limit={limit}{cursor}")).ok().body
        noun = next(name for name in body if name not in {"has_more", "next_cursor"})
        found += [still(row) for row in body[noun]]
        assert body["has_more"] == (body["next_cursor"] is not None)
        if not body["has_more"]:
            return found
        assert len(body[noun]) == limit
        cursor = f"&cursor={body['next_cursor']}"


def test_every_list_is_read_the_same_way() -> None:
    for one in OPERATIONS:
        noun = one.full_path.rpartition("/")[2].replace("-", "_")
        if (
            one.method != "GET"
            or one.surface.html
            or noun not in getattr(one.response, "__struct_fields__", ())
            or one.path in NEVER_PAGED
        ):
            continue
        assert {"has_more", "next_cursor"} <= set(one.response.__struct_fields__), one.full_path
        assert one.query is not None, one.full_path
        assert issubclass(one.query, CatalogueQuery | ListQuery | ConnectionsQuery), one.full_path
    assert len(LISTS) > 20


def test_every_status_may_be_sent_more_than_once() -> None:
    for one in LISTS:
        for field in structs.fields(one.query or ListQuery):
            assert field.name != "status" or "list[" in str(field.type), one.full_path
    assert set(EventType.__args__) == {*EVENT_TYPES, TEST_EVENT}  # pyright: ignore[reportAttributeAccessIssue]


async def test_a_cursor_leads_through_the_whole_list(alice: Actor) -> None:
    await sell(alice)
    await sell(alice)
    for path in OPEN:
        whole = (await alice.get(f"{path}?limit=100")).ok().body
        noun = next(name for name in whole if name not in {"has_more", "next_cursor"})
        assert await all_of(alice, path, 1 if len(whole[noun]) < 9 else 7) == [still(row) for row in whole[noun]]


async def test_what_is_no_cursor_of_this_list_is_refused(alice: Actor, carol: Actor) -> None:
    await open_link(alice)
    await open_link(alice)
    other = (await alice.get("/currencies?limit=1")).ok().body["next_cursor"]
    links = (await alice.get("/payment-links?limit=1")).ok().body["next_cursor"]
    for path in OPEN:
        strange = (await carol.get(f"{path}?limit=1")).ok().body["next_cursor"] or ""
        bare = base64.urlsafe_b64encode(bytes(30)).decode()
        for cursor in (
            "",
            "x",
            "ä",
            bare,
            links + "A",
            links + "=",
            links[:-2],
            strange or bare,
            *({other} - {None}),
        ):
            if (cursor, path) not in {(other, "/currencies"), (links, "/payment-links")}:
                assert (await alice.get(f"{path}?cursor={cursor}")).field_errors() == {"cursor": "invalid_cursor"}, cursor
        both = await alice.get(f"{path}?cursor=x&page=1&limit=0")
        assert both.field_errors() == {"page": "not_with_cursor", "cursor": "invalid_cursor", "limit": "invalid_value"}


async def test_a_changed_cursor_reaches_nobody_elses_rows(alice: Actor, carol: Actor) -> None:
    mine = [(await open_link(alice))["id"] for _ in range(2)]
    await open_link(carol)
    cursor = (await alice.get("/payment-links?limit=1")).ok().body["next_cursor"]
    raw = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
    for place in (b"\x7f" + b"\xff" * 23, b"\x00" * 24, b"\x80" + b"\x00" * 23, raw[6:14] + b"\xff" * 16):
        text = base64.urlsafe_b64encode(raw[:6] + place).rstrip(b"=").decode()
        answer = await alice.get(f"/payment-links?cursor={text}")
        assert answer.status == 422 or {link["id"] for link in answer.body["payment_links"]} <= set(mine)


async def test_pages_end_at_ten_thousand_rows(alice: Actor) -> None:
    for path in OPEN:
        (await alice.get(f"{path}?page=100&limit=100")).ok()
        for page, limit in ((101, 100), (10_001, 1), (10**17, 1)):
            refused = (await alice.get(f"{path}?page={page}&limit={limit}")).refused("page_too_deep", 422)
            assert "cursor" in refused.body["error_description"]
            assert [problem["field"] for problem in refused.body["errors"]] == ["page"]


async def test_a_list_stays_as_it_was_while_rows_arrive(alice: Actor) -> None:
    for _ in range(3):
        await open_link(alice)
    first = (await alice.get("/payment-links?limit=2")).ok().body
    await open_link(alice)
    rest = (await alice.get(f"/payment-links?limit=2&cursor={first['next_cursor']}")).ok().body
    names = [link["id"] for link in first["payment_links"] + rest["payment_links"]]
    assert len(names) == len(set(names)) == 3
    assert rest["next_cursor"] is None


async def test_a_list_is_bounded_in_time(alice: Actor) -> None:
    await sell(alice)
    for path in TIMED:
        body = (await alice.get(path)).ok().body
        rows = body[next(name for name in body if name not in {"has_more", "next_cursor"})]
        for row in rows[:1]:
            at = row["created_at"]
            assert row in next(iter((await alice.get(f"{path}?created_from={at}")).ok().body.values()))
            assert row not in next(iter((await alice.get(f"{path}?created_to={at}")).ok().body.values()))
        span = "created_from=2026-01-02T00:00:00Z&created_to=2026-01-02T00:00:00Z"
        assert (await alice.get(f"{path}?{span}")).field_errors() == {"created_to": "invalid_value"}


async def test_a_status_may_be_any_of_several(alice: Actor) -> None:
    link, canceled = (await open_link(alice))["id"], (await open_link(alice))["id"]
    (await alice.post(f"/payment-links/{canceled}/cancel", {})).ok()

    async def found(query: str) -> set[str]:
        return {one["id"] for one in (await alice.get(f"/payment-links?{query}")).ok().body["payment_links"]}

    assert await found("status=active") == {link}
    assert await found("status=active&status=canceled") == {link, canceled}
    assert await found("status=expired") == set()
    refused = await alice.get("/payment-links?status=active&status=gone")
    assert refused.field_errors() == {"status": "invalid_value"}


async def test_events_are_found_by_type_status_and_resource(alice: Actor) -> None:
    paid = await sell(alice)

    async def found(query: str) -> list[Any]:
        return (await alice.get(f"/webhook-events?{query}")).ok().body["webhook_events"]

    everything = await found("limit=100")
    assert {one["type"] for one in everything} == {"payment.succeeded", "balance.updated"}
    assert [one["type"] for one in await found("type=payment.succeeded")] == ["payment.succeeded"]
    assert await found("type=payment.succeeded&type=balance.updated") == everything
    assert await found("status=skipped&status=delivered") == [one for one in everything if one["status"] == "skipped"]
    assert [one["type"] for one in await found(f"resource_id={paid['id']}&type=payment.succeeded")] == ["payment.succeeded"]
    assert await found("resource_id=0198b2f0-0000-7000-8000-000000000000") == []
    assert (await alice.get("/webhook-events?type=x&status=y&resource_id=z")).field_errors() == {
        "type": "invalid_value", "status": "invalid_value", "resource_id": "invalid_value",
    }  # fmt: skip
