"""Checks of a webhook address that need no DNS, and the key of a destination."""

import hashlib

from tollhouse.kernel.environment import MerchantEnv
from tollhouse.platform.outgoing.targets import AddressPolicy, InvalidTargetError, is_local_name, parse_target
from tollhouse.platform.settings.config import Settings

PRIVATE = (
    "This must not be a private, local or reserved address, unless the server's setting TOLLHOUSE_WEBHOOK_ALLOWED_NETWORKS "
    "allows it."
)
LOCAL = (
    "This must have a public host name, unless the server's setting TOLLHOUSE_WEBHOOK_ALLOWED_NETWORKS allows addresses of "
    "its own machine."
)


def check_destination_url(url: str, *, livemode: bool, settings: Settings) -> str | None:
    """None if the address is allowed, else the message for the caller.

    Only the text is checked here; the resolved addresses are checked on each delivery.
    """
    try:
        target = parse_target(url)
    except InvalidTargetError as refused:
        return str(refused)
    if livemode and target.scheme != "https":
        return "This must be an https URL in live mode."
    gate = AddressPolicy(settings)
    if target.literal is not None:
        return PRIVATE if gate.blocks(target.literal) else None
    if is_local_name(target.host) and not gate.allows_local_names:
        return LOCAL
    return None


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
