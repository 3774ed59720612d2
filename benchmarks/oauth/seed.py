"""The data: ten thousand merchants connected to one application, with tokens, codes and an API key.

The product and the floor have refresh tokens and codes of their own, so that no round changes what another finds.
"""

import secrets
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import asyncpg

from benchmarks.harness.servers import KEYS
from tollhouse.kernel import clock, tokens
from tollhouse.kernel.ids import GrantId, new_id
from tollhouse.kernel.scopes import ALL, API
from tollhouse.oauth import client_auth, refresh_tokens
from tollhouse.platform.encryption import KeyRing

GRANTS = 10_000
CLIENT = "thc_0123456789abcdefghijkl"
CLIENT_SECRET = tokens.mint("thcs")
CALLBACK = "https://app.example/callback"
VERIFIER = secrets.token_urlsafe(32)
GENERATION = 70_001
"""Of the refresh tokens, so that a trace knows it from other numbers."""
TOKEN_LIVES = timedelta(minutes=15)
GRANT_LIVES = timedelta(days=30)
RING = KeyRing(KEYS)

MERCHANTS = """
    INSERT INTO merchants (id, business_name, created_at)
    SELECT uuidv7(), 'Merchant ' || n, now() FROM generate_series(1, $1) n RETURNING id
"""
API_KEYS = """
    WITH key AS (
        INSERT INTO api_keys (id, merchant_id, mode, name, key_hash, scope_mask, hint, created_at)
        SELECT uuidv7(), merchant_id, 'test', 'Key', key_hash, $3, 'th_test', now()
        FROM unnest($1::uuid[], $2::bytea[]) AS m (merchant_id, key_hash)
        RETURNING id
    )
    INSERT INTO api_key_activity (api_key_id, last_used_at) SELECT id, now() + interval '1 hour' FROM key
"""
CLIENT_ROW = """
    INSERT INTO oauth_clients
        (id, merchant_id, client_type, name, description, redirect_uris, scope_mask, status, secret_hash, created_at,
         updated_at)
    VALUES ($1, $2, 'confidential', 'Application', '', ARRAY[$3], $4, 'enabled', $5, now(), now())
"""
# As after an hour of steady calls: a sixtieth of the grants is due to be recorded in each second.
STEADY_USE = """
    INSERT INTO oauth_grant_activity AS a (grant_id, last_used_at)
    SELECT id, now() - random() * interval '60 s' FROM oauth_grants WHERE id = ANY($1::uuid[])
    ON CONFLICT (grant_id) DO UPDATE SET last_used_at = excluded.last_used_at
"""
GRANT_COLUMNS = (
    "id client_id merchant_id mode scope_mask grant_epoch refresh_generation refresh_hash mac_key_id created_at expires_at"
)
ACCESS_COLUMNS = "token_hash grant_id scope_mask expires_at"
CODE_COLUMNS = "code_hash client_id auth_epoch merchant_id mode redirect_uri challenge scope_mask created_at expires_at"
PARTITIONS = "SELECT partitions_make($1)"


class Application:
    """The application, its merchants, and what each party has left of its tokens."""

    def __init__(self, connection: "asyncpg.Connection[Any]") -> None:
        self._connection = connection
        self.merchants: list[UUID] = []
        self.api_keys: list[str] = []
        self.access_tokens: list[str] = []
        self._grants: list[UUID] = []
        self._refresh_tokens: dict[str, list[str]] = {}

    async def open(self) -> None:
        """Create the merchants, the application, API keys and grants with an access token each."""
        await self._connection.execute(PARTITIONS, clock.now())
        self.merchants = [row["id"] for row in await self._connection.fetch(MERCHANTS, GRANTS)]
        secret_hash = tokens.digest(CLIENT_SECRET)
        await self._connection.execute(CLIENT_ROW, CLIENT, self.merchants[0], CALLBACK, ALL.mask, secret_hash)
        self.api_keys = [tokens.mint("th_test") for _ in self.merchants]
        hashes = [tokens.digest(key) for key in self.api_keys]
        await self._connection.execute(API_KEYS, self.merchants, hashes, API.mask)
        self._grants, _ = await self._open_grants()
        self.access_tokens = [tokens.mint("that") for _ in self._grants]
        expires_at = clock.now() + TOKEN_LIVES
        held = zip(self.access_tokens, self._grants, strict=True)
        await self._copy(
            "oauth_access_tokens",
            ACCESS_COLUMNS,
            ((tokens.digest(token), grant, ALL.mask, expires_at) for token, grant in held),
        )

    async def accounts(self, _party: str, _count: int) -> list[str]:
        """Access tokens, with last uses spread over the last minute, as steady calls do."""
        await self._connection.execute(STEADY_USE, self._grants)
        return self.access_tokens

    async def keys(self, _party: str, _count: int) -> list[str]:
        """API keys."""
        return self.api_keys

    async def refreshes(self, party: str, _count: int) -> list[str]:
        """The current refresh tokens of a party."""
        if party not in self._refresh_tokens:
            _, self._refresh_tokens[party] = await self._open_grants()
        return self._refresh_tokens[party]

    def keep(self, party: str, left: list[str]) -> None:
        """Remember the tokens that a round left."""
        self._refresh_tokens[party] = left

    async def codes(self, _party: str, count: int) -> list[str]:
        """So many fresh codes, of all merchants in turn."""
        codes = [tokens.mint("thac") for _ in range(count)]
        await self._copy("oauth_codes", CODE_COLUMNS, self._code_rows(codes, clock.now()))
        return codes

    async def _open_grants(self) -> tuple[list[UUID], list[str]]:
        """A grant with a refresh token for every merchant."""
        ids = [GrantId(new_id()) for _ in self.merchants]
        refresh = [refresh_tokens.mint(RING, grant, GENERATION) for grant in ids]
        now = clock.now()
        rows = (
            (
                grant,
                CLIENT,
                merchant,
                "live",
                ALL.mask,
                1,
                GENERATION,
                tokens.digest(token),
                RING.in_use,
                now,
                now + GRANT_LIVES,
            )
            for grant, merchant, token in zip(ids, self.merchants, refresh, strict=True)
        )
        await self._copy("oauth_grants", GRANT_COLUMNS, rows)
        return list(ids), refresh

    def _code_rows(self, codes: list[str], now: datetime) -> Iterator[tuple[object, ...]]:
        challenge = client_auth.challenge_of(VERIFIER)
        for place, code in enumerate(codes):
            merchant = self.merchants[place % len(self.merchants)]
            yield tokens.digest(code), CLIENT, 1, merchant, "live", CALLBACK, challenge, ALL.mask, now, now + TOKEN_LIVES

    async def _copy(self, table: str, columns: str, rows: Iterator[tuple[Any, ...]]) -> None:
        await self._connection.copy_records_to_table(table, records=rows, columns=columns.split())
