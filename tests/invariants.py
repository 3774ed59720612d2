"""The invariants, checked as `tollhouse check` checks them."""

from tollhouse import main
from tollhouse.platform.db import Pool


async def broken_invariants(dsn: str) -> list[str]:
    """A line for each that does not hold."""
    pool = Pool(dsn, 1)
    try:
        return await main.broken_invariants(pool)
    finally:
        await pool.close()
