"""The operator's account at the card provider, with its secrets."""

from msgspec import Struct

from tollhouse.rails.settings import STRIPE_API_URL, StripeSettings, secret


class StripeAccount(Struct, frozen=True, kw_only=True):
    """Where the API is, and the secrets, of which `repr` shows none. See `StripeSettings`."""

    rail: str
    secret_key: str
    webhook_secrets: tuple[bytes, ...]
    api_url: str = STRIPE_API_URL
    statement_suffix: str | None = None
    takes_test_payments: bool = False

    def __repr__(self) -> str:
        return f"StripeAccount({self.rail!r}, {self.api_url!r})"


def read_account(rail: str, settings: StripeSettings) -> StripeAccount:
    """The account that these settings describe. Raises `ValueError` if a file has gone since they were verified."""
    return StripeAccount(
        rail=rail,
        secret_key=secret(None, settings.secret_key_file) or "",
        webhook_secrets=tuple((secret(None, file) or "").encode() for file in settings.webhook_secret_files),
        api_url=settings.api_url,
        statement_suffix=settings.statement_suffix,
        takes_test_payments=settings.takes_test_payments,
    )
