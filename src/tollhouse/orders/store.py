"""What the stores of orders share: rows as objects, objects as columns, lists, external ids, the test clock."""

import re
from collections.abc import Callable
from datetime import timedelta
from functools import cache
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from tollhouse.http.paging import Window
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import NotFound
from tollhouse.kernel.ids import MerchantId
from tollhouse.orders.errors import DuplicateExternalId
from tollhouse.platform.db import Pool, Row, Tx
from tollhouse.platform.records import Selected

T = TypeVar("T")
S = TypeVar("S", bound=Struct)
JSON_COLUMNS = frozenset({"metadata", "provider_fields", "recipient"})
INSERT_COLUMNS = re.compile(r"INSERT INTO \w+ \(([^)]*)\)")
GET_CLOCK_OFFSET = "SELECT ahead FROM test_clocks WHERE merchant_id = $1 AND mode = $2"
CLOCK_OFFSET = Selected(
    "coalesce((SELECT c.ahead FROM test_clocks c WHERE (c.merchant_id, c.mode) = ({row}.merchant_id, {row}.mode)), '0')"
)
"""How far the merchant of a row has advanced its test clock."""


def order_of(kind: type[S], row: Row, **members: Any) -> S:
    """An object of a row whose columns are named like its members; `merchant_id` and `mode` make its `env`."""
    columns: dict[str, Any] = dict(row) | members | {"env": env_of(row)}
    for name in JSON_COLUMNS & columns.keys():
        columns[name] = msgspec.json.decode(columns[name])
    return kind(**{name: columns[name] for name in kind.__struct_fields__ if name in columns})


def env_of(row: Row) -> MerchantEnv:
    """The environment that a row belongs to."""
    return MerchantEnv(MerchantId(row["merchant_id"]), row["mode"])


def values_of(order: Any, insert: str, **others: object) -> list[object]:
    """The values of an INSERT statement's columns, in their order: members of the object, and `others` by name."""
    others |= {"merchant_id": order.env.merchant_id, "mode": order.env.mode}
    values = [others[column] if column in others else getattr(order, column) for column in _columns_of(insert)]
    return [msgspec.json.encode(value).decode() if isinstance(value, dict) else value for value in values]


async def fetch_one(db: Pool | Tx, of: Callable[[Row], T], sql: str, *values: object) -> T:
    """The object of the one row that a statement finds. Raises `NotFound`."""
    row = await db.fetchrow(sql, *values)
    if row is None:
        raise NotFound
    return of(row)


async def fetch_page(db: Pool | Tx, of: Callable[[Row], T], sql: str, window: Window, *values: object) -> list[T]:
    """The objects of a page of a list. The window's values are the last parameters of the statement."""
    return [of(row) for row in await db.fetch_custom_plan(sql, *values, *msgspec.structs.astuple(window))]


async def ensure_external_id_unused(tx: Tx, id_by_external_id: str, env: MerchantEnv, external_id: str | None) -> None:
    """Raises `DuplicateExternalId` where the statement finds an object with this external id."""
    if external_id is None:
        return
    existing_id = await tx.fetchval(id_by_external_id, env.merchant_id, env.mode, external_id)
    if existing_id is not None:
        raise DuplicateExternalId(existing_id)


async def clock_offset(db: Pool | Tx, env: MerchantEnv) -> timedelta:
    """How far the merchant has advanced its test clock; zero in live mode."""
    row = None if env.livemode else await db.fetchrow(GET_CLOCK_OFFSET, env.merchant_id, env.mode)
    return timedelta() if row is None else row["ahead"]


@cache
def _columns_of(insert: str) -> tuple[str, ...]:
    found = INSERT_COLUMNS.search(insert)
    if found is None:
        raise ValueError("this is no INSERT statement with columns")
    return tuple(found[1].replace(",", " ").split())
