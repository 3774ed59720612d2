"""In-game products, and the game servers that deliver them."""

import tomllib
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from tollhouse.kernel.catalogue.currencies import Words
from tollhouse.kernel.money import MINOR_MAX

SANDBOX = "sandbox"
QUANTITY_MAX = 2**31 - 1
UnavailableReason = Literal["not_in_environment", "disabled_by_operator", "provider_not_configured"]
"""Why a product cannot be ordered.

not_in_environment: It does not exist in this environment.
disabled_by_operator: The operator switched it off.
provider_not_configured: The operator has not set up the provider.
"""
Quantity = Annotated[int, Meta(ge=1, le=QUANTITY_MAX)]


class Product(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """An item of a game. `unit_wholesale_minor` of the price is owed to the game, the rest is the platform's margin.

    `recipient_schema` is the JSON Schema of the recipient.
    """

    product_id: str
    game: Words
    name: Words
    unit: Words
    server: Annotated[str, Meta(pattern="^[a-z0-9_]{1,32}$")]
    enabled: bool = True
    currency: str
    unit_price_minor: Annotated[int, Meta(ge=1, le=MINOR_MAX)]
    unit_wholesale_minor: Annotated[int, Meta(ge=0, le=MINOR_MAX)]
    minimum_quantity: Quantity = 1
    maximum_quantity: Quantity
    recipient_schema: dict[str, Any]


class GameServer(Struct, frozen=True, forbid_unknown_fields=True):
    """The URL of grants, and the file with the signing secret, read for each grant."""

    url: str
    secret_file: str

    def secret(self) -> bytes:
        """The secret, without surrounding whitespace."""
        return Path(self.secret_file).read_bytes().strip()


def _read() -> dict[str, Product]:
    text = (resources.files("tollhouse.kernel.catalogue") / "data" / "products.toml").read_text("utf-8")
    return {name: msgspec.convert({"product_id": name, **facts}, Product) for name, facts in tomllib.loads(text).items()}


BUILT_IN: Mapping[str, Product] = _read()
