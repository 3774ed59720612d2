"""Documents at URLs of applications: fetched by the rules of webhooks, bounded in size and time, throttled, and kept."""

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

from tollhouse.accounts.identity import throttle
from tollhouse.accounts.identity.throttle import FailureLimit
from tollhouse.http.services import Services
from tollhouse.oauth import documents_store
from tollhouse.oauth.documents_store import Document
from tollhouse.platform.outgoing.outbound import Outbound
from tollhouse.platform.outgoing.targets import InvalidTargetError, parse_target

BYTES_MAX = 64 * 1_024
DEADLINE_S = 5
FETCHES_PER_HOST = 30
Redraw = Callable[[bytes], Awaitable[bytes]]
HEADERS = {"User-Agent": "Tollhouse"}


class FetchError(Exception):
    """The document could not be fetched. The message is for the log."""


async def get(
    services: Services, url: str, now: datetime, max_age: timedelta, *limits: FailureLimit, redraw: Redraw | None = None
) -> Document:
    """The document at an https URL, at most so old. Raises `FetchError`, also where a limit is reached.

    With `redraw`, an image: what that makes of it is kept, apart from documents at the same URL.
    """
    key = url if redraw is None else f"image {url}"
    kept = await documents_store.find(services.db, key)
    if kept is not None and now - max_age < kept.fetched_at:
        return kept
    try:
        target = parse_target(url)
    except InvalidTargetError:
        raise FetchError("blocked_destination") from None
    if target.scheme != "https":
        raise FetchError("not https")
    if services.settings.rate_limits:
        of_host = FailureLimit("documents of", target.host, FETCHES_PER_HOST, throttle.MINUTE)
        if await throttle.record_failure(services.db, [*limits, of_host], now) is not None:
            raise FetchError("fetched too often")
    async with Outbound(services.settings, deadline_s=DEADLINE_S) as outbound:
        outcome = await outbound.get(url, HEADERS, kept_bytes=BYTES_MAX + 1)
    if outcome.error is not None:
        raise FetchError(outcome.error)
    if len(outcome.body) > BYTES_MAX:
        raise FetchError("too large")
    document = Document(outcome.body if redraw is None else await redraw(outcome.body), now)
    await documents_store.save(services.db, key, document)
    return document
