"""The settings: one frozen object, read from the environment once. All errors are reported together before the start."""

import os
from collections.abc import Mapping
from difflib import get_close_matches
from ipaddress import IPv4Address, IPv4Network, IPv6Network
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct

from tollhouse.kernel.bank_codes import PostalAddress
from tollhouse.platform.settings import values as setting_values
from tollhouse.platform.settings.names import SETTINGS, Setting
from tollhouse.platform.smtp import Relay

PREFIX = "TOLLHOUSE_"
SECRET_BYTES_MAX = 65_536


class Settings(Struct, frozen=True, kw_only=True):
    """All settings. `tollhouse config` prints them."""

    database_url: str | None
    pooler_database_url: str | None
    replica_database_url: str | None
    database_connections: int
    migration_database_url: str | None
    deprecated_webhooks: bool
    base_url: str
    data_dir: Path
    wal_archive: Path | None
    base_backup_days: int
    secret_keys: tuple[tuple[str, bytes], ...]
    bank_iban: str | None
    bank_bic: str | None
    bank_holder: str | None
    bank_inbox: Path | None
    bank_outbox: Path | None
    bank_program: Path | None
    datev_consultant: int | None
    datev_client: int | None
    datev_accounts: tuple[tuple[str, str], ...]
    bank_address: PostalAddress | None
    recipient_cooling: int
    two_operators: bool
    catalogue_file: Path | None
    rails_file: Path | None
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
    drain_s: int
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
    metrics_address: tuple[str, int] | None
    metrics_token: str | None
    traces_url: str | None
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
        return setting_values.is_local_url(self.base_url)

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


class InvalidSettingsError(Exception):
    """The environment has invalid settings: `field_errors` lists all of them."""

    def __init__(self, field_errors: list[str]) -> None:
        self.field_errors = field_errors
        super().__init__("\n".join(field_errors))


def load(environ: Mapping[str, str] | None = None) -> Settings:
    """The settings of this environment. Raises `InvalidSettingsError` with every error."""
    environ = os.environ if environ is None else environ
    values: dict[str, Any] = {}
    field_errors: list[str] = []
    for setting in SETTINGS:
        try:
            text = _text(setting, environ) or setting.default
            if setting.field == "data_dir" and not text:
                text = setting_values.default_data_dir(environ)
            values[setting.field] = setting.read(text)
        except ValueError as error:
            field_errors.append(f"{setting.name} {error}")
    field_errors += _conflicts(values)
    if field_errors:
        raise InvalidSettingsError(field_errors)
    return Settings(**values)


def list_warnings(settings: Settings, environ: Mapping[str, str] | None = None) -> list[str]:
    """What is allowed, but probably not meant: unknown names, and a single operator in live use."""
    environ = os.environ if environ is None else environ
    known = {setting.name for setting in SETTINGS} | {setting.file_name for setting in SETTINGS if setting.file_name}
    warnings = [_unknown(name, known) for name in sorted(environ) if name.startswith(PREFIX) and name not in known]
    if settings.is_live_use and not settings.two_operators:
        warnings.append("TOLLHOUSE_TWO_OPERATORS is off: one operator approves alone what otherwise needs two.")
    return warnings


def _text(setting: Setting, environ: Mapping[str, str]) -> str:
    """The text of a setting, of the variable or of the file that `..._FILE` names; empty if neither is set."""
    text = environ.get(setting.name, "").strip(None if not setting.exact else "")
    name = setting.file_name
    file = environ.get(name, "").strip() if name else ""
    if not file:
        return text
    if text:
        raise ValueError(f"and {name} are both set. Remove one of them.")
    try:
        text = setting_values.small_text(setting_values.file(file), SECRET_BYTES_MAX).strip()
    except ValueError as error:
        raise ValueError(f"cannot be read: {name} {error}") from None
    if not text:
        raise ValueError(f"is missing: the file that {name} names is empty")
    return text


def _conflicts(values: dict[str, Any]) -> list[str]:
    """Errors of settings that do not go together. `values` has those that are valid by themselves."""
    field_errors: list[str] = []
    if values.get("database_url") and not values.get("secret_keys") and "secret_keys" in values:
        field_errors.append("TOLLHOUSE_SECRET_KEYS is required if DATABASE_URL is set")
    if "database_url" in values and not values["database_url"]:
        further = (field for field in ("pooler_database_url", "replica_database_url") if values.get(field))
        field_errors += [f"DATABASE_URL is required if {PREFIX}{field.upper()} is set" for field in further]
    if {"bank_iban", "bank_holder"} <= values.keys() and (values["bank_iban"] is None) != (values["bank_holder"] is None):
        field_errors.append("TOLLHOUSE_BANK_IBAN and TOLLHOUSE_BANK_HOLDER must be set together")
    if values.get("bank_program") and values.get("bank_outbox"):
        field_errors.append("TOLLHOUSE_BANK_PROGRAM and TOLLHOUSE_BANK_OUTBOX cannot be set together")
    if values.get("bank_program") and "bank_inbox" in values and values["bank_inbox"] is None:
        field_errors.append("TOLLHOUSE_BANK_INBOX is required if TOLLHOUSE_BANK_PROGRAM is set")
    url = values.get("base_url")
    if url and not url.startswith("https://") and not setting_values.is_local_url(url):
        field_errors.append(
            "TOLLHOUSE_BASE_URL must use https or be on this machine: with http, passwords, cookies and API keys are sent "
            "unencrypted"
        )
    metrics_address = values.get("metrics_address")
    if metrics_address and not setting_values.is_loopback(metrics_address[0]) and not values.get("metrics_token"):
        field_errors.append("TOLLHOUSE_METRICS_TOKEN is required if TOLLHOUSE_METRICS_ADDRESS is not on loopback")
    return field_errors


def _unknown(name: str, known: set[str]) -> str:
    """Compared without the prefix, which all names share."""
    names = {one.removeprefix(PREFIX): one for one in known}
    nearest = get_close_matches(name.removeprefix(PREFIX), sorted(names), n=1)
    return f"{name} is not a setting." + (f" Did you mean {names[nearest[0]]}?" if nearest else "")
