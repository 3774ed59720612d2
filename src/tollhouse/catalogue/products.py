"""What can be delivered into games, and the game servers that hand it out: the sandbox's, and what an operator added."""

import tomllib
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from tollhouse.catalogue.currencies import Words
from tollhouse.kernel.ids import Mode
from tollhouse.kernel.money import MINOR_MAX

SANDBOX = "sandbox"
QUANTITY_MAX = 2**31 - 1
UnavailableReason = Literal["not_in_environment", "disabled_by_operator", "provider_not_configured"]
Quantity = Annotated[int, Meta(ge=1, le=QUANTITY_MAX)]


class Product(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """An item of a game, at a price for each. `unit_wholesale_minor` of it is the game's, the rest is our margin.

    `recipient_schema` is the JSON Schema of what the game wants to know of the player.
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

    def unavailable_in(self, mode: Mode) -> UnavailableReason | None:
        """Why it cannot be delivered in this environment; None where it can."""
        if (self.server == SANDBOX) != (mode == "test"):
            return "not_in_environment"
        if not self.enabled:
            return "disabled_by_operator"
        if mode == "live" and self.server not in GAME_SERVERS:
            return "provider_not_configured"
        return None


class GameServer(Struct, frozen=True, forbid_unknown_fields=True):
    """Where grants are sent, and the file with the secret that signs them: read anew for each, so that it can be changed."""

    url: str
    secret_file: str

    def secret(self) -> bytes:
        """The secret, without the line's end that editors leave."""
        return Path(self.secret_file).read_bytes().strip()


def listed(mode: Mode) -> list[Product]:
    """The products of an environment: the sandbox's in test alone, all others always."""
    return [product for product in PRODUCTS.values() if product.server != SANDBOX or mode == "test"]


def _read() -> dict[str, Product]:
    text = (resources.files("tollhouse.catalogue") / "data" / "products.toml").read_text("utf-8")
    return {name: msgspec.convert({"product_id": name, **facts}, Product) for name, facts in tomllib.loads(text).items()}


BUILT_IN: Mapping[str, Product] = _read()
PRODUCTS: dict[str, Product] = dict(BUILT_IN)
GAME_SERVERS: dict[str, GameServer] = {}
"""What this house has: the built-in ones, and what its operator added before it opened."""
