"""The `webhook_url` of an order."""

from collections.abc import Iterator

from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import FieldError
from tollhouse.platform.settings.config import Settings
from tollhouse.webhooks.events.destination import check_destination_url


def destination_errors(webhook_url: str | None, env: MerchantEnv, settings: Settings) -> Iterator[FieldError]:
    """The error of an address that events cannot be delivered to."""
    if webhook_url is not None:
        message = check_destination_url(webhook_url, livemode=env.livemode, settings=settings)
        if message is not None:
            yield FieldError("webhook_url", "invalid_url", message)
