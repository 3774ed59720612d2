"""The data: ten thousand merchants connected to one application, once for each of those who are measured.

Everybody has grants, tokens and codes of their own, so that nobody's rounds change what the others find.
"""

import secrets
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import asyncpg
from msgspec import Struct

from benchmarks.oauth import bare_tokens
from tollhouse.kernel import clock, tokens
from tollhouse.kernel.ids import GrantId, new_id
from tollhouse.kernel.scopes import ALL
from tollhouse.oauth import pkce, refresh_tokens
from tollhouse.platform.encryption import KeyRing

GRANTS = 10_000
CLIENT = "thc_0123456789abcdefghijkl"
CLIENT_SECRET = tokens.mint("thcs")
CALLBACK = "https://app.example/callback"
VERIFIER = secrets.token_urlsafe(32)
KEYS = (("bench", secrets.token_bytes(32)),)
TOKEN_LIVES = timedelta(minutes=15)
GRANT_LIVES = timedelta(days=30)

MERCHANTS = """
    INSERT INTO merchants (id, business_name, created_at)
    SELECT uuidv7(), 'Merchant ' || n, now() FROM generate_series(1, $1) n
"""
MERCHANT_IDS = "SELECT id FROM merchants ORDER BY id LIMIT $1"
CLIENT_ROW = """
    INSERT INTO oauth_clients
        (id, merchant_id, client_type, name, description, redirect_uris, scope_mask, status, secret_hash, created_at,
         updated_at)
    SELECT $1, id, 'confidential', 'Application', '', ARRAY[$2], $3, 'enabled', $4, now(), now() FROM merchants LIMIT 1
"""
# As after an hour of steady calls: a sixtieth of the grants falls due to be noted in each second.
STEADY_USE = """
    INSERT INTO oauth_grant_activity AS a (grant_id, last_used_at)
    SELECT id, now() - random() * interval '60 s' FROM oauth_grants WHERE id = ANY($1::uuid[])
    ON CONFLICT (grant_id) DO UPDATE SET last_used_at = excluded.last_used_at
"""
GRANT_COLUMNS = "id client_id merchant_id mode scope_mask grant_epoch refresh_hash mac_key_id created_at expires_at"
ACCESS_COLUMNS = "token_hash grant_id scope_mask expires_at"
CODE_COLUMNS = "code_hash client_id auth_epoch merchant_id mode redirect_uri challenge scope_mask created_at expires_at"
PARTITIONS = "SELECT partitions_make($1)"


class Forms(Struct, frozen=True):
    """How somebody's tokens are spelt."""

    access_token: Callable[[], str]
    refresh_token: Callable[[UUID, int], str]
    code: Callable[[], str]


class Side(Struct):
    """What one of those who are measured can be asked with."""

    forms: Forms
    grant_ids: list[UUID]
    access_tokens: list[str]
    refresh_tokens: list[str]
    codes: list[str]


_RING = KeyRing(KEYS)
PRODUCT = Forms(
    lambda: tokens.mint("that"), lambda grant, turn: refresh_tokens.mint(_RING, grant, turn), lambda: tokens.mint("thac")
)
BARE = Forms(bare_tokens.random_token, bare_tokens.refresh_token, bare_tokens.random_token)


async def harness(connection: "asyncpg.Connection[asyncpg.Record]") -> None:
    """Merchants, and the application they are connected to."""
    await connection.execute(PARTITIONS, clock.now())
    await connection.execute(MERCHANTS, GRANTS)
    await connection.execute(CLIENT_ROW, CLIENT, CALLBACK, ALL.mask, tokens.digest(CLIENT_SECRET))


async def side(connection: "asyncpg.Connection[asyncpg.Record]", forms: Forms) -> Side:
    """A grant with an access and a refresh token for every merchant."""
    merchants = [row["id"] for row in await connection.fetch(MERCHANT_IDS, GRANTS)]
    ids = [GrantId(new_id()) for _ in merchants]
    opened = Side(forms, list(ids), [forms.access_token() for _ in ids], [forms.refresh_token(id_, 0) for id_ in ids], [])
    now = clock.now()
    grants = (
        (id_, CLIENT, merchant, "live", ALL.mask, 1, tokens.digest(refresh), _RING.in_use, now, now + GRANT_LIVES)
        for id_, merchant, refresh in zip(ids, merchants, opened.refresh_tokens, strict=True)
    )
    await _copy(connection, "oauth_grants", GRANT_COLUMNS, grants)
    held = zip(opened.access_tokens, ids, strict=True)
    access = ((tokens.digest(token), id_, ALL.mask, now + TOKEN_LIVES) for token, id_ in held)
    await _copy(connection, "oauth_access_tokens", ACCESS_COLUMNS, access)
    return opened


async def codes(connection: "asyncpg.Connection[asyncpg.Record]", side: Side, count: int) -> None:
    """So many fresh codes, of all merchants in turn."""
    merchants = [row["id"] for row in await connection.fetch(MERCHANT_IDS, GRANTS)]
    side.codes = [side.forms.code() for _ in range(count)]
    await _copy(connection, "oauth_codes", CODE_COLUMNS, _code_rows(side.codes, merchants, clock.now()))


def _code_rows(codes: list[str], merchants: list[UUID], now: datetime) -> Iterator[tuple[object, ...]]:
    challenge = pkce.challenge_of(VERIFIER)
    for place, code in enumerate(codes):
        merchant = merchants[place % len(merchants)]
        yield tokens.digest(code), CLIENT, 1, merchant, "live", CALLBACK, challenge, ALL.mask, now, now + TOKEN_LIVES


async def steady_use(connection: "asyncpg.Connection[asyncpg.Record]", side: Side) -> None:
    """Spread the last uses over the last minute, as steady calls do."""
    await connection.execute(STEADY_USE, side.grant_ids)


async def _copy(
    connection: "asyncpg.Connection[asyncpg.Record]", table: str, columns: str, rows: Iterator[tuple[Any, ...]]
) -> None:
    await connection.copy_records_to_table(table, records=rows, columns=columns.split())
