"""The settings, each declared once: one frozen object, read from the environment once. All errors are reported together.

`SETTINGS` lists the declarations, of which the parser, `tollhouse config`, `docs/settings.md` and the doctor are made.
"""

import os
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from ipaddress import IPv4Address, IPv4Network, IPv6Network
from pathlib import Path
from types import NoneType
from typing import Any, get_args
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from tollhouse.kernel import limits
from tollhouse.kernel.bank_codes import PostalAddress
from tollhouse.platform.settings import values
from tollhouse.platform.smtp import Relay, parse_mailbox, parse_relay

PREFIX, FILE_SUFFIX = "TOLLHOUSE_", "_FILE"
SECRET_BYTES_MAX = 65_536
USUAL: dict[type, Callable[[str], Any]] = {int: values.count, float: values.seconds, bool: values.on_or_off}
"""How a setting of this type is read, unless it says otherwise."""


class Setting(Struct, frozen=True):
    """One environment variable: field, meaning, default as text and parser; `exact`: surrounding spaces count.

    Of a setting that may be None, an empty text is None.
    """

    name: str
    meaning: str
    default: str
    read: Any
    secret: bool
    exact: bool
    field: str = ""

    @property
    def file_name(self) -> str | None:
        """The variable that names a file with the value. Only secrets have one."""
        return f"{self.name}{FILE_SUFFIX}" if self.secret else None


def setting(
    meaning: str,
    default: str | int = "",
    *,
    read: Callable[[str], Any] | None = None,
    name: str = "",
    secret: bool = False,
    exact: bool = False,
) -> Any:
    """Declare a setting. By default its variable is named after the field, and its text read by the type of the field."""
    return Setting(name, meaning, str(default), read, secret, exact)


