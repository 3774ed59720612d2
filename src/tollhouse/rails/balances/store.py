"""SQL of measured balances of rails, and of the operator's money on them."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from uuid import UUID

import msgspec

from tollhouse.kernel.ids import Mode
from tollhouse.platform.database.pool import Pool, Row, Tx
from tollhouse.rails.balances.model import RailBalance, RailStatus

HISTORY_KEPT = timedelta(days=30)
AFTER_FLOAT = timedelta(minutes=1)
"""When a rail is measured after the operator has booked money, if not earlier."""

# The worker that moves the time of the next measurement makes this one.
CLAIM = """
    INSERT INTO rail_measurements AS m (rail, mode, next_at) VALUES ($1, $2, $3::timestamptz + $4::interval)
    ON CONFLICT (rail, mode) DO UPDATE SET next_at = excluded.next_at WHERE m.next_at <= $3
    RETURNING rail
"""
MEASURE_NEXT = """
    INSERT INTO rail_measurements (rail, mode, next_at, failure) VALUES ($1, $2, $3, $4)
    ON CONFLICT (rail, mode) DO UPDATE SET next_at = excluded.next_at, failure = excluded.failure
"""
INSERT = """
    INSERT INTO rail_balances (rail, mode, currency, measured_at, decimals, outside_units, ledger_units, in_flight_units,
                               difference_units, tolerance_units, facts)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
    ON CONFLICT (rail, mode, currency, measured_at) DO NOTHING
"""
DELETE_OLD = "DELETE FROM rail_balances WHERE rail = $1 AND mode = $2 AND measured_at < $3"
COLUMNS = "b.rail, b.mode, b.currency, b.measured_at, b.decimals, b.ledger_units, b.tolerance_units, b.facts"
LATEST = f"""
    SELECT {COLUMNS}, m.failure,
           (SELECT min(d.measured_at) FROM rail_balances d
            WHERE (d.rail, d.mode, d.currency) = (b.rail, b.mode, b.currency)
              AND d.measured_at > coalesce(
                  (SELECT max(a.measured_at) FROM rail_balances a
                   WHERE (a.rail, a.mode, a.currency) = (b.rail, b.mode, b.currency)
                     AND abs(a.difference_units) <= a.tolerance_units), '-infinity')) AS differs_since
    FROM (SELECT DISTINCT ON (rail, mode, currency) * FROM rail_balances
          ORDER BY rail, mode, currency, measured_at DESC) b
    JOIN rail_measurements m ON (m.rail, m.mode) = (b.rail, b.mode)
    ORDER BY b.rail, b.mode, b.currency
"""
HISTORY = f"""
    SELECT {COLUMNS} FROM rail_balances b WHERE b.rail = $1 AND b.mode = $2 AND b.currency = $3
    ORDER BY b.measured_at DESC LIMIT $4
"""
# A rail that was removed from the rails file is not measured any more.
FAILURES = """
    SELECT rail, mode, failure FROM rail_measurements
    WHERE failure IS NOT NULL AND next_at > now() - interval '1 day' ORDER BY rail, mode
"""
COUNT_FLOATS = "SELECT currency, count(*) AS floats FROM rail_floats WHERE rail = $1 AND mode = $2 GROUP BY currency"
MEASURE_SOON = "UPDATE rail_measurements SET next_at = $3 WHERE rail = $1 AND mode = $2 AND next_at > $3"
INSERT_FLOAT = """
    INSERT INTO rail_floats (id, rail, mode, currency, amount_minor, created_at) VALUES ($1, $2, $3, $4, $5, $6)
"""


class BalanceFacts(msgspec.Struct, frozen=True):
    """What a measurement is made of. Units are texts: they have more digits than JSON's numbers."""

    as_of: str
    places: dict[str, str]
    in_flight: dict[str, str]


async def claim(db: Pool, rail: str, mode: Mode, now: datetime, interval: timedelta) -> bool:
    """Whether the rail is due and this caller is to measure it. Nobody else will for this interval."""
    return await db.fetchrow(CLAIM, rail, mode, now, interval) is not None


async def measure_next(db: Pool | Tx, rail: str, mode: Mode, at: datetime, failure: str | None) -> None:
    """Record when the rail is measured again, and why it could not be measured now."""
    await db.execute(MEASURE_NEXT, rail, mode, at, failure)


async def insert(tx: Tx, balances: Sequence[RailBalance]) -> None:
    """Insert the balances of one measurement, and delete those that are too old."""
    for balance in balances:
        facts = BalanceFacts(balance.as_of, _texts(balance.places), _texts(balance.in_flight))
        amounts = (
            balance.outside_units,
            balance.ledger_units,
            balance.in_flight_units,
            balance.difference_units,
            balance.tolerance_units,
        )
        await tx.execute(
            INSERT,
            *(balance.rail, balance.mode, balance.currency, balance.measured_at, balance.decimals),
            *(Decimal(amount) for amount in amounts),
            msgspec.json.encode(facts).decode(),
        )
        await tx.execute(DELETE_OLD, balance.rail, balance.mode, balance.measured_at - HISTORY_KEPT)


async def list_latest(db: Pool) -> list[RailStatus]:
    """The newest balance of each currency of each rail."""
    return [RailStatus(_balance(row), row["differs_since"], row["failure"]) for row in await db.fetch(LATEST)]


async def list_history(db: Pool, rail: str, mode: Mode, currency: str, limit: int) -> list[RailBalance]:
    """The balances of a currency of a rail, newest first."""
    return [_balance(row) for row in await db.fetch(HISTORY, rail, mode, currency, limit)]


async def list_failures(db: Pool) -> dict[tuple[str, Mode], str]:
    """Why rails could not be measured last, by rail."""
    return {(row["rail"], row["mode"]): row["failure"] for row in await db.fetch(FAILURES)}


async def count_floats(tx: Tx, rail: str, mode: Mode) -> dict[str, int]:
    """How often the operator put money on a rail or took it, by currency."""
    return {row["currency"]: row["floats"] for row in await tx.fetch(COUNT_FLOATS, rail, mode)}


async def insert_float(
    tx: Tx, float_id: UUID, rail: str, mode: Mode, currency: str, amount_minor: int, now: datetime
) -> None:
    """Record money that the operator put on a rail, or took if the amount is negative. The rail is measured again."""
    await tx.execute(INSERT_FLOAT, float_id, rail, mode, currency, amount_minor, now)
    await tx.execute(MEASURE_SOON, rail, mode, now + AFTER_FLOAT)


def _balance(row: Row) -> RailBalance:
    facts = msgspec.json.decode(row["facts"], type=BalanceFacts)
    return RailBalance(
        rail=row["rail"],
        mode=row["mode"],
        currency=row["currency"],
        measured_at=row["measured_at"],
        as_of=facts.as_of,
        decimals=row["decimals"],
        places={name: int(units) for name, units in facts.places.items()},
        ledger_units=int(row["ledger_units"]),
        in_flight={kind: int(units) for kind, units in facts.in_flight.items()},
        tolerance_units=int(row["tolerance_units"]),
    )


def _texts(amounts: Mapping[str, int]) -> dict[str, str]:
    return {name: str(units) for name, units in amounts.items()}
