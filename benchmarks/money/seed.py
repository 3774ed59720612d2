"""The data: a thousand merchants with a project and keys, and payments that wait for their money.

Ids are numbers in a UUID's clothes, so that every one of those who are measured, pgbench too, can spell them. What waits
to be paid is copied from one link and one payment that the product made itself.
"""

from typing import Any
from uuid import UUID

import asyncpg
from msgspec import Struct

from tollhouse.kernel import tokens
from tollhouse.kernel.scopes import API

MERCHANTS = 1_000
PAID_BEFORE = 10
MERCHANT, LINK, PAYMENT = 1, 2, 3
"""What an id is of: its first eight digits."""

# The second key is the one that pgbench can spell. The last use lies ahead, so that no round notes another.
GROUND = """
    WITH merchant AS (
        INSERT INTO merchants (id, business_name, created_at)
        SELECT id, 'Merchant ' || n, now() FROM unnest($1::uuid[]) WITH ORDINALITY AS m (id, n)
    ), key AS (
        INSERT INTO api_keys (id, merchant_id, mode, name, key_hash, scope_mask, hint, created_at)
        SELECT uuidv7(), id, 'test', 'Key', hash, $3, 'th_test', now()
        FROM unnest($1::uuid[], $2::bytea[]) WITH ORDINALITY AS m (id, made, n)
        CROSS JOIN LATERAL (VALUES (made), (sha256(('key ' || n - 1)::bytea))) h (hash)
        RETURNING id
    ), used AS (
        INSERT INTO api_key_activity (api_key_id, last_used_at) SELECT id, now() + interval '1 hour' FROM key
    )
    INSERT INTO projects (id, merchant_id, mode, name, status, created_at, updated_at)
    SELECT id, id, 'test', 'Default', 'approved', now(), now() FROM unnest($1::uuid[]) AS id
"""
# Every merchant was paid a few times before. Else the plans of the foreign keys, which a connection keeps until the next
# ANALYZE, would be those of empty tables, and what is measured would be how those tables grow.
HISTORY = """
    SELECT count(*) FROM unnest($1::uuid[]) AS m (id) CROSS JOIN generate_series(1::bigint, $2) AS n
    CROSS JOIN LATERAL ledger_post(
        uuidv7(), 'test', 'payment', 'transaction', uuidv7(), 0, now(), ARRAY['payment'], ARRAY['EUR'], ARRAY[1049 + n],
        ARRAY[NULL::uuid], ARRAY['rail:sandbox'], ARRAY[m.id], ARRAY['available'],
        ARRAY[uuidv7(), uuidv7(), uuidv7(), uuidv7()])
"""
COPY_LINKS = """
    INSERT INTO payment_links SELECT made.* FROM payment_links l
    CROSS JOIN unnest($2::uuid[], $3::uuid[], $4::text[]) AS n (id, merchant_id, token)
    CROSS JOIN LATERAL jsonb_populate_record(l, jsonb_build_object('id', n.id, 'merchant_id', n.merchant_id, 'project_id',
        n.merchant_id, 'token', n.token, 'latest_transaction_id', NULL)) made
    WHERE l.id = $1
"""
COPY_PAYMENTS = """
    INSERT INTO transactions SELECT made.* FROM transactions t
    CROSS JOIN unnest($2::uuid[], $3::uuid[], $4::uuid[]) AS n (id, merchant_id, link_id)
    CROSS JOIN LATERAL jsonb_populate_record(t, jsonb_build_object('id', n.id, 'merchant_id', n.merchant_id,
        'payment_link_id', n.link_id, 'rail_reference', n.id)) made
    WHERE t.id = $1
"""
COPY_STEPS = """
    INSERT INTO transaction_steps SELECT made.* FROM transaction_steps s
    CROSS JOIN unnest($2::uuid[]) AS n (id)
    CROSS JOIN LATERAL jsonb_populate_record(s, jsonb_build_object('transaction_id', n.id)) made
    WHERE s.transaction_id = $1
"""


class Shop(Struct, frozen=True):
    """A merchant and its API key."""

    merchant_id: UUID
    api_key: str


def numbered(what: int, number: int) -> UUID:
    """The id of this number."""
    return UUID(f"{what:08x}-0000-7000-8000-{number:012x}")


def token(number: int) -> str:
    """A checkout address of this number."""
    return f"{number:026o}".translate(str.maketrans("01", "ab"))


async def harness(connection: "asyncpg.Connection[Any]") -> list[Shop]:
    """The merchants."""
    shops = [Shop(numbered(MERCHANT, number), tokens.mint("th_test")) for number in range(MERCHANTS)]
    hashes = [tokens.digest(shop.api_key) for shop in shops]
    merchants = [shop.merchant_id for shop in shops]
    await connection.execute(GROUND, merchants, hashes, API.mask)
    await connection.execute(HISTORY, merchants, PAID_BEFORE)
    return shops


async def payments(connection: "asyncpg.Connection[Any]", like: UUID, merchants: list[UUID], numbers: range) -> None:
    """A payment of each number that waits, like the one that the product made; merchants take turns."""
    owners = [merchants[number % len(merchants)] for number in numbers]
    links = [numbered(LINK, number) for number in numbers]
    made = [numbered(PAYMENT, number) for number in numbers]
    link_like = await connection.fetchval("SELECT payment_link_id FROM transactions WHERE id = $1", like)
    async with connection.transaction():
        await connection.execute(COPY_LINKS, link_like, links, owners, [token(number) for number in numbers])
        await connection.execute(COPY_PAYMENTS, like, made, owners, links)
        await connection.execute(COPY_STEPS, like, made)
