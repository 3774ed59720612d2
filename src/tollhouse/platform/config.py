"""The settings: one frozen object, read from the environment once. All errors are reported together before the start."""

import base64
import binascii
import os
from collections.abc import Callable, Mapping
from ipaddress import IPv4Address, IPv4Network, IPv6Network
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from msgspec import Struct

from tollhouse.kernel import limits
from tollhouse.platform import setting_values
from tollhouse.platform.smtp import Relay, parse_mailbox, parse_relay

KEY_BYTES = 32


class Settings(Struct, frozen=True, kw_only=True):
    """All settings. `tollhouse config` prints them."""

    database_url: str | None
    migration_database_url: str | None
    deprecated_webhooks: bool
    base_url: str
    data_dir: Path
    secret_keys: tuple[tuple[str, bytes], ...]
    bank_iban: str | None
    bank_bic: str | None
    bank_holder: str | None
    catalogue_file: Path | None
    signup_open: bool
    smtp: Relay | None
    mail_from: str | None
    rate_limits: bool
    rate_client_auth_per_min: int
    rate_signin_account_per_15_min: int
    rate_signin_address_per_15_min: int
    rate_signup_address_per_15_min: int
    rate_authorize_address_per_min: int
    password_queue: int
    rate_webhook_test_per_min: int
    rate_api_per_min: int
    connections_max: int
    connections_per_address_max: int
    request_header_timeout_s: float
    request_body_timeout_s: float
    keep_alive_timeout_s: float
    response_timeout_s: float
    trusted_proxies: tuple[IPv4Network | IPv6Network, ...]
    hsts_subdomains: bool
    webhook_source_ip: IPv4Address | None
    ingress_ip: IPv4Address | None
    webhook_allowed_networks: tuple[IPv4Network, ...]
    webhook_ca_file: Path | None
    webhook_retry_schedule: tuple[float, ...]
    webhook_events_kept_days: int
    request_log_kept_days: int
    audit_kept_days: int
    authorization_request_ttl: int
    authorization_code_ttl: int
    access_token_ttl: int
    grant_ttl: int

    @property
    def secure(self) -> bool:
        """Whether browsers use https."""
        return self.base_url.startswith("https://")

    @property
    def origin(self) -> str:
        """Scheme, host and port of the base URL, as in an Origin header."""
        parts = urlsplit(self.base_url)
        return f"{parts.scheme}://{parts.netloc.lower()}"

    @property
    def host(self) -> str:
        """Host and port of the base URL as in a Host header, without the default port of the scheme."""
        return setting_values.bare_host(self.base_url)

    @property
    def is_local(self) -> bool:
        """Whether the base URL is on this machine, as in development."""
        return setting_values.is_local_name(urlsplit(self.base_url).hostname or "")

    @property
    def is_production(self) -> bool:
        """Whether others can reach the service, or it has a bank account. Operator pages are stricter then."""
        return self.secure or self.bank_iban is not None or not self.is_local

    @property
    def sender(self) -> str:
        """The sender of emails."""
        return self.mail_from or f"Tollhouse <tollhouse@{urlsplit(self.base_url).hostname}>"


class Setting(NamedTuple):
    """One environment variable: field, meaning, default as text and parser; `exact`: surrounding spaces count."""

    name: str
    field: str
    meaning: str
    default: str
    read: Callable[[str], Any]
    secret: bool = False
    exact: bool = False


class InvalidSettingsError(Exception):
    """The environment has invalid settings: `field_errors` lists all of them."""

    def __init__(self, field_errors: list[str]) -> None:
        self.field_errors = field_errors
        super().__init__("\n".join(field_errors))


def _or_none(read: Callable[[str], Any]) -> Callable[[str], Any]:
    return lambda text: read(text) if text else None


def _choice(yes: str, no: str) -> Callable[[str], bool]:
    def read(text: str) -> bool:
        if text not in {yes, no}:
            raise ValueError(f"must be {yes} or {no}")
        return text == yes

    return read


def key_ring(text: str) -> tuple[tuple[str, bytes], ...]:
    """The keys of a key ring setting, the one in use first. Raises `ValueError`."""
    ring: list[tuple[str, bytes]] = []
    for part in text.split(",") if text else []:
        name, colon, encoded = part.strip().partition(":")
        try:
            key = base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4))
        except (binascii.Error, ValueError):
            key = b""
        if not name or not colon or len(key) != KEY_BYTES:
            raise ValueError("each key must be id:base64url of 32 bytes, separated by commas")
        ring.append((name, key))
    if len({name for name, _ in ring}) != len(ring):
        raise ValueError("each key needs an id of its own")
    return tuple(ring)


