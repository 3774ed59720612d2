"""How long requests are kept and shown: `TOLLHOUSE_REQUEST_LOG_DAYS`."""

from datetime import datetime, timedelta

from tollhouse.http.services import Services


def kept_since(services: Services, now: datetime) -> datetime:
    """The time from which requests are shown."""
    return now - timedelta(days=services.settings.request_log_kept_days)
