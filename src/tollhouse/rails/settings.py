"""The operator's rails file (TOML), read once at start: each table is a rail of live mode, named as in the ledger.

[ethereum]
kind = "evm"
chain_id = 1
node_url_file = "/etc/tollhouse/ethereum.url"
xpub = "xpub6…"
[ethereum.tokens.USDC]
contract = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"
decimals = 6

[card]
kind = "stripe"
secret_key_file = "/etc/tollhouse/card.key"
webhook_secret_files = ["/etc/tollhouse/card.webhook"]
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta, Struct

from tollhouse.platform import setting_values
from tollhouse.platform.config import InvalidSettingsError

SETTING = "TOLLHOUSE_RAILS_FILE"
NAME = re.compile(r"[a-z0-9_]{1,32}")
BUILT_IN = frozenset({"sandbox", "bank"})
FINALIZED: Literal["finalized"] = "finalized"
SECRET_BYTES_MAX = 4_096
STRIPE_API_URL = "https://api.stripe.com"
STRIPE_TEST_KEYS = ("sk_test_", "rk_test_")

ContractAddress = Annotated[str, Meta(pattern="^0x[0-9a-fA-F]{40}$")]
CurrencyCode = Annotated[str, Meta(pattern="^[A-Z0-9]{2,12}$")]


class TokenSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """An ERC-20 token: its contract, and the decimals that this counts in."""

    contract: ContractAddress
    decimals: Annotated[int, Meta(ge=0, le=36)]


class EvmSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="kind", tag="evm"):
    """A network of Ethereum's kind, through a node of the operator.

    `node_url` and `xpub` are needed by the worker only. `xpub` is the extended public key whose children are the deposit
    addresses (BIP 44: m/44'/60'/0'/0). A payment is final as the chain says, or with a number of confirmations.
    `signer_socket` is that of `tollhouse signer`; without one nothing is paid out. A payout that is in no block after
    `replace_after_s` is replaced by one whose fee is `replacement_rise_percent` higher, up to `fee_per_gas_max_gwei`.
    """

    chain_id: Annotated[int, Meta(ge=1, le=2**53)]
    node_url: str | None = None
    node_url_file: str | None = None
    xpub: str | None = None
    coin: CurrencyCode = "ETH"
    tokens: dict[CurrencyCode, TokenSettings] = {}
    finality: Literal["finalized"] | Annotated[int, Meta(ge=1, le=10_000)] = FINALIZED
    poll_interval_s: Annotated[int, Meta(ge=1, le=600)] = 4
    tip_age_max_s: Annotated[int, Meta(ge=1)] = 600
    signer_socket: str | None = None
    fee_per_gas_max_gwei: Annotated[int, Meta(ge=1, le=1_000_000)] = 200
    replace_after_s: Annotated[int, Meta(ge=10)] = 300
    replacement_rise_percent: Annotated[int, Meta(ge=10, le=100)] = 12


class StripeSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="kind", tag="stripe"):
    """Cards by a provider with Stripe's API.

    All webhook secrets are valid: there are two while one is rotated. `statement_suffix` is added to the text on the
    customer's card statement. `takes_test_payments` takes payments of the provider's test mode for real ones.
    """

    secret_key_file: str
    webhook_secret_files: Annotated[tuple[str, ...], Meta(min_length=1, max_length=3)]
    api_url: str = STRIPE_API_URL
    statement_suffix: Annotated[str, Meta(min_length=1, max_length=22, pattern="^[A-Za-z0-9 .-]+$")] | None = None
    takes_test_payments: bool = False


RailSettings = EvmSettings | StripeSettings


def load(path: Path | None) -> Mapping[str, RailSettings]:
    """The rails of this file by name; none without a file. Raises `InvalidSettingsError` with all errors."""
    return {} if path is None else read(path.read_bytes())


def read(raw: bytes) -> Mapping[str, RailSettings]:
    """The rails of this file by name. Raises `InvalidSettingsError` with all errors."""
    try:
        document: dict[str, Any] = tomllib.loads(raw.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidSettingsError([f"{SETTING} is not valid TOML: {error}"]) from None
    errors: list[str] = []
    found: dict[str, RailSettings] = {}
    for name, table in document.items():
        try:
            rail: RailSettings = msgspec.convert(table, RailSettings)
            found[name] = rail
        except msgspec.ValidationError as error:
            errors.append(f"{SETTING} [{name}]: {error}")
    errors += [f"{SETTING} {error}" for error in (*_name_errors(document), *_evm_errors(found), *_stripe_errors(found))]
    if errors:
        raise InvalidSettingsError(errors)
    return found


def secret(text: str | None, file: str | None) -> str | None:
    """The text of a setting, or of the file that it names; None if neither is set. Raises `ValueError`."""
    if file is None:
        return text
    return setting_values.small_text(setting_values.file(file), SECRET_BYTES_MAX).strip() or None


def _name_errors(document: Mapping[str, Any]) -> Iterator[str]:
    for name in document:
        if NAME.fullmatch(name) is None:
            yield f"[{name}]: must be 1 to 32 characters of a-z, 0-9 and _"
        elif name in BUILT_IN:
            yield f"[{name}]: this rail is built in"


def _evm_errors(found: Mapping[str, RailSettings]) -> Iterator[str]:
    for name, rail in found.items():
        if not isinstance(rail, EvmSettings):
            continue
        if rail.node_url is not None and rail.node_url_file is not None:
            yield f"[{name}]: node_url and node_url_file are both set"
        if rail.coin in rail.tokens:
            yield f"[{name}]: {rail.coin} is the coin of the network and cannot be a token"
        contracts = [token.contract.lower() for token in rail.tokens.values()]
        if len(set(contracts)) != len(contracts):
            yield f"[{name}]: two tokens have the same contract"
        try:
            url = secret(rail.node_url, rail.node_url_file)
        except ValueError as error:
            yield f"[{name}]: node_url_file {error}"
            continue
        if url is not None and not url.startswith(("http://", "https://")):
            yield f"[{name}]: node_url must start with http:// or https://"


def _stripe_errors(found: Mapping[str, RailSettings]) -> Iterator[str]:
    for name, rail in found.items():
        if not isinstance(rail, StripeSettings):
            continue
        address = urlsplit(rail.api_url)
        if address.scheme != "https" and not setting_values.is_local_url(rail.api_url):
            yield f"[{name}]: api_url must start with https://"
        if address.path or address.query:
            yield f"[{name}]: api_url must end with the host or port"
        for member, file in (
            ("secret_key_file", rail.secret_key_file),
            *(("webhook_secret_files", one) for one in rail.webhook_secret_files),
        ):
            try:
                text = secret(None, file)
            except ValueError as error:
                yield f"[{name}]: {member} {error}"
                continue
            if text is None or not (text.isascii() and text.isprintable()):
                yield f"[{name}]: {member} must name a file with one line of ASCII characters"
            elif member == "secret_key_file" and text.startswith(STRIPE_TEST_KEYS) and not rail.takes_test_payments:
                yield f"[{name}]: the key is of the provider's test mode, in which nobody pays"