SETTINGS: tuple[Setting, ...] = (
    Setting("DATABASE_URL", "database_url", "PostgreSQL to use; empty: the embedded one", "", _or_none(str), secret=True),
    Setting(
        "TOLLHOUSE_MIGRATION_DATABASE_URL",
        "migration_database_url",
        "PostgreSQL as the owner of the tables, for migrations; empty: the role of DATABASE_URL owns them",
        "",
        _or_none(str),
        secret=True,
    ),
    Setting("NOTIFY_DEPRECATED_WH", "deprecated_webhooks", "true: saved webhook URLs work", "", "true".__eq__, exact=True),
    Setting(
        "TOLLHOUSE_BASE_URL",
        "base_url",
        "where browsers and clients reach us",
        "http://localhost:8000",
        setting_values.base_url,
    ),
    Setting("TOLLHOUSE_DATA_DIR", "data_dir", "folder of the embedded database and its keys", "", Path),
    Setting("TOLLHOUSE_SECRET_KEYS", "secret_keys", "key ring, id:base64url of 32 bytes, first in use", "", key_ring, True),
    Setting("TOLLHOUSE_BANK_IBAN", "bank_iban", "account of the bank rail", "", _or_none(setting_values.iban)),
    Setting("TOLLHOUSE_BANK_BIC", "bank_bic", "bank of the bank rail", "", _or_none(setting_values.bic)),
    Setting("TOLLHOUSE_BANK_HOLDER", "bank_holder", "account holder of the bank rail", "", _or_none(setting_values.holder)),
    Setting(
        "TOLLHOUSE_CATALOGUE_FILE",
        "catalogue_file",
        "TOML file of added currencies and fees",
        "",
        _or_none(setting_values.file),
    ),
    Setting(
        "TOLLHOUSE_SIGNUP", "signup_open", "open or closed: whether strangers may sign up", "open", _choice("open", "closed")
    ),
    Setting(
        "TOLLHOUSE_SMTP_URL", "smtp", "relay for mail; empty: mails stand in the log", "", _or_none(parse_relay), secret=True
    ),
    Setting(
        "TOLLHOUSE_MAIL_FROM", "mail_from", "who our mail is from, such as Shop <a@b.example>", "", _or_none(parse_mailbox)
    ),
    Setting("TOLLHOUSE_RATE_LIMITS", "rate_limits", "on or off: all rate limits", "on", _choice("on", "off")),
    Setting(
        "TOLLHOUSE_RATE_CLIENT_AUTH",
        "rate_client_auth_per_min",
        "failed client authentications a minute",
        "30",
        setting_values.count,
    ),
    Setting(
        "TOLLHOUSE_RATE_SIGNIN_ACCOUNT",
        "rate_signin_account_per_15_min",
        "failed sign-ins of an account",
        "10",
        setting_values.count,
    ),
    Setting(
        "TOLLHOUSE_RATE_SIGNIN_ADDRESS",
        "rate_signin_address_per_15_min",
        "failed sign-ins of an address",
        "100",
        setting_values.count,
    ),
    Setting(
        "TOLLHOUSE_RATE_SIGNUP_ADDRESS",
        "rate_signup_address_per_15_min",
        "sign-ups of an address in 15 minutes",
        "300",
        setting_values.count,
    ),
    Setting(
        "TOLLHOUSE_RATE_AUTHORIZE_ADDRESS",
        "rate_authorize_address_per_min",
        "authorization requests of an address without a session, a minute",
        "120",
        setting_values.count,
    ),
    Setting(
        "TOLLHOUSE_PASSWORD_QUEUE",
        "password_queue",
        "passwords that may wait for a thread, of each kind of caller; beyond: 503",
        "32",
        setting_values.count,
    ),
    Setting(
        "TOLLHOUSE_RATE_WEBHOOK_TEST", "rate_webhook_test_per_min", "webhook tests a minute", "10", setting_values.count
    ),
    Setting(
        "TOLLHOUSE_RATE_API", "rate_api_per_min", "API requests a minute of one credential", "1000", setting_values.count
    ),
    Setting(
        "TOLLHOUSE_CONNECTIONS_MAX",
        "connections_max",
        "open connections of one web process",
        "4000",
        setting_values.connections,
    ),
    Setting(
        "TOLLHOUSE_CONNECTIONS_PER_ADDRESS_MAX",
        "connections_per_address_max",
        "open connections of one address to one web process; 0: no limit; never of a trusted proxy",
        "100",
        setting_values.count,
    ),
    Setting(
        "TOLLHOUSE_REQUEST_HEADER_TIMEOUT_S",
        "request_header_timeout_s",
        "seconds for a request's headers",
        "10",
        setting_values.seconds,
    ),
    Setting(
        "TOLLHOUSE_REQUEST_BODY_TIMEOUT_S",
        "request_body_timeout_s",
        "seconds for a request's body, and one more for each 16 KiB of it",
        "20",
        setting_values.seconds,
    ),
    Setting(
        "TOLLHOUSE_KEEP_ALIVE_TIMEOUT_S",
        "keep_alive_timeout_s",
        "seconds for which a connection is kept open between two requests",
        "15",
        setting_values.seconds,
    ),
    Setting(
        "TOLLHOUSE_RESPONSE_TIMEOUT_S",
        "response_timeout_s",
        "seconds after which a client that reads less than 1 KiB/s of a response is disconnected",
        "30",
        setting_values.seconds,
    ),
    Setting(
        "TOLLHOUSE_TRUSTED_PROXIES",
        "trusted_proxies",
        "reverse proxies whose X-Forwarded-For and X-Forwarded-Proto are believed; none: nobody's",
        "127.0.0.1,::1",
        setting_values.proxies,
    ),
    Setting(
        "TOLLHOUSE_HSTS_SUBDOMAINS",
        "hsts_subdomains",
        "on or off: whether browsers are told to use https for every subdomain of the base URL too",
        "off",
        _choice("on", "off"),
    ),
    Setting(
        "TOLLHOUSE_WEBHOOK_SOURCE_IP",
        "webhook_source_ip",
        "IPv4 address deliveries come from",
        "",
        _or_none(setting_values.address),
    ),
    Setting(
        "TOLLHOUSE_INGRESS_IP",
        "ingress_ip",
        "IPv4 address of our ingress, never a destination",
        "",
        _or_none(setting_values.address),
    ),
    Setting(
        "TOLLHOUSE_WEBHOOK_ALLOWED_NETWORKS",
        "webhook_allowed_networks",
        "private networks allowed all the same",
        "",
        setting_values.networks,
    ),
    Setting(
        "TOLLHOUSE_WEBHOOK_CA_FILE",
        "webhook_ca_file",
        "authorities added to the system's",
        "",
        _or_none(setting_values.file),
    ),
    Setting(
        "TOLLHOUSE_WEBHOOK_RETRY_SCHEDULE",
        "webhook_retry_schedule",
        "seconds before each live retry, at most eight",
        ",".join(map(str, limits.RETRY_AFTER_S)),
        setting_values.schedule,
    ),
    Setting(
        "TOLLHOUSE_WEBHOOK_EVENTS_KEPT_DAYS",
        "webhook_events_kept_days",
        "days after the end of a month for which its events are kept; 0: for ever",
        "90",
        setting_values.count,
    ),
    Setting(
        "TOLLHOUSE_REQUEST_LOG_KEPT_DAYS",
        "request_log_kept_days",
        "days for which API requests are kept, redacted, for merchants to look up; 0: not at all",
        str(limits.REQUEST_LOG_DAYS),
        setting_values.days,
    ),
    Setting(
        "TOLLHOUSE_AUDIT_KEPT_DAYS",
        "audit_kept_days",
        "days for which merchants' audit logs are kept, a year at least; 0: for ever",
        str(limits.AUDIT_DAYS),
        setting_values.years,
    ),
    Setting(
        "TOLLHOUSE_AUTHORIZATION_REQUEST_TTL",
        "authorization_request_ttl",
        "seconds an authorization request waits for consent",
        str(limits.AUTHORIZATION_REQUEST_S),
        setting_values.at_most(limits.AUTHORIZATION_REQUEST_S),
    ),
    Setting(
        "TOLLHOUSE_AUTHORIZATION_CODE_TTL",
        "authorization_code_ttl",
        "seconds a code can be exchanged",
        str(limits.AUTHORIZATION_CODE_S),
        setting_values.at_most(limits.AUTHORIZATION_CODE_S),
    ),
    Setting(
        "TOLLHOUSE_ACCESS_TOKEN_TTL",
        "access_token_ttl",
        "seconds an access token lives",
        str(limits.ACCESS_TOKEN_S),
        setting_values.at_most(limits.ACCESS_TOKEN_S),
    ),
    Setting(
        "TOLLHOUSE_GRANT_TTL",
        "grant_ttl",
        "seconds a grant lives",
        str(limits.GRANT_S),
        setting_values.at_most(limits.GRANT_S),
    ),
)


def load(environ: Mapping[str, str] | None = None) -> Settings:
    """The settings of this environment. Raises `InvalidSettingsError` with every error."""
    environ = os.environ if environ is None else environ
    values: dict[str, Any] = {}
    field_errors: list[str] = []
    for setting in SETTINGS:
        text = environ.get(setting.name, "").strip(None if not setting.exact else "") or setting.default
        if setting.field == "data_dir" and not text:
            text = setting_values.default_data_dir(environ)
        try:
            values[setting.field] = setting.read(text)
        except ValueError as error:
            field_errors.append(f"{setting.name} {error}")
    if values.get("database_url") and not values.get("secret_keys") and "secret_keys" in values:
        field_errors.append("TOLLHOUSE_SECRET_KEYS is needed beside DATABASE_URL")
    if (values.get("bank_iban") is None) != (values.get("bank_holder") is None) and not field_errors:
        field_errors.append("TOLLHOUSE_BANK_IBAN and TOLLHOUSE_BANK_HOLDER are set together, or neither is")
    if field_errors:
        raise InvalidSettingsError(field_errors)
    return Settings(**values)
