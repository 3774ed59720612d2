"""The data: a thousand merchants with a project and a key, and payments that wait for their money.

Ids are numbers in the form of UUIDs, so that the floor knows them from each other. What waits to be paid is copied from
one link and one payment that the product made itself.
"""

from typing import Any
from uuid import UUID

import asyncpg
import msgspec
from msgspec import Struct

from benchmarks.harness.requests import API_KEY, LINK, LINKS, MERCHANT, PAYMENT, numbered, same_number
from benchmarks.harness.watch import Watched, WrongAnswerError
from tollhouse.kernel import tokens
from tollhouse.kernel.scopes import API

MERCHANTS = 1_000
PAID_BEFORE = 3
LINK_BODY = msgspec.json.encode(
    {"display_name": "Coffee", "amount": "10.50", "currency": "EUR", "external_id": "order-1"}
).decode()

# The last use is in the future, so that no round records another.
GROUND = """
    WITH merchant AS (
        INSERT INTO merchants (id, business_name, created_at)
        SELECT id, 'Merchant ' || n, now() FROM unnest($1::uuid[]) WITH ORDINALITY AS m (id, n)
    ), key AS (
        INSERT INTO api_keys (id, merchant_id, mode, name, key_hash, scope_mask, hint, created_at)
        SELECT key_id, merchant_id, 'test', 'Key', key_hash, $4, 'th_test', now()
        FROM unnest($1::uuid[], $2::uuid[], $3::bytea[]) AS m (merchant_id, key_id, key_hash)
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


def token(number: int) -> str:
    """A checkout address of this number."""
    return f"{number:026o}".translate(str.maketrans("01", "ab"))


async def harness(connection: "asyncpg.Connection[Any]") -> list[Shop]:
    """The merchants."""
    shops = [Shop(numbered(MERCHANT, number), tokens.mint("th_test")) for number in range(MERCHANTS)]
    hashes = [tokens.digest(shop.api_key) for shop in shops]
    merchants = [shop.merchant_id for shop in shops]
    keys = [same_number(API_KEY, merchant_id) for merchant_id in merchants]
    await connection.execute(GROUND, merchants, keys, hashes, API.mask)
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


async def pattern(watched: Watched, shop: Shop) -> UUID:
    """A payment whose method is chosen, made by the product."""
    head = f"HTTP/1.1\r\nHost: 127.0.0.1\r\nX-API-Key: {shop.api_key}\r\nContent-Type:"
    link = await _response(watched, f"POST {LINKS} {head} application/json\r\n\r\n{LINK_BODY}")
    path = f"/pay/{link['url'].rpartition('/')[2]}/method"
    chosen = f"POST {path} {head} application/x-www-form-urlencoded\r\n\r\nmethod_id=sandbox%3AEUR"
    await watched.send(chosen)
    shown = await _response(watched, f"GET {LINKS}/{link['id']} {head} text/plain\r\n\r\n")
    return UUID(shown["latest_transaction_id"])


async def _response(watched: Watched, raw: str) -> dict[str, Any]:
    status, body = await watched.send(raw)
    if status >= 400:  # noqa: PLR2004 - an error
        raise WrongAnswerError(body.decode())
    return msgspec.json.decode(body)
