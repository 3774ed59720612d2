"""The table of a card provider in the rails file."""

from collections.abc import Iterator, Sequence
from typing import Annotated
from urllib.parse import urlsplit

from msgspec import Meta

from tollhouse.platform.settings import values as setting_values
from tollhouse.rails.settings import RailSettings, secret

STRIPE_API_URL = "https://api.stripe.com"
STRIPE_TEST_KEYS = ("sk_test_", "rk_test_")


class StripeSettings(RailSettings, frozen=True, forbid_unknown_fields=True, kw_only=True, tag="stripe"):
    """Cards by a provider with Stripe's API.

    All webhook secrets are valid: there are two while one is rotated. `statement_suffix` is added to the text on the
    customer's card statement. `takes_test_payments` takes payments of the provider's test mode for real ones.
    """

    secret_key_file: str
    webhook_secret_files: Annotated[tuple[str, ...], Meta(min_length=1, max_length=3)]
    api_url: str = STRIPE_API_URL
    statement_suffix: Annotated[str, Meta(min_length=1, max_length=22, pattern="^[A-Za-z0-9 .-]+$")] | None = None
    takes_test_payments: bool = False

    def list_errors(self, earlier: Sequence[RailSettings]) -> Iterator[str]:  # noqa: ARG002 - of the interface
        """Yield what is wrong with the table as a whole."""
        address = urlsplit(self.api_url)
        if address.scheme != "https" and not setting_values.is_local_url(self.api_url):
            yield "api_url must start with https://"
        if address.path or address.query:
            yield "api_url must end with the host or port"
        for member, file in (
            ("secret_key_file", self.secret_key_file),
            *(("webhook_secret_files", path) for path in self.webhook_secret_files),
        ):
            try:
                text = secret(None, file)
            except ValueError as error:
                yield f"{member} {error}"
                continue
            if text is None or not (text.isascii() and text.isprintable()):
                yield f"{member} must name a file with one line of ASCII characters"
            elif member == "secret_key_file" and text.startswith(STRIPE_TEST_KEYS) and not self.takes_test_payments:
                yield "the key is of the provider's test mode, in which nobody pays"
