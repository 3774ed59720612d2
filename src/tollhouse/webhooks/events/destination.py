"""Checks of a webhook address that need no DNS, and the key of a destination."""

import hashlib

from tollhouse.kernel.environment import MerchantEnv
from tollhouse.platform.outgoing.targets import InvalidTargetError, parse_target, url_error
from tollhouse.platform.settings.config import Settings


def check_destination_url(url: str, *, livemode: bool, settings: Settings) -> str | None:
    """None if the address is allowed, else the message for the caller.

    Only the text is checked here; the resolved addresses are checked on each delivery.
    """
    return url_error(url, settings, if_http="This must be an https URL in live mode." if livemode else None)


def destination_key(env: MerchantEnv, url: str) -> int:
    """A number for a merchant's environment and a receiving host.

    The upper bits are the environment's, so that a merchant's keys are adjacent. An address saved under older rules has
    a key too: its delivery fails, the transaction must not.
    """
    try:
        target = parse_target(url)
        host = f"{target.scheme}://{target.host}:{target.port}"
    except InvalidTargetError:
        host = url
    return (_hash(f"{env.merchant_id}|{env.mode}") >> 32) << 31 | _hash(host) >> 33


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])
