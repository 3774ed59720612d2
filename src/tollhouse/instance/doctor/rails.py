"""The rails of block chains: whether a worker measures them, and whether they take payments and pay out."""

from datetime import datetime

from tollhouse.instance.doctor.model import Finding
from tollhouse.kernel.rails.chain import HEALTH_EXPIRES_AFTER
from tollhouse.pages.console.overview_store import MeasuredRail, list_measured
from tollhouse.platform.database.pool import Pool
from tollhouse.platform.settings.config import Settings
from tollhouse.rails import settings as rail_settings
from tollhouse.rails.settings import StripeSettings

SEE = "See the page Rails of the console and docs/rails.md."


async def examine_rails(settings: Settings, pool: Pool, now: datetime) -> list[Finding]:
    """A finding for each rail of the rails file that is followed by the worker. Raises `InvalidSettingsError`."""
    described = rail_settings.load(settings.rails_file)
    names = [name for name, rail in described.items() if not isinstance(rail, StripeSettings)]
    measured = await list_measured(pool) if names else {}
    return [_finding(name, measured.get(name), now) for name in names]


def _finding(name: str, measured: MeasuredRail | None, now: datetime) -> Finding:
    check = f"rail {name}"
    if measured is None or measured.checked_at is None or now - measured.checked_at > HEALTH_EXPIRES_AFTER:
        advice = "Start a worker with TOLLHOUSE_RAILS_FILE, and read its log."
        return Finding(check, "failure", "No worker measures it, so it takes no payments.", advice)
    if measured.reason is not None:
        return Finding(check, "failure", f"It takes no payments: {measured.reason}.", SEE)
    if measured.payout_reason is not None:
        return Finding(check, "warning", f"Payouts wait: {measured.payout_reason}.", SEE)
    if measured.currencies_down:
        return Finding(check, "warning", f"The wallet has too little {', '.join(sorted(measured.currencies_down))}.", SEE)
    return Finding(check, "ok", f"Measured at block {measured.facts.get('tip')}.")
