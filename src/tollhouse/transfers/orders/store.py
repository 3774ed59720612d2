"""What the stores of orders share: lists, external ids, the test clock."""

from collections.abc import Callable
from datetime import timedelta
from typing import TypeVar

import msgspec

from tollhouse.http.lists import Window
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import NotFound
from tollhouse.kernel.ids import MerchantId
from tollhouse.platform.database.pool import Pool, Row, Tx
from tollhouse.platform.database.records import Selected
from tollhouse.transfers.orders.errors import DuplicateExternalId

T = TypeVar("T")
GET_CLOCK_OFFSET = "SELECT ahead FROM test_clocks WHERE merchant_id = $1 AND mode = $2"
CLOCK_OFFSET = Selected(
    "coalesce((SELECT c.ahead FROM test_clocks c WHERE (c.merchant_id, c.mode) = ({row}.merchant_id, {row}.mode)), '0')"
)
"""How far the merchant of a row has advanced its test clock."""


def env_of(row: Row) -> MerchantEnv:
    """The environment that a row belongs to."""
    return MerchantEnv(MerchantId(row["merchant_id"]), row["mode"])


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
    row = None if env.livemode else await db.read_row(GET_CLOCK_OFFSET, env.merchant_id, env.mode)
    return timedelta() if row is None else row["ahead"]
