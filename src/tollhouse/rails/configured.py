"""The rails of this installation, and the operator's rails file (TOML), read once at start.

Each table of the file is a rail of live mode, named as in the ledger.

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
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Union

import msgspec

from tollhouse.kernel.rails.registry import Rails
from tollhouse.platform.settings.config import InvalidSettingsError, Settings
from tollhouse.rails.bank.slice import RAIL as BANK
from tollhouse.rails.bitcoin.slice import RAIL as BITCOIN
from tollhouse.rails.cards.slice import RAIL as CARDS
from tollhouse.rails.evm.slice import RAIL as EVM
from tollhouse.rails.rail import Rail
from tollhouse.rails.sandbox.slice import RAIL as SANDBOX
from tollhouse.rails.settings import RailSettings

RAILS: Sequence[Rail] = (SANDBOX, BANK, EVM, BITCOIN, CARDS)
"""The folders of `rails/` that have a rail."""
MEASUREMENTS = {rail.measurement.of: rail.measurement.begin for rail in RAILS if rail.measurement is not None}
"""How rails are measured, by their class."""
SETTING = "TOLLHOUSE_RAILS_FILE"
NAME = re.compile(r"[a-z0-9_]{1,32}")
BUILT_IN = frozenset({"sandbox", "bank"})
TABLES = {rail.table.settings: rail.table for rail in RAILS if rail.table is not None}
ANY_TABLE: Any = Union[tuple(TABLES)]  # noqa: UP007 - of as many kinds as there are


def build(settings: Settings) -> Rails:
    """The rails that are set up with these settings and their rails file. Raises `InvalidSettingsError`."""
    built_in = [rail.built_in(settings) for rail in RAILS if rail.built_in is not None]
    described = [TABLES[type(table)].build(name, table) for name, table in load(settings.rails_file).items()]
    return Rails([*(provider for provider in built_in if provider is not None), *described])


def load(path: Path | None) -> Mapping[str, RailSettings]:
    """The tables of this file by name; none without a file. Raises `InvalidSettingsError` with all errors."""
    return {} if path is None else read(path.read_bytes())


def read(raw: bytes) -> Mapping[str, RailSettings]:
    """The tables of this file by name. Raises `InvalidSettingsError` with all errors."""
    try:
        document: dict[str, Any] = tomllib.loads(raw.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidSettingsError([f"{SETTING} is not valid TOML: {error}"]) from None
    errors: list[str] = []
    found: dict[str, RailSettings] = {}
    for name, table in document.items():
        try:
            found[name] = msgspec.convert(table, ANY_TABLE)
        except msgspec.ValidationError as error:
            errors.append(f"{SETTING} [{name}]: {error}")
    errors += [f"{SETTING} {error}" for error in (*_name_errors(document), *_table_errors(found))]
    if errors:
        raise InvalidSettingsError(errors)
    return found


def _name_errors(document: Mapping[str, Any]) -> Iterator[str]:
    for name in document:
        if NAME.fullmatch(name) is None:
            yield f"[{name}]: must be 1 to 32 characters of a-z, 0-9 and _"
        elif name in BUILT_IN:
            yield f"[{name}]: this rail is built in"


def _table_errors(found: Mapping[str, RailSettings]) -> Iterator[str]:
    tables = list(found.values())
    for place, (name, table) in enumerate(found.items()):
        yield from (f"[{name}]: {error}" for error in table.list_errors(tables[:place]))
