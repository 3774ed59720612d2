"""The operator's catalogue file (TOML), read once at start into the catalogue.

    [currencies.PLN]
    name = "Polish Zloty"
    type = "fiat"
    symbol = "zł"
    decimals = 2

    [methods."sepa:EUR"]
    fees = { fixed_minor = 30, basis_points = 150, chargeback_minor = 1500 }

    [game_servers.quest]
    url = "https://quest.example/grants"
    secret_file = "/etc/tollhouse/quest.secret"

    [price_feed]
    url = "https://rates.example/latest?base=EUR"
    check_url = "https://other.example/eur.json"
    check_pointer = "/data/rates"

    [products."quest:gold"]
    game = "Quest"
    name = "Gold"
    unit = "coins"
    server = "quest"
    currency = "EUR"
    unit_price_minor = 5
    unit_wholesale_minor = 4
    maximum_quantity = 10000
    [products."quest:gold".recipient_schema]
    type = "object"
    additionalProperties = false
    required = ["player"]
    properties = { player = { type = "string", maxLength = 64 } }

Built-in entries can be changed, except a currency's decimals and type, and a method's type and rail.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from tollhouse.kernel.catalogue import currencies, methods, products, withdrawal_methods
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.catalogue.conversion_pairs import ConversionPair, PriceFeed
from tollhouse.kernel.catalogue.currencies import Currency
from tollhouse.kernel.catalogue.methods import Method
from tollhouse.kernel.catalogue.products import GameServer, Product
from tollhouse.kernel.catalogue.provider_fields import schema_error
from tollhouse.kernel.catalogue.withdrawal_methods import WithdrawalMethod
from tollhouse.kernel.errors import ValidationFailed
from tollhouse.kernel.messages import SUBJECT
from tollhouse.platform.decoding import decode
from tollhouse.platform.outgoing.targets import InvalidTargetError, parse_target
from tollhouse.platform.settings.config import InvalidSettingsError

SETTING = "TOLLHOUSE_CATALOGUE_FILE"
CODE = re.compile(r"[A-Z0-9]{2,12}")
PAIR_ID = re.compile(r"(?P<one>[A-Z0-9]{2,12}):(?P<other>[A-Z0-9]{2,12})")
TABLES = ("currencies", "methods", "withdrawal_methods", "conversion_pairs", "products", "game_servers")
METHOD_ID = re.compile(r"[a-z0-9_-]{1,32}:(?P<asset>[A-Z0-9]{2,12})")
SERVER = re.compile(r"[a-z0-9_]{1,32}")
PRODUCT_ID = re.compile(r"(?P<server>[a-z0-9_]{1,32}):[a-z0-9_-]{1,64}")
T = TypeVar("T")


def load(path: Path | None) -> Catalogue:
    """The built-in catalogue with the entries of this file, if any. Raises `InvalidSettingsError`."""
    return read(b"" if path is None else path.read_bytes())


def read(raw: bytes) -> Catalogue:
    """The built-in catalogue with the entries of this file. Raises `InvalidSettingsError` with all errors."""
    try:
        document: dict[str, Any] = tomllib.loads(raw.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidSettingsError([f"{SETTING} is not valid TOML: {error}"]) from None
    errors = [f"{name}: unknown table" for name in document if name not in {*TABLES, "price_feed"}]
    tables = {name: document.get(name, {}) for name in TABLES}
    if broken := [f"{name}: must be a table" for name, table in tables.items() if not isinstance(table, dict)]:
        raise InvalidSettingsError([f"{SETTING} {error}" for error in (*errors, *broken)])
    all_currencies = _currencies(tables["currencies"], errors)
    all_methods = _methods(tables["methods"], all_currencies, errors)
    all_withdrawal_methods = _withdrawal_methods(tables["withdrawal_methods"], all_currencies, errors)
    all_pairs = _conversion_pairs(tables["conversion_pairs"], all_currencies, errors)
    all_servers = _game_servers(tables["game_servers"], errors)
    all_products = _products(tables["products"], all_currencies, errors)
    feed = _price_feed(document["price_feed"], errors) if "price_feed" in document else None
    if errors:
        raise InvalidSettingsError([f"{SETTING} {error}" for error in errors])
    return Catalogue(all_currencies, all_methods, all_withdrawal_methods, all_pairs, all_products, all_servers, feed)


def _currencies(entries: dict[str, Any], errors: list[str]) -> dict[str, Currency]:
    found = dict(currencies.BUILT_IN)
    for code, facts in entries.items():
        member, built_in = f"currencies.{code}", currencies.BUILT_IN.get(code)
        if not CODE.fullmatch(code):
            errors.append(f"{member}: the code must be 2 to 12 capital letters and digits")
            continue
        currency = _member(member, Currency, {"code": code}, built_in, facts, errors)
        if currency is None:
            continue
        if built_in is not None:
            errors += _changed_errors(member, built_in, currency, ("decimals", "type"))
        found[code] = currency
    return found


def _methods(entries: dict[str, Any], known: Mapping[str, Currency], errors: list[str]) -> dict[str, Method]:
    found = methods.sandbox_methods(known) | dict(methods.BUILT_IN)
    for method_id, facts in entries.items():
        member, built_in = f'methods."{method_id}"', found.get(method_id)
        parts = METHOD_ID.fullmatch(method_id)
        if parts is None or parts["asset"] not in known:
            errors.append(f"{member}: the ID must be network:CURRENCY with an existing currency")
            continue
        method = _member(member, Method, {"method_id": method_id}, built_in, facts, errors)
        if method is None:
            continue
        errors += _bound_errors(member, method)
        if built_in is not None:
            errors += _changed_errors(member, built_in, method, ("type", "rail"))
        elif "sandbox" in {method.network, method.rail} or method.type == "simulator":
            errors.append(f"{member}: sandbox methods cannot be added")
        found[method_id] = method
    return found


def _withdrawal_methods(
    entries: dict[str, Any], known: Mapping[str, Currency], errors: list[str]
) -> dict[str, WithdrawalMethod]:
    found = withdrawal_methods.sandbox_withdrawal_methods(known) | dict(withdrawal_methods.BUILT_IN)
    for method_id, facts in entries.items():
        member, built_in = f'withdrawal_methods."{method_id}"', found.get(method_id)
        parts = METHOD_ID.fullmatch(method_id)
        if parts is None or parts["asset"] not in known:
            errors.append(f"{member}: the ID must be network:CURRENCY with an existing currency")
            continue
        method = _member(member, WithdrawalMethod, {"method_id": method_id}, built_in, facts, errors)
        if method is None:
            continue
        errors += _bound_errors(member, method)
        if (error := schema_error(method.provider_fields)) is not None:
            errors.append(f"{member}.provider_fields: {error}")
        if built_in is not None:
            errors += _changed_errors(member, built_in, method, ("rail", "receiver_type"))
        elif "sandbox" in {method.network, method.rail}:
            errors.append(f"{member}: sandbox methods cannot be added")
        found[method_id] = method
    return found


def _conversion_pairs(
    entries: dict[str, Any], known: Mapping[str, Currency], errors: list[str]
) -> dict[str, ConversionPair]:
    found: dict[str, ConversionPair] = {}
    for pair_id, facts in entries.items():
        member, parts = f'conversion_pairs."{pair_id}"', PAIR_ID.fullmatch(pair_id)
        if parts is None or parts["one"] == parts["other"] or not {parts["one"], parts["other"]} <= set(known):
            errors.append(f"{member}: the ID must be FROM:TO with two different existing currencies")
            continue
        terms = _member(member, ConversionPair, {"pair_id": pair_id}, None, facts, errors)
        if terms is not None:
            found[pair_id] = terms
            if terms.maximum_minor is not None and terms.maximum_minor < terms.minimum_minor:
                errors.append(f"{member}.maximum_minor: must not be below minimum_minor")
    return found


def _game_servers(entries: dict[str, Any], errors: list[str]) -> dict[str, GameServer]:
    found: dict[str, GameServer] = {}
    for name, facts in entries.items():
        member = f"game_servers.{name}"
        if not SERVER.fullmatch(name) or name == products.SANDBOX:
            errors.append(f"{member}: the name must be 1 to 32 lower-case letters, digits and underscores, and not sandbox")
            continue
        server = _member(member, GameServer, {}, None, facts, errors)
        if server is None:
            continue
        try:
            parse_target(server.url)
            if not server.secret():
                errors.append(f"{member}.secret_file: the file is empty")
        except InvalidTargetError as error:
            errors.append(f"{member}.url: {error}")
        except OSError:
            errors.append(f"{member}.secret_file: the file cannot be read")
        found[name] = server
    return found


def _price_feed(facts: Any, errors: list[str]) -> PriceFeed | None:
    feed = _member("price_feed", PriceFeed, {}, None, facts, errors)
    if feed is None:
        return None
    for name, url in (("url", feed.url), ("check_url", feed.check_url)):
        try:
            parse_target(feed.url if url is None else url)
        except InvalidTargetError as error:
            errors.append(f"price_feed.{name}: {error}")
    return feed


def _products(entries: dict[str, Any], known: Mapping[str, Currency], errors: list[str]) -> dict[str, Product]:
    found = dict(products.BUILT_IN)
    for product_id, facts in entries.items():
        member, built_in = f'products."{product_id}"', products.BUILT_IN.get(product_id)
        product = _member(member, Product, {"product_id": product_id}, built_in, facts, errors)
        if product is None:
            continue
        errors += _product_errors(member, product, known)
        found[product_id] = product
    return found


def _product_errors(member: str, product: Product, known: Mapping[str, Currency]) -> Iterator[str]:
    named = PRODUCT_ID.fullmatch(product.product_id)
    if named is None or named["server"] != product.server:
        yield f"{member}: the ID must be server:item with the server that delivers it"
    if product.server == products.SANDBOX and product.product_id not in products.BUILT_IN:
        yield f"{member}: sandbox products cannot be added"
    if product.currency not in known or not known[product.currency].operations.balances:
        yield f"{member}.currency: the currency must exist and support balances"
    if product.unit_wholesale_minor > product.unit_price_minor:
        yield f"{member}.unit_wholesale_minor: must not exceed unit_price_minor"
    if product.minimum_quantity > product.maximum_quantity:
        yield f"{member}.maximum_quantity: must not be below minimum_quantity"
    if (error := schema_error(product.recipient_schema)) is not None:
        yield f"{member}.recipient_schema: {error}"


def _member(member: str, kind: type[T], name: dict[str, str], built_in: T | None, facts: Any, errors: list[str]) -> T | None:
    """The file's entry merged with the built-in one; None, with errors added, if it is invalid."""
    if not isinstance(facts, dict):
        errors.append(f"{member}: must be a table")
        return None
    before: dict[str, Any] = {} if built_in is None else msgspec.to_builtins(built_in)
    try:
        return decode(_merge(before, facts) | name, kind)  # pyright: ignore[reportUnknownArgumentType]
    except ValidationFailed as error:
        errors += [
            f"{member}.{field_error.field}: {str(field_error.message).removeprefix(SUBJECT)}"
            for field_error in error.field_errors
        ]
        return None


def _merge(before: dict[str, Any], entries: dict[str, Any]) -> dict[str, Any]:
    """The built-in values updated by the file's; nested tables are merged."""
    merged: dict[str, Any] = {
        name: before[name] | value if isinstance(value, dict) and isinstance(before.get(name), dict) else value
        for name, value in entries.items()
    }
    return before | merged


def _changed_errors(member: str, before: Struct, after: Struct, names: tuple[str, ...]) -> Iterator[str]:
    for name in names:
        if getattr(before, name) != getattr(after, name):
            yield f"{member}.{name}: is {getattr(before, name)} and cannot be changed"


def _bound_errors(member: str, method: Method | WithdrawalMethod) -> Iterator[str]:
    if method.maximum_minor is not None and method.maximum_minor < method.minimum_minor:
        yield f"{member}.maximum_minor: must not be below minimum_minor"
    fees = method.fees
    if fees.maximum_minor is not None and fees.maximum_minor < fees.minimum_minor:
        yield f"{member}.fees.maximum_minor: must not be below fees.minimum_minor"