class Settings(Struct, frozen=True, kw_only=True):
    """All settings. `tollhouse config` prints them."""

    database_url: str | None = setting("PostgreSQL URL; empty: embedded database", name="DATABASE_URL", secret=True)
    migration_database_url: str | None = setting(
        "PostgreSQL URL for migrations, with the role that owns the tables; empty: DATABASE_URL", secret=True
    )
    pooler_database_url: str | None = setting(
        "URL of the same database through a pooler in transaction mode, for requests and jobs; empty: DATABASE_URL",
        secret=True,
    )
    replica_database_url: str | None = setting(
        "URL of a standby of the same database, for reports, exports and home pages; empty: DATABASE_URL", secret=True
    )
    database_connections: int = setting(
        "database connections for the requests of a web process, and as many for the jobs of a worker",
        limits.DATABASE_CONNECTIONS,
        read=values.between(1, limits.DATABASE_CONNECTIONS_MAX, "connections"),
    )
    deprecated_webhooks: bool = setting(
        "true: use saved webhook URLs", read="true".__eq__, name="NOTIFY_DEPRECATED_WH", exact=True
    )
    base_url: str = setting(
        "URL at which browsers and clients reach the service; also the OAuth issuer",
        "http://localhost:8000",
        read=values.base_url,
    )
    data_dir: Path = setting("folder of the embedded database and its key ring")
    wal_archive: Path | None = setting("folder of the embedded database's WAL archive")
    base_backup_days: int = setting(
        "days between the base backups that the service writes to the WAL archive; 0 for none",
        limits.BASE_BACKUP_DAYS,
        read=values.between(0, limits.BASE_BACKUP_DAYS_MAX, "days"),
    )
    secret_keys: tuple[tuple[str, bytes], ...] = setting(
        "key ring: id:base64url of 32 bytes, first in use", read=values.key_ring, secret=True
    )
    bank_iban: str | None = setting("IBAN for bank transfers", read=values.iban)
    bank_bic: str | None = setting("BIC for bank transfers", read=values.bic)
    bank_holder: str | None = setting("account holder for transfers", read=values.holder)
    bank_address: PostalAddress | None = setting(
        "its address for payouts outside the EEA: street; postal code; city; country", read=values.postal_address
    )
    bank_inbox: Path | None = setting("folder whose files of the bank the worker imports", read=values.folder)
    bank_outbox: Path | None = setting("folder into which the worker puts payment files for the bank", read=values.folder)
    bank_program: Path | None = setting(
        "program that the worker calls with fetch FOLDER and send FILE, to exchange files with the bank", read=values.program
    )
    datev_consultant: int | None = setting(
        "number of the tax consultant (Beraternummer) in files for DATEV",
        read=values.between(1_001, 9_999_999, "(Beraternummer)"),
    )
    datev_client: int | None = setting(
        "number of the client (Mandantennummer) in files for DATEV", read=values.between(1, 99_999, "(Mandantennummer)")
    )
    datev_accounts: tuple[tuple[str, str], ...] = setting(
        "the accountant's number of each account, such as bank=1800,merchants=1700,income:payment_fee=4400",
        read=values.account_numbers,
    )
    catalogue_file: Path | None = setting("TOML file with additional currencies, methods and fees", read=values.file)
    rails_file: Path | None = setting(
        "TOML file with the rails of live mode beside the bank: docs/rails.md", read=values.file
    )
    recipient_cooling: int = setting(
        "seconds until a new recipient of withdrawals can be paid, and until a merchant's limit to saved recipients ends",
        limits.RECIPIENT_COOLING_S,
        read=values.between(0, limits.RECIPIENT_COOLING_S_MAX, "seconds"),
    )
    two_operators: bool = setting(
        "on or off; off: one operator approves what otherwise needs two, such as large withdrawals, and the history says so",
        "on",
    )
    review_applications: bool = setting(
        "on or off; on: merchants connect an application with live write permissions only after an operator approved it",
        "off",
    )
    client_document_hosts: tuple[str, ...] = setting(
        "hosts, separated by commas, whose client ID metadata documents can connect in live mode; or none",
        read=values.hosts,
    )
    signup_open: bool = setting(
        "open or closed; whether anyone can sign up", "open", read=values.choice("open", "closed"), name="TOLLHOUSE_SIGNUP"
    )
    smtp: Relay | None = setting(
        "SMTP relay; if empty, emails are only logged", read=parse_relay, name="TOLLHOUSE_SMTP_URL", secret=True
    )
    mail_from: str | None = setting("sender of emails, such as Shop <a@b.example>", read=parse_mailbox)
    rate_limits: bool = setting("on or off; applies to all rate limits", "on")
    rate_client_auth_per_min: int = setting(
        "failed client authentications per minute", 30, name="TOLLHOUSE_RATE_CLIENT_AUTH"
    )
    rate_signin_account_per_15_min: int = setting(
        "failed sign-ins per 15 minutes, for each account", 10, name="TOLLHOUSE_RATE_SIGNIN_ACCOUNT"
    )
    rate_signin_address_per_15_min: int = setting(
        "failed sign-ins per 15 minutes, for each IP address", 100, name="TOLLHOUSE_RATE_SIGNIN_ADDRESS"
    )
    rate_signup_address_per_15_min: int = setting(
        "sign-ups per 15 minutes, for each IP address", 300, name="TOLLHOUSE_RATE_SIGNUP_ADDRESS"
    )
    rate_authorize_address_per_min: int = setting(
        "authorization requests without a session per minute, for each IP address",
        120,
        name="TOLLHOUSE_RATE_AUTHORIZE_ADDRESS",
    )
    rate_authorize_person_per_10_min: int = setting(
        "authorization requests per ten minutes, for each user who is signed in", 100, name="TOLLHOUSE_RATE_AUTHORIZE_PERSON"
    )
    rate_open_authorizations: int = setting(
        "unanswered authorization requests of an application beyond which it gets no more without a session, or by device",
        5_000,
        name="TOLLHOUSE_RATE_AUTHORIZE_APPLICATION",
    )
    password_queue: int = setting("password checks that can be queued, for each kind of caller; further ones return 503", 32)
    rate_webhook_test_per_min: int = setting(
        "webhook tests per minute and environment", 10, name="TOLLHOUSE_RATE_WEBHOOK_TEST"
    )
    rate_api_per_min: int = setting("API requests per minute and credential", 1000, name="TOLLHOUSE_RATE_API")
    mcp_origins: tuple[str, ...] = setting(
        "origins of web pages that may call /mcp, beside those of this service and this machine", read=values.origins
    )
    connections_max: int = setting(
        "connections per web process", 4000, read=values.between(1, limits.CONNECTIONS_MAX, "connections")
    )
    connections_per_address_max: int = setting("open connections per process and IP address; 0 for no limit", 100)
    request_header_timeout_s: float = setting("seconds to receive a request's headers", 10)
    request_body_timeout_s: float = setting("seconds to receive a request's body, plus one for each 16 KiB received", 20)
    keep_alive_timeout_s: float = setting("seconds that an idle connection is kept open", 15)
    response_timeout_s: float = setting(
        "seconds after which a client that reads a response slower than 1 KiB/s is disconnected", 30
    )
    drain_s: int = setting(
        "seconds that a web process still answers after SIGTERM, while /readyz returns 503",
        0,
        read=values.between(0, limits.DRAIN_S_MAX, "seconds"),
    )
    trusted_proxies: tuple[IPv4Network | IPv6Network, ...] = setting(
        "addresses or networks of reverse proxies whose X-Forwarded-For and X-Forwarded-Proto are trusted; or none",
        "127.0.0.1,::1",
        read=values.proxies,
    )
    hsts_subdomains: bool = setting("on or off; whether HSTS includes the subdomains of the base URL's host", "off")
    webhook_source_ip: IPv4Address | None = setting("IPv4 address that webhooks come from", read=values.address)
    ingress_ip: IPv4Address | None = setting("IPv4 address of incoming requests", read=values.address)
    webhook_allowed_networks: tuple[IPv4Network, ...] = setting(
        "private networks to which webhooks can be sent", read=values.networks
    )
    webhook_ca_file: Path | None = setting("additional certificate authorities", read=values.file)
    webhook_retry_schedule: tuple[float, ...] = setting(
        "seconds before each retry in live mode, at most eight numbers",
        ",".join(map(str, limits.RETRY_AFTER_S)),
        read=values.schedule,
    )
    webhook_events_kept_days: int = setting("days that events are kept after the end of their month; 0 for no limit", 90)
    request_log_kept_days: int = setting(
        "days that the request log is kept for merchants, with sensitive values removed; 0 to turn it off",
        limits.REQUEST_LOG_DAYS,
        read=values.between(0, limits.REQUEST_LOG_DAYS_MAX, "days"),
    )
    audit_kept_days: int = setting(
        "days that merchants' audit logs are kept, at least 365; 0 for no limit", limits.AUDIT_DAYS, read=values.years
    )
    metrics_address: tuple[str, int] | None = setting("address and port of the metrics", read=values.listen_address)
    metrics_token: str | None = setting("token of Prometheus", read=values.token, secret=True)
    traces_url: str | None = setting(
        "OTLP/HTTP address to which traces are sent, such as http://localhost:4318/v1/traces; requires the extra otel",
        read=values.traces_url,
    )
    authorization_request_ttl: int = setting(
        "seconds until a request expires",
        limits.AUTHORIZATION_REQUEST_S,
        read=values.at_most(limits.AUTHORIZATION_REQUEST_S),
    )
    authorization_code_ttl: int = setting(
        "seconds until an authorization code expires",
        limits.AUTHORIZATION_CODE_S,
        read=values.at_most(limits.AUTHORIZATION_CODE_S),
    )
    access_token_ttl: int = setting(
        "seconds until an access token expires", limits.ACCESS_TOKEN_S, read=values.at_most(limits.ACCESS_TOKEN_S)
    )
    grant_ttl: int = setting("seconds until a grant expires", limits.GRANT_S, read=values.at_most(limits.GRANT_S))

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
        return values.bare_host(self.base_url)

    @property
    def is_local(self) -> bool:
        """Whether the base URL is on this machine, as in development."""
        return values.is_local_url(self.base_url)

    @property
    def is_live_use(self) -> bool:
        """Whether others can reach the service, or it has a rail of live mode: the bank, or one of the rails file.

        All that is stricter in live use asks here: operators' second factors, links on their pages, encryption, mail.
        """
        return self.secure or not self.is_local or self.bank_iban is not None or self.rails_file is not None

    @property
    def sender(self) -> str:
        """The sender of emails."""
        return self.mail_from or f"Tollhouse <tollhouse@{urlsplit(self.base_url).hostname}>"


