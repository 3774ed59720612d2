"""The audit log is kept for years, and then forgotten: addresses of people are in it."""

from collections.abc import Awaitable, Callable
from datetime import timedelta

from tollhouse.audit_log import cleaning_store
from tollhouse.http.services import Services
from tollhouse.identity.cleaning import forget
from tollhouse.kernel import clock


async def forget_lines(services: Services) -> None:
    """Lines that were kept long enough."""
    if days := services.settings.audit_kept_days:
        await forget(services.db, cleaning_store.FORGET_LINES, clock.now() - timedelta(days=days))


JOBS: list[tuple[int, Callable[[Services], Awaitable[None]]]] = [(3600, forget_lines)]
"""Seconds between two runs, and what is done."""
