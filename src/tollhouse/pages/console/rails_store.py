"""SQL of the rails of live mode: what their workers measured last."""

from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct

from tollhouse.platform.database.pool import Pool

LIST_MEASURED = """
    SELECT rail, r.reason, r.facts, r.checked_at, p.reason AS payout_reason, p.currencies_down, p.facts AS payout_facts,
           p.checked_at AS payouts_checked_at
    FROM rail_health r FULL JOIN chain_payout_health p USING (rail, mode) WHERE mode = 'live'
"""


class MeasuredRail(Struct, frozen=True, kw_only=True):
    """The last measurement of a rail and of its payouts, None before the first. A reason says why there are none."""

    reason: str | None
    facts: dict[str, Any]
    checked_at: datetime | None
    payout_reason: str | None
    currencies_down: frozenset[str]
    payout_facts: dict[str, Any]
    payouts_checked_at: datetime | None


async def list_measured(db: Pool) -> dict[str, MeasuredRail]:
    """The measurements by rail."""
    return {
        row["rail"]: MeasuredRail(
            reason=row["reason"],
            facts=_facts(row["facts"]),
            checked_at=row["checked_at"],
            payout_reason=row["payout_reason"],
            currencies_down=frozenset(row["currencies_down"] or ()),
            payout_facts=_facts(row["payout_facts"]),
            payouts_checked_at=row["payouts_checked_at"],
        )
        for row in await db.fetch(LIST_MEASURED)
    }


def _facts(raw: str | None) -> dict[str, Any]:
    return {} if raw is None else msgspec.json.decode(raw)
