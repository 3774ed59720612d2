"""SQL of the event feed."""

from collections.abc import Collection, Sequence

from tollhouse.kernel.environment import MerchantEnv
from tollhouse.platform.database.pool import Pool, Row
from tollhouse.webhooks.endpoints.feed_model import FeedHead, FeedRow, StoredEvent

HEAD = """
    SELECT webhook_feed_id() AS feed_id, f.number, coalesce(f.last_position, 0) AS last_position,
           coalesce(f.expired_position, 0) AS expired_position
    FROM (VALUES (1)) AS always LEFT JOIN webhook_feeds f ON f.merchant_id = $1 AND f.mode = $2
"""
# Reads the next positions, and the bodies of the events of these types alone.
NEXT = """
    SELECT p.position, e.id, e.type, e.created_at, CASE WHEN $4::text[] IS NULL OR e.type = ANY ($4) THEN e.body END AS body
    FROM (SELECT w.last_position - cardinality(w.event_ids) + i.nth AS position, i.event_id
          FROM (SELECT * FROM webhook_positions WHERE number = $1 AND last_position > $2
                ORDER BY last_position LIMIT $3) AS w
          CROSS JOIN LATERAL unnest(w.event_ids) WITH ORDINALITY AS i (event_id, nth)
          WHERE w.last_position - cardinality(w.event_ids) + i.nth > $2
          ORDER BY position LIMIT $3) AS p
    LEFT JOIN LATERAL (SELECT * FROM webhook_events WHERE id = p.event_id LIMIT 1) AS e ON true
    ORDER BY p.position
"""
# Of environments that are waited for, those with a later position.
GROWN = """
    SELECT f.merchant_id, f.mode, f.last_position
    FROM unnest($1::uuid[], $2::text[], $3::bigint[]) AS w (merchant_id, mode, after)
    CROSS JOIN LATERAL (SELECT * FROM webhook_feeds f
                        WHERE f.merchant_id = w.merchant_id AND f.mode = w.mode AND f.last_position > w.after LIMIT 1) AS f
"""


async def get_head(db: Pool, env: MerchantEnv) -> FeedHead:
    """The feed of an environment; one without events is at position 0."""
    row = await db.fetchrow(HEAD, env.merchant_id, env.mode)
    if row is None:
        raise AssertionError("the feed has an id in any case")
    return FeedHead(**row)


async def list_next(db: Pool, head: FeedHead, after: int, limit: int, types: Collection[str] | None) -> list[FeedRow]:
    """The next positions, at most so many."""
    rows = await db.fetch(NEXT, head.number, after, limit, None if types is None else [*types])
    return [
        FeedRow(
            row["position"],
            row["id"] is not None,
            None if row["body"] is None else StoredEvent(row["id"], row["type"], row["created_at"], row["body"]),
        )
        for row in rows
    ]


async def list_grown(db: Pool, waiting: Sequence[tuple[MerchantEnv, int]]) -> list[Row]:
    """The environments with a position after this one, and their last position."""
    envs = [env for env, _ in waiting]
    afters = [after for _, after in waiting]
    return await db.fetch(GROWN, [env.merchant_id for env in envs], [env.mode for env in envs], afters)
