"""What is over in OAuth is forgotten: old requests, old codes, partitions of tokens whose time is past.

Nothing depends on these jobs but the size of the tables. Grants stay: they are the history that both sides can read.
"""

from collections.abc import Awaitable, Callable
from datetime import timedelta

from tollhouse.http.services import Services
from tollhouse.identity.cleaning import forget
from tollhouse.kernel import clock
from tollhouse.kernel.limits import GRANT_S
from tollhouse.oauth import cleaning_store
from tollhouse.platform import partitions

REQUESTS_KEPT = timedelta(hours=1)
"""Longer than a request can be answered: so that a page left open can say why it is too late."""

CODES_KEPT = timedelta(seconds=GRANT_S) + timedelta(days=1)
"""As long as its grant can live: a code that comes again must still end it."""

TOKENS_KEPT = timedelta(hours=6)
"""For some hours a token that is over can still be given back, which ends its living grant."""


async def forget_requests(services: Services) -> None:
    """Authorization requests, answered or not."""
    await forget(services.db, cleaning_store.FORGET_REQUESTS, clock.now() - REQUESTS_KEPT)


async def forget_codes(services: Services) -> None:
    """Codes, used or not."""
    await forget(services.db, cleaning_store.FORGET_CODES, clock.now() - CODES_KEPT)


async def drop_token_partitions(services: Services) -> None:
    """Access tokens, six hours of them at a time, without touching a row."""
    await partitions.drop_ended(services.db, "oauth_access_tokens", clock.now() - TOKENS_KEPT)


JOBS: list[tuple[int, Callable[[Services], Awaitable[None]]]] = [
    (600, forget_requests),
    (3600, forget_codes),
    (3600, drop_token_partitions),
]
"""Seconds between two runs, and what is done."""
