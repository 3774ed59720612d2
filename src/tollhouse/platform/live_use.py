"""Whether a service is in live use, or only started on one's own machine. Operators' pages are stricter in live use."""

from urllib.parse import urlsplit

from tollhouse.platform.config import Settings

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


def in_live_use(settings: Settings) -> bool:
    """Whether others can reach it, or a bank account is set."""
    return settings.secure or settings.bank_iban is not None or urlsplit(settings.base_url).hostname not in LOOPBACK
