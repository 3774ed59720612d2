"""The bit of a scope is what every stored grant and key means by it: it never changes and is never used again."""

import asyncpg
import pytest

from tests.running import Service
from tollhouse.kernel import scopes

# What is stored in databases out there. A new scope is a new line; a line that is here is never changed or removed.
STORED = {
    "account:read": 0,
    "projects:read": 1,
    "payments:read": 2,
    "payments:write": 3,
    "balances:read": 4,
    "balance-payments:read": 5,
    "balance-payments:write": 6,
    "withdrawals:read": 7,
    "withdrawals:write": 8,
    "conversions:read": 9,
    "conversions:write": 10,
    "fulfillments:read": 11,
    "fulfillments:write": 12,
    "webhooks:read": 13,
    "webhooks:write": 14,
    "settings:read": 15,
    "settings:write": 16,
    "reports:read": 17,
    "offline_access": 18,
}


def test_every_scope_keeps_its_stored_bit() -> None:
    assert {permission.scope: permission.bit for permission in scopes.PERMISSIONS} == STORED
    for name, bit in STORED.items():
        one = scopes.parse([name])
        assert one is not None
        assert one.mask == 1 << bit


def test_the_order_of_the_table_means_nothing() -> None:
    assert len({permission.bit for permission in scopes.PERMISSIONS}) == len(scopes.PERMISSIONS)
    assert scopes.ALL.mask == sum(1 << permission.bit for permission in scopes.PERMISSIONS)
    assert list(scopes.OFFLINE) == ["offline_access"]
    assert not scopes.API & scopes.OFFLINE


async def test_the_database_has_the_same_bits_and_keeps_them(service: Service) -> None:
    connection = await asyncpg.connect(service.dsn)
    try:
        stored = await connection.fetch("SELECT scope, bit FROM scope_bits")
        assert {row["scope"]: row["bit"] for row in stored} == {p.scope: p.bit for p in scopes.PERMISSIONS}
        for change in ("UPDATE scope_bits SET bit = 30 WHERE bit = 3", "DELETE FROM scope_bits", "TRUNCATE scope_bits"):
            with pytest.raises(asyncpg.IntegrityConstraintViolationError):
                await connection.execute(change)
    finally:
        await connection.close()
