"""The list of settings. `docs/settings.md` is made from it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from tollhouse.kernel import limits
from tollhouse.platform.settings import values as setting_values
from tollhouse.platform.smtp import parse_mailbox, parse_relay

FILE_SUFFIX = "_FILE"


class Setting(NamedTuple):
    """One environment variable: field, meaning, default as text and parser; `exact`: surrounding spaces count."""

    name: str
    field: str
    meaning: str
    default: str
    read: Callable[[str], Any]
    secret: bool = False
    exact: bool = False

    @property
    def file_name(self) -> str | None:
        """The variable that names a file with the value. Only secrets have one."""
        return f"{self.name}{FILE_SUFFIX}" if self.secret else None


def _or_none(read: Callable[[str], Any]) -> Callable[[str], Any]:
    return lambda text: read(text) if text else None


SETTINGS: tuple[Setting, ...] = (
    Setting("DATABASE_URL", "database_url", "PostgreSQL URL; empty: embedded database", "", _or_none(str), secret=True),
    Setting(
        "TOLLHOUSE_MIGRATION_DATABASE_URL",
        "migration_database_url",
        "PostgreSQL URL for migrations, with the role that owns the tables; empty: DATABASE_URL",
        "",
        _or_none(str),
        secret=True,
    ),
    Setting(
        "TOLLHOUSE_POOLER_DATABASE_URL",
        "pooler_database_url",
        "URL of the same database through a pooler in transaction mode, for requests and jobs; empty: DATABASE_URL",
        "",
        _or_none(str),
        secret=True,
    ),
    Setting(
        "TOLLHOUSE_REPLICA_DATABASE_URL",
        "replica_database_url",
        "URL of a standby of the same database, for reports, exports and home pages; empty: DATABASE_URL",
        "",
        _or_none(str),
        secret=True,
    ),
    Setting(
        "TOLLHOUSE_DATABASE_CONNECTIONS",
        "database_connections",
        "database connections for the requests of a web process, and as many for the jobs of a worker",
        str(limits.DATABASE_CONNECTIONS),
        setting_values.between(1, limits.DATABASE_CONNECTIONS_MAX, "connections"),
    ),
    Setting("NOTIFY_DEPRECATED_WH", "deprecated_webhooks", "true: use saved webhook URLs", "", "true".__eq__, exact=True),
    Setting(
        "TOLLHOUSE_BASE_URL",
        "base_url",
        "URL at which browsers and clients reach the service; also the OAuth issuer",
        "http://localhost:8000",
        setting_values.base_url,
    ),
    Setting("TOLLHOUSE_DATA_DIR", "data_dir", "folder of the embedded database and its key ring", "", Path),
    Setting("TOLLHOUSE_WAL_ARCHIVE", "wal_archive", "folder of the embedded database's WAL archive", "", _or_none(Path)),
    Setting(
        "TOLLHOUSE_BASE_BACKUP_DAYS",
        "base_backup_days",
        "days between the base backups that the service writes to the WAL archive; 0 for none",
        str(limits.BASE_BACKUP_DAYS),
        setting_values.between(0, limits.BASE_BACKUP_DAYS_MAX, "days"),
    ),
    Setting(
        "TOLLHOUSE_SECRET_KEYS",
        "secret_keys",
        "key ring: id:base64url of 32 bytes, first in use",
        "",
        setting_values.key_ring,
        True,
    ),
    Setting("TOLLHOUSE_BANK_IBAN", "bank_iban", "IBAN for bank transfers", "", _or_none(setting_values.iban)),
    Setting("TOLLHOUSE_BANK_BIC", "bank_bic", "BIC for bank transfers", "", _or_none(setting_values.bic)),
    Setting("TOLLHOUSE_BANK_HOLDER", "bank_holder", "account holder for transfers", "", _or_none(setting_values.holder)),
    Setting(
        "TOLLHOUSE_BANK_ADDRESS",
        "bank_address",
        "its address for payouts outside the EEA: street; postal code; city; country",
        "",
        _or_none(setting_values.postal_address),
    ),
    Setting(
        "TOLLHOUSE_BANK_INBOX",
        "bank_inbox",
        "folder whose files of the bank the worker imports",
        "",
        _or_none(setting_values.folder),
    ),
    Setting(
        "TOLLHOUSE_BANK_OUTBOX",
        "bank_outbox",
        "folder into which the worker puts payment files for the bank",
        "",
        _or_none(setting_values.folder),
    ),
    Setting(
        "TOLLHOUSE_BANK_PROGRAM",
        "bank_program",
        "program that the worker calls with fetch FOLDER and send FILE, to exchange files with the bank",
        "",
        _or_none(setting_values.program),
    ),
    Setting(
        "TOLLHOUSE_DATEV_CONSULTANT",
        "datev_consultant",
        "number of the tax consultant (Beraternummer) in files for DATEV",
        "",
        _or_none(setting_values.between(1_001, 9_999_999, "(Beraternummer)")),
    ),
    Setting(
        "TOLLHOUSE_DATEV_CLIENT",
        "datev_client",
        "number of the client (Mandantennummer) in files for DATEV",
        "",
        _or_none(setting_values.between(1, 99_999, "(Mandantennummer)")),
    ),
    Setting(
        "TOLLHOUSE_DATEV_ACCOUNTS",
        "datev_accounts",
        "the accountant's number of each account, such as bank=1800,merchants=1700,income:payment_fee=4400",
        "",
        setting_values.account_numbers,
    ),
    Setting(
        "TOLLHOUSE_CATALOGUE_FILE",
        "catalogue_file",
        "TOML file with additional currencies, methods and fees",
        "",
        _or_none(setting_values.file),
    ),
    Setting(
        "TOLLHOUSE_RAILS_FILE",
        "rails_file",
        "TOML file with the rails of live mode beside the bank: docs/rails.md",
        "",
        _or_none(setting_values.file),
    ),
    Setting(
        "TOLLHOUSE_RECIPIENT_COOLING",
        "recipient_cooling",
        "seconds until a new recipient of withdrawals can be paid, and until a merchant's limit to saved recipients ends",
        str(limits.RECIPIENT_COOLING_S),
        setting_values.between(0, limits.RECIPIENT_COOLING_S_MAX, "seconds"),
    ),
    Setting(
        "TOLLHOUSE_TWO_OPERATORS",
        "two_operators",
        "on or off; off: one operator approves what otherwise needs two, such as large withdrawals, and the history says so",
        "on",
        setting_values.on_or_off,
    ),
    Setting(
        "TOLLHOUSE_SIGNUP",
        "signup_open",
        "open or closed; whether anyone can sign up",
        "open",
        setting_values.choice("open", "closed"),
    ),
    Setting(
        "TOLLHOUSE_SMTP_URL", "smtp", "SMTP relay; if empty, emails are only logged", "", _or_none(parse_relay), secret=True
    ),
    Setting("TOLLHOUSE_MAIL_FROM", "mail_from", "sender of emails, such as Shop <a@b.example>", "", _or_none(parse_mailbox)),
    Setting("TOLLHOUSE_RATE_LIMITS", "rate_limits", "on or off; applies to all rate limits", "on", setting_values.on_or_off),
    Setting(
        "TOLLHOUSE_RATE_CLIENT_AUTH",
        "rate_client_auth_per_min",
        "failed client authentications per minute",
        "30",
        setting_values.count,
    ),
    Setting(
        "TOLLHOUSE_RATE_SIGNIN_ACCOUNT",
        "rate_signin_account_per_15_min",
        "failed sign-ins per 15 minutes, for each account",
        "10",
        setting_values.count,
    ),
    Setting(
        "TOLLHOUSE_RATE_SIGNIN_ADDRESS",
        "rate_signin_address_per_15_min",
        "failed sign-ins per 15 minutes, for each IP address",
        "100",
        setting_values.count,
    ),
    Setting(
        "TOLLHOUSE_RATE_SIGNUP_ADDRESS",
        "rate_signup_address_per_15_min",
        "sign-ups per 15 minutes, for each IP address",
        "300",
        setting_values.count,
    ),
    Setting(
        "TOLLHOUSE_RATE_AUTHORIZE_ADDRESS",
        "rate_authorize_address_per_min",
        "authorization requests without a session per minute, for each IP address",
        "120",
        setting_values.count,
    ),
    Setting(
        "TOLLHOUSE_PASSWORD_QUEUE",
        "password_queue",
        "password checks that can be queued, for each kind of caller; further ones return 503",
        "32",
        setting_values.count,
    ),
    Setting(
        "TOLLHOUSE_RATE_WEBHOOK_TEST",
        "rate_webhook_test_per_min",
        "webhook tests per minute and environment",
        "10",
        setting_values.count,
    ),
    Setting(
        "TOLLHOUSE_RATE_API", "rate_api_per_min", "API requests per minute and credential", "1000", setting_values.count
    ),
    Setting(
        "TOLLHOUSE_CONNECTIONS_MAX",
        "connections_max",
        "connections per web process",
        "4000",
        setting_values.between(1, limits.CONNECTIONS_MAX, "connections"),
    ),
    Setting(
        "TOLLHOUSE_CONNECTIONS_PER_ADDRESS_MAX",
        "connections_per_address_max",
        "open connections per process and IP address; 0 for no limit",
        "100",
        setting_values.count,
    ),
    Setting(
        "TOLLHOUSE_REQUEST_HEADER_TIMEOUT_S",
        "request_header_timeout_s",
        "seconds to receive a request's headers",
        "10",
        setting_values.seconds,
    ),
    Setting(
        "TOLLHOUSE_REQUEST_BODY_TIMEOUT_S",
        "request_body_timeout_s",
        "seconds to receive a request's body, plus one for each 16 KiB received",
        "20",
        setting_values.seconds,
    ),
    Setting(
        "TOLLHOUSE_KEEP_ALIVE_TIMEOUT_S",
        "keep_alive_timeout_s",
        "seconds that an idle connection is kept open",
        "15",
        setting_values.seconds,
    ),
    Setting(
        "TOLLHOUSE_RESPONSE_TIMEOUT_S",
        "response_timeout_s",
        "seconds after which a client that reads a response slower than 1 KiB/s is disconnected",
        "30",
        setting_values.seconds,
    ),
    Setting(
        "TOLLHOUSE_DRAIN_S",
        "drain_s",
        "seconds that a web process still answers after SIGTERM, while /readyz returns 503",
        "0",
        setting_values.between(0, limits.DRAIN_S_MAX, "seconds"),
    ),
    Setting(
        "TOLLHOUSE_TRUSTED_PROXIES",
        "trusted_proxies",
        "addresses or networks of reverse proxies whose X-Forwarded-For and X-Forwarded-Proto are trusted; or none",
        "127.0.0.1,::1",
        setting_values.proxies,
    ),
    Setting(
        "TOLLHOUSE_HSTS_SUBDOMAINS",
        "hsts_subdomains",
        "on or off; whether HSTS includes the subdomains of the base URL's host",
        "off",
        setting_values.on_or_off,
    ),
    Setting(
        "TOLLHOUSE_WEBHOOK_SOURCE_IP",
        "webhook_source_ip",
        "IPv4 address that webhooks come from",
        "",
        _or_none(setting_values.address),
    ),
    Setting("TOLLHOUSE_INGRESS_IP", "ingress_ip", "IPv4 address of incoming requests", "", _or_none(setting_values.address)),
    Setting(
        "TOLLHOUSE_WEBHOOK_ALLOWED_NETWORKS",
        "webhook_allowed_networks",
        "private networks to which webhooks can be sent",
        "",
        setting_values.networks,
    ),
    Setting(
        "TOLLHOUSE_WEBHOOK_CA_FILE",
        "webhook_ca_file",
        "additional certificate authorities",
        "",
        _or_none(setting_values.file),
    ),
    Setting(
        "TOLLHOUSE_WEBHOOK_RETRY_SCHEDULE",
        "webhook_retry_schedule",
        "seconds before each retry in live mode, at most eight numbers",
        ",".join(map(str, limits.RETRY_AFTER_S)),
        setting_values.schedule,
    ),
    Setting(
        "TOLLHOUSE_WEBHOOK_EVENTS_KEPT_DAYS",
        "webhook_events_kept_days",
        "days that events are kept after the end of their month; 0 for no limit",
        "90",
        setting_values.count,
    ),
    Setting(
        "TOLLHOUSE_REQUEST_LOG_KEPT_DAYS",
        "request_log_kept_days",
        "days that the request log is kept for merchants, with sensitive values removed; 0 to turn it off",
        str(limits.REQUEST_LOG_DAYS),
        setting_values.between(0, limits.REQUEST_LOG_DAYS_MAX, "days"),
    ),
    Setting(
        "TOLLHOUSE_AUDIT_KEPT_DAYS",
        "audit_kept_days",
        "days that merchants' audit logs are kept, at least 365; 0 for no limit",
        str(limits.AUDIT_DAYS),
        setting_values.years,
    ),
    Setting(
        "TOLLHOUSE_METRICS_ADDRESS",
        "metrics_address",
        "address and port of the metrics",
        "",
        _or_none(setting_values.listen_address),
    ),
    Setting(
        "TOLLHOUSE_METRICS_TOKEN", "metrics_token", "token of Prometheus", "", _or_none(setting_values.token), secret=True
    ),
    Setting(
        "TOLLHOUSE_TRACES_URL",
        "traces_url",
        "OTLP/HTTP address to which traces are sent, such as http://localhost:4318/v1/traces; requires the extra otel",
        "",
        _or_none(setting_values.traces_url),
    ),
    Setting(
        "TOLLHOUSE_AUTHORIZATION_REQUEST_TTL",
        "authorization_request_ttl",
        "seconds until a request expires",
        str(limits.AUTHORIZATION_REQUEST_S),
        setting_values.at_most(limits.AUTHORIZATION_REQUEST_S),
    ),
    Setting(
        "TOLLHOUSE_AUTHORIZATION_CODE_TTL",
        "authorization_code_ttl",
        "seconds until an authorization code expires",
        str(limits.AUTHORIZATION_CODE_S),
        setting_values.at_most(limits.AUTHORIZATION_CODE_S),
    ),
    Setting(
        "TOLLHOUSE_ACCESS_TOKEN_TTL",
        "access_token_ttl",
        "seconds until an access token expires",
        str(limits.ACCESS_TOKEN_S),
        setting_values.at_most(limits.ACCESS_TOKEN_S),
    ),
    Setting(
        "TOLLHOUSE_GRANT_TTL",
        "grant_ttl",
        "seconds until a grant expires",
        str(limits.GRANT_S),
        setting_values.at_most(limits.GRANT_S),
    ),
)
