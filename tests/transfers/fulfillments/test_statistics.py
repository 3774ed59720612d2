"""Statistics of deliveries: nothing is lost in grouping, and nothing is made up where there is nothing."""

import pytest

from tests.transfers.fulfillments.depot import Depot

PATH = "/fulfillments/statistics"
COUNTED = ("count", "completed", "partially_completed", "failed", "canceled", "pending", "quantity_delivered")


async def fill(depot: Depot) -> None:
    """One of each state, over three days."""
    for player in ("p-1", "partial", "unknown", "stuck"):
        await depot.order_for(player)
    await depot.work()
    (await depot.cancel((await depot.order()).ok(201).body)).ok()
    last = (await depot.order()).ok(201).body
    await depot.actor.sql(
        "UPDATE fulfillments SET created_at = created_at - interval '1 day' * length(recipient->>'player_id')"
        " WHERE merchant_id = $1::uuid AND id <> $2::uuid",
        depot.actor.merchant_id,
        last["id"],
    )


@pytest.mark.covers("P-148")
async def test_groups_add_up(depot: Depot) -> None:
    await fill(depot)
    for group_by in ("day", "product", "status"):
        found = (await depot.actor.get(f"{PATH}?group_by={group_by}")).ok().body
        totals = found["totals"]
        assert {name: totals[name] for name in COUNTED} == {
            "count": 6,
            "completed": 1,
            "partially_completed": 1,
            "failed": 1,
            "canceled": 1,
            "pending": 2,
            "quantity_delivered": 8,
        }
        assert (totals["cost"], totals["cost_minor"], totals["success_rate"]) == ({"EUR": "0.80"}, {"EUR": 80}, "0.6667")
        for name in COUNTED:
            assert sum(group[name] for group in found["groups"]) == totals[name]
        assert sum(group["cost_minor"].get("EUR", 0) for group in found["groups"]) == 80
        keys = [group["key"] for group in found["groups"]]
        assert keys == sorted(set(keys))
        assert len(keys) == {"day": 4, "product": 1, "status": 6}[group_by]


@pytest.mark.parametrize(
    ("took", "p50_and_p95"), [((1, 2, 10), (2, 10)), ((99.5, 100, 101), (100, 110)), ((5, 1_201, 86_400), (1_300, 87_000))]
)
async def test_times(depot: Depot, took: tuple[float, ...], p50_and_p95: tuple[int, int]) -> None:
    for seconds in took:
        ordered = (await depot.order()).ok(201).body
        await depot.work()
        await depot.actor.sql(
            "UPDATE fulfillments SET created_at = completed_at - interval '1 s' * $2::float WHERE id = $1::uuid",
            ordered["id"],
            seconds,
        )
    totals = (await depot.actor.get(PATH)).ok().body["totals"]
    assert (totals["p50_seconds"], totals["p95_seconds"]) == p50_and_p95


async def test_totals_made_anew_are_the_same(depot: Depot) -> None:
    await fill(depot)
    before = (await depot.actor.get(f"{PATH}?group_by=status")).ok().body
    await depot.actor.sql("SELECT running_totals_rebuild($1::uuid)", depot.actor.merchant_id)
    after = (await depot.actor.get(f"{PATH}?group_by=status")).ok().body
    assert (after["totals"], after["groups"]) == (before["totals"], before["groups"])


@pytest.mark.covers("P-148")
async def test_nothing_is_zero(depot: Depot) -> None:
    await depot.order()
    for query in (
        "?from=2020-01-01&to=2020-02-01",
        "?product_id=quest:gold",
        "?project_id=019a8f6e-2d4b-7c31-9e55-0a1b2c3d4e5f",
    ):
        found = (await depot.actor.get(f"{PATH}{query}&group_by=day")).ok().body
        assert {name: found["totals"][name] for name in COUNTED} == dict.fromkeys(COUNTED, 0)
        assert (found["totals"]["cost"], found["totals"]["success_rate"], found["totals"]["p50_seconds"]) == ({}, None, None)
        assert found["groups"] == []
    live = (await depot.actor.get(PATH, mode="live")).ok().body
    assert (live["totals"]["count"], live["livemode"], live["group_by"]) == (0, True, None)


REFUSED: list[tuple[str, dict[str, str]]] = [
    ("?from=2026-02-01&to=2026-02-01", {"from": "out_of_range"}),
    ("?from=2025-01-01&to=2026-01-03", {"from": "out_of_range"}),
    ("?from=soon", {"from": "invalid_time"}),
    ("?from=x&to=y", {"from": "invalid_time", "to": "invalid_time"}),
    ("?to=2026-13-01", {"to": "invalid_time"}),
    ("?group_by=hour", {"group_by": "invalid_value"}),
    ("?form=2026-01-01", {"form": "unknown_field"}),
]


async def test_refused(depot: Depot) -> None:
    for query, problems in REFUSED:
        assert (await depot.actor.get(PATH + query)).field_errors() == problems
