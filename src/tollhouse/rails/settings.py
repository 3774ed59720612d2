"""The operator's rails file (TOML), read once at start: each table is a rail of live mode, named as in the ledger.

[ethereum]
kind = "evm"
chain_id = 1
node_url_file = "/etc/tollhouse/ethereum.url"
xpub = "xpub6…"
[ethereum.tokens.USDC]
contract = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"
decimals = 6

[bitcoin]
kind = "bitcoin"
network = "main"
node_url_file = "/etc/tollhouse/bitcoin.url"
xpub = "zpub6…"

[card]
kind = "stripe"
secret_key_file = "/etc/tollhouse/card.key"
webhook_secret_files = ["/etc/tollhouse/card.webhook"]
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta, Struct

from tollhouse.kernel.rails.provider import BLOCK_WITHIN
from tollhouse.platform.settings import values as setting_values
from tollhouse.platform.settings.config import InvalidSettingsError

SETTING = "TOLLHOUSE_RAILS_FILE"
NAME = re.compile(r"[a-z0-9_]{1,32}")
BUILT_IN = frozenset({"sandbox", "bank"})
FINALIZED: Literal["finalized"] = "finalized"
SECRET_BYTES_MAX = 4_096
BLOCK_WITHIN_S = int(BLOCK_WITHIN.total_seconds())
STRIPE_API_URL = "https://api.stripe.com"
STRIPE_TEST_KEYS = ("sk_test_", "rk_test_")

EvmAddress = Annotated[str, Meta(pattern="^0x[0-9a-fA-F]{40}$")]
CurrencyCode = Annotated[str, Meta(pattern="^[A-Z0-9]{2,12}$")]
Network = Literal["main", "test", "testnet4", "signet", "regtest"]
"""Bitcoin's networks, as a node names them."""
Digits = Annotated[str, Meta(pattern=r"^[0-9]{1,20}(\.[0-9]{1,36})?$")]
"""An amount as people write it: 0.05"""
ExplorerUrl = Annotated[str, Meta(pattern=r"^https://[^\s{}]*\{tx\}[^\s{}]*$", max_length=300)]
"""Where people look a transaction up: `{tx}` stands for its hash."""


class TokenSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """An ERC-20 token: its contract, and the decimals that this counts in."""

    contract: EvmAddress
    decimals: Annotated[int, Meta(ge=0, le=36)]


class NodeSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A network through a node of the operator. `node_url` and `xpub` are needed by the worker only.

    A transfer that is in a block `block_within_s` after it was seen first counts as of that moment, otherwise as of its
    block.
    """

    node_url: str | None = None
    node_url_file: str | None = None
    xpub: str | None = None
    block_within_s: Annotated[int, Meta(ge=60, le=7 * 86_400)] = BLOCK_WITHIN_S
    explorer_url: ExplorerUrl | None = None

    def read_node_url(self) -> str | None:
        """The address of the node as it is now, with user and password; None if none is set. Raises `ValueError`."""
        return current_secret(self.node_url, self.node_url_file)


class EvmSettings(NodeSettings, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="kind", tag="evm"):
    """A network of Ethereum's kind.

    `xpub` is the extended public key whose children are the deposit addresses (BIP 44: m/44'/60'/0'/0). A payment is final
    as the chain says, or with a number of confirmations.
    `signer_socket` is that of `tollhouse signer`. With `offline_wallet`, the address of a wallet whose signer has no
    connection, operators export and import files instead. Without both nothing is paid out. A payout in no block after
    `replace_after_s` is replaced by one whose fee is `replacement_rise_percent` higher, up to `fee_per_gas_max_gwei`.
    Deposits of the currencies in `sweep_above` are collected from addresses that have at least this much, while gas costs
    at most `sweep_fee_per_gas_max_gwei`; `sweep_reserve` of the coin stays at the address.
    """

    chain_id: Annotated[int, Meta(ge=1, le=2**53)]
    coin: CurrencyCode = "ETH"
    tokens: dict[CurrencyCode, TokenSettings] = {}
    finality: Literal["finalized"] | Annotated[int, Meta(ge=1, le=10_000)] = FINALIZED
    poll_interval_s: Annotated[int, Meta(ge=1, le=600)] = 4
    tip_age_max_s: Annotated[int, Meta(ge=1)] = 600
    signer_socket: str | None = None
    offline_wallet: EvmAddress | None = None
    fee_per_gas_max_gwei: Annotated[int, Meta(ge=1, le=1_000_000)] = 200
    replace_after_s: Annotated[int, Meta(ge=10)] = 300
    replacement_rise_percent: Annotated[int, Meta(ge=10, le=100)] = 12
    sweep_above: dict[CurrencyCode, Digits] = {}
    sweep_fee_per_gas_max_gwei: Annotated[int, Meta(ge=1, le=1_000_000)] = 30
    sweep_reserve: Digits = "0"


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


class BitcoinSettings(NodeSettings, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="kind", tag="bitcoin"):
    """Bitcoin, through a node with a watch-only wallet.

    `xpub` is the public key of a native SegWit account (BIP 84), also written as zpub. `fingerprint` is that of the wallet's
    master key, by which signers find their key, and `account_path` the way from it to the account. A payment counts with
    `confirmations`; up to `small_up_to_minor` satoshis, `small_confirmations` suffice for all transfers of a payment
    together. Payouts wait while the network fee is above `fee_rate_max`, in satoshis per virtual byte.
    """

    network: Network
    wallet: Annotated[str, Meta(pattern="^[A-Za-z0-9_-]{1,64}$")] = "tollhouse"
    fingerprint: Annotated[str, Meta(pattern="^[0-9a-fA-F]{8}$")] | None = None
    account_path: Annotated[str, Meta(pattern="^([0-9]{1,10}['h]?/){0,9}[0-9]{1,10}['h]?$")] | None = None
    confirmations: Annotated[int, Meta(ge=1, le=100)] = 2
    small_confirmations: Annotated[int, Meta(ge=1, le=100)] = 1
    small_up_to_minor: Annotated[int, Meta(ge=0, le=2**53)] = 0
    poll_interval_s: Annotated[int, Meta(ge=1, le=600)] = 10
    tip_age_max_s: Annotated[int, Meta(ge=1)] = 10_800
    fee_rate_max: Annotated[int, Meta(ge=1, le=10_000)] = 200


RailSettings = EvmSettings | BitcoinSettings | StripeSettings


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
    errors += [f"{SETTING} {error}" for error in (*_name_errors(document), *_rail_errors(found))]
    if errors:
        raise InvalidSettingsError(errors)
    return found


def secret(text: str | None, file: str | None) -> str | None:
    """The text of a setting, or of the file that it names; None if neither is set. Raises `ValueError`."""
    if file is None:
        return text
    return setting_values.small_text(setting_values.file(file), SECRET_BYTES_MAX).strip() or None


def current_secret(text: str | None, file: str | None) -> str | None:
    """The text of a setting or its file, for jobs of every second: a file is read again when it has changed.

    Raises `ValueError`.
    """
    if file is None:
        return text
    try:
        found = Path(file).stat()
    except OSError as error:
        raise ValueError(f"cannot be read: {error.strerror}") from None
    return _secret_of(file, found.st_mtime_ns, found.st_ino, found.st_size)


@lru_cache(maxsize=16)
def _secret_of(file: str, _changed_ns: int, _inode: int, _size: int) -> str | None:
    return secret(None, file)


def _name_errors(document: Mapping[str, Any]) -> Iterator[str]:
    for name in document:
        if NAME.fullmatch(name) is None:
            yield f"[{name}]: must be 1 to 32 characters of a-z, 0-9 and _"
        elif name in BUILT_IN:
            yield f"[{name}]: this rail is built in"


def _rail_errors(found: Mapping[str, RailSettings]) -> Iterator[str]:
    for name, rail in found.items():
        match rail:
            case EvmSettings():
                yield from (f"[{name}]: {error}" for error in (*_evm_errors(rail), *_node_errors(rail)))
            case BitcoinSettings():
                yield from (f"[{name}]: {error}" for error in (*_bitcoin_errors(name, rail, found), *_node_errors(rail)))
            case StripeSettings():
                yield from (f"[{name}]: {error}" for error in _stripe_errors(rail))


def _evm_errors(rail: EvmSettings) -> Iterator[str]:
    if rail.coin in rail.tokens:
        yield f"{rail.coin} is the coin of the network and cannot be a token"
    for currency in sorted(rail.sweep_above.keys() - {rail.coin, *rail.tokens}):
        yield f"sweep_above has {currency}, which the rail does not carry"
    if rail.signer_socket is not None and rail.offline_wallet is not None:
        yield "signer_socket and offline_wallet are both set"
    if rail.sweep_above and rail.signer_socket is None:
        yield "sweep_above needs signer_socket"
    contracts = [token.contract.lower() for token in rail.tokens.values()]
    if len(set(contracts)) != len(contracts):
        yield "two tokens have the same contract"


def _bitcoin_errors(name: str, rail: BitcoinSettings, found: Mapping[str, RailSettings]) -> Iterator[str]:
    """Two rails with one key would give out the same addresses, and both be credited."""
    same = (other for other, one in found.items() if isinstance(one, BitcoinSettings) and one.xpub == rail.xpub)
    if rail.xpub is not None and next(same, name) != name:
        yield "another rail has the same xpub"
    if rail.small_confirmations > rail.confirmations:
        yield "small_confirmations is larger than confirmations"


def _node_errors(rail: NodeSettings) -> Iterator[str]:
    if rail.node_url is not None and rail.node_url_file is not None:
        yield "node_url and node_url_file are both set"
    try:
        url = secret(rail.node_url, rail.node_url_file)
    except ValueError as error:
        yield f"node_url_file {error}"
        return
    if url is not None and not url.startswith(("http://", "https://")):
        yield "node_url must start with http:// or https://"


def _stripe_errors(rail: StripeSettings) -> Iterator[str]:
    address = urlsplit(rail.api_url)
    if address.scheme != "https" and not setting_values.is_local_url(rail.api_url):
        yield "api_url must start with https://"
    if address.path or address.query:
        yield "api_url must end with the host or port"
    for member, file in (
        ("secret_key_file", rail.secret_key_file),
        *(("webhook_secret_files", one) for one in rail.webhook_secret_files),
    ):
        try:
            text = secret(None, file)
        except ValueError as error:
            yield f"{member} {error}"
            continue
        if text is None or not (text.isascii() and text.isprintable()):
            yield f"{member} must name a file with one line of ASCII characters"
        elif member == "secret_key_file" and text.startswith(STRIPE_TEST_KEYS) and not rail.takes_test_payments:
            yield "the key is of the provider's test mode, in which nobody pays"
