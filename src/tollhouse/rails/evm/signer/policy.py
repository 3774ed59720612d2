"""The signer's settings: a TOML file of its own, with files of the wallet and what may leave each network."""

import tomllib
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from tollhouse.platform.failure import Failure
from tollhouse.rails.evm.signer.messages import UNITS_MAX

NATIVE_DECIMALS = 18
GWEI = 10**9
Digits = Annotated[str, Meta(pattern=r"^[0-9]{1,60}(\.[0-9]{1,36})?$")]
"""An amount of the asset as people write it: 1.5"""
Address = Annotated[str, Meta(pattern="^0x[0-9a-fA-F]{40}$")]


class PolicyError(Failure):
    """The settings of the signer are missing or wrong."""


class AssetPolicy(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What may leave of an asset in one transfer and in 24 hours: to listed receivers and in all, and of that to others."""

    contract: Address | None = None
    decimals: Annotated[int, Meta(ge=0, le=36)] = NATIVE_DECIMALS
    per_transfer: Digits
    per_day: Digits
    others_per_transfer: Digits = "0"
    others_per_day: Digits = "0"

    def units(self, amount: str) -> int:
        """An amount in the smallest unit. Raises `PolicyError` where the asset has not that many decimals."""
        return units_of(amount, self.decimals)


class NetworkPolicy(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A network: which receivers are listed, and the bounds of fees. Deposit addresses are emptied to `sweep_to` only."""

    chain_id: Annotated[int, Meta(ge=1, lt=2**53)]
    assets: Annotated[dict[str, AssetPolicy], Meta(min_length=1)]
    receivers: tuple[Address, ...] = ()
    sweep_to: Address | None = None
    gas_max: Annotated[int, Meta(ge=21_000, lt=2**32)] = 200_000
    fee_per_gas_max_gwei: Annotated[int, Meta(ge=1, le=1_000_000)] = 200
    fees_per_day: Digits = "0.1"
    gas_per_sweep: Digits = "0.01"

    @property
    def fee_per_gas_max(self) -> int:
        """In wei."""
        return self.fee_per_gas_max_gwei * GWEI


class SigningPolicy(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Where the socket, the journal and the mnemonic are, and the networks by name."""

    socket: Path
    journal: Path
    mnemonic_file: Path
    networks: dict[str, NetworkPolicy]


def units_of(amount: str, decimals: int) -> int:
    """An amount in the smallest unit of an asset. Raises `PolicyError`."""
    units = Decimal(amount).scaleb(decimals)
    if units != units.to_integral_value() or units > UNITS_MAX:
        raise PolicyError(f"{amount} has more than {decimals} decimals, or is too large.")
    return int(units)


def read_policy(file: Path) -> SigningPolicy:
    """Read and validate the settings. Raises `PolicyError` with what is wrong, and `OSError`."""
    try:
        policy = msgspec.convert(tomllib.loads(file.read_text("utf-8")), SigningPolicy, dec_hook=_path)
        for network in policy.networks.values():
            _validate(network)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError, PolicyError) as error:
        raise PolicyError(f"{file}: {error}") from None
    return policy


def _validate(network: NetworkPolicy) -> None:
    units_of(network.fees_per_day, NATIVE_DECIMALS)
    units_of(network.gas_per_sweep, NATIVE_DECIMALS)
    contracts = [None if asset.contract is None else asset.contract.lower() for asset in network.assets.values()]
    if len(set(contracts)) < len(contracts):
        raise PolicyError("Two assets of a network have the same contract.")
    for name, asset in network.assets.items():
        if asset.contract is None and asset.decimals != NATIVE_DECIMALS:
            raise PolicyError(f"{name} has no contract, so it is the network's own currency, which has 18 decimals.")
        for amount in (asset.per_transfer, asset.per_day, asset.others_per_transfer, asset.others_per_day):
            asset.units(amount)


def _path(kind: type, text: Any) -> Any:
    if kind is Path and isinstance(text, str):
        path = Path(text)
        if not path.is_absolute():
            raise ValueError("must be an absolute path")
        return path
    raise TypeError