def _declarations() -> tuple[Setting, ...]:
    """The declaration of each field of `Settings`, with its name and parser."""
    found: list[Setting] = []
    for field in msgspec.structs.fields(Settings):
        declared, kinds = field.default, get_args(field.type) or (field.type,)
        read: Callable[[str], Any] = declared.read or USUAL.get(kinds[0]) or kinds[0]
        found.append(
            msgspec.structs.replace(
                declared,
                field=field.name,
                name=declared.name or f"{PREFIX}{field.name.upper()}",
                read=_or_none(read) if NoneType in kinds else read,
            )
        )
    return tuple(found)


def _or_none(read: Callable[[str], Any]) -> Callable[[str], Any]:
    return lambda text: read(text) if text else None


SETTINGS = _declarations()
NAMES = {name for declared in SETTINGS for name in (declared.name, declared.file_name) if name}
"""The names of all variables."""


class InvalidSettingsError(Exception):
    """The environment has invalid settings: `field_errors` lists all of them."""

    def __init__(self, field_errors: list[str]) -> None:
        self.field_errors = field_errors
        super().__init__("\n".join(field_errors))


def load(environ: Mapping[str, str] | None = None) -> Settings:
    """The settings of this environment. Raises `InvalidSettingsError` with every error."""
    environ = os.environ if environ is None else environ
    read: dict[str, Any] = {}
    field_errors: list[str] = []
    for declared in SETTINGS:
        try:
            text = _text(declared, environ) or declared.default
            if declared.field == "data_dir" and not text:
                text = values.default_data_dir(environ)
            read[declared.field] = declared.read(text)
        except ValueError as error:
            field_errors.append(f"{declared.name} {error}")
    field_errors += _conflicts(read)
    if field_errors:
        raise InvalidSettingsError(field_errors)
    return Settings(**read)


def list_warnings(settings: Settings, environ: Mapping[str, str] | None = None) -> list[str]:
    """What is allowed, but probably not meant: unknown names, and a single operator in live use."""
    environ = os.environ if environ is None else environ
    unknown = [name for name in sorted(environ) if name.startswith(PREFIX) and name not in NAMES]
    warnings = [_describe_unknown(name) for name in unknown]
    if settings.is_live_use and not settings.two_operators:
        warnings.append("TOLLHOUSE_TWO_OPERATORS is off: one operator approves alone what otherwise needs two.")
    return warnings


def _text(declared: Setting, environ: Mapping[str, str]) -> str:
    """The text of a setting, of the variable or of the file that `..._FILE` names; empty if neither is set."""
    text = environ.get(declared.name, "").strip(None if not declared.exact else "")
    name = declared.file_name
    file = environ.get(name, "").strip() if name else ""
    if not file:
        return text
    if text:
        raise ValueError(f"and {name} are both set. Remove one of them.")
    try:
        text = values.small_text(values.file(file), SECRET_BYTES_MAX).strip()
    except ValueError as error:
        raise ValueError(f"cannot be read: {name} {error}") from None
    if not text:
        raise ValueError(f"is missing: the file that {name} names is empty")
    return text


def _conflicts(read: dict[str, Any]) -> list[str]:
    """Errors of settings that do not go together. `read` has those that are valid by themselves."""
    field_errors: list[str] = []
    if read.get("database_url") and not read.get("secret_keys") and "secret_keys" in read:
        field_errors.append("TOLLHOUSE_SECRET_KEYS is required if DATABASE_URL is set")
    if "database_url" in read and not read["database_url"]:
        further = (field for field in ("pooler_database_url", "replica_database_url") if read.get(field))
        field_errors += [f"DATABASE_URL is required if {PREFIX}{field.upper()} is set" for field in further]
    if {"bank_iban", "bank_holder"} <= read.keys() and (read["bank_iban"] is None) != (read["bank_holder"] is None):
        field_errors.append("TOLLHOUSE_BANK_IBAN and TOLLHOUSE_BANK_HOLDER must be set together")
    if read.get("bank_program") and read.get("bank_outbox"):
        field_errors.append("TOLLHOUSE_BANK_PROGRAM and TOLLHOUSE_BANK_OUTBOX cannot be set together")
    if read.get("bank_program") and "bank_inbox" in read and read["bank_inbox"] is None:
        field_errors.append("TOLLHOUSE_BANK_INBOX is required if TOLLHOUSE_BANK_PROGRAM is set")
    url = read.get("base_url")
    if url and not url.startswith("https://") and not values.is_local_url(url):
        field_errors.append(
            "TOLLHOUSE_BASE_URL must use https or be on this machine: with http, passwords, cookies and API keys are sent "
            "unencrypted"
        )
    metrics_address = read.get("metrics_address")
    if metrics_address and not values.is_loopback(metrics_address[0]) and not read.get("metrics_token"):
        field_errors.append("TOLLHOUSE_METRICS_TOKEN is required if TOLLHOUSE_METRICS_ADDRESS is not on loopback")
    return field_errors


def _describe_unknown(name: str) -> str:
    """Compared without the prefix, which all names share."""
    names = {known.removeprefix(PREFIX): known for known in NAMES}
    nearest = get_close_matches(name.removeprefix(PREFIX), sorted(names), n=1)
    return f"{name} is not a setting." + (f" Did you mean {names[nearest[0]]}?" if nearest else "")
