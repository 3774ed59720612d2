"""Deposit addresses: the children of an extended public key, as EVM addresses. Only the worker imports this."""

from typing import Any

from bip32 import BIP32
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from eth_hash.auto import keccak

from tollhouse.rails.evm.network.node import checksum_address

ADDRESS_BYTES = 20


class AddressDeriver:
    """Derives addresses from an extended public key. It cannot spend."""

    def __init__(self, xpub: str) -> None:
        """Raises `ValueError` if this is not an extended public key."""
        bip32: Any = BIP32  # its functions have no types
        try:
            self._root = bip32.from_xpub(xpub)
        except Exception:  # noqa: BLE001 - whatever the library raises; the key itself is not to be repeated
            raise ValueError("not an extended public key") from None

    def address(self, index: int) -> str:
        """The address of the child of this index, with its checksum."""
        compressed: bytes = self._root.get_pubkey_from_path([index])
        key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256K1(), compressed)
        point = key.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
        return checksum_address(f"0x{keccak(point[1:])[-ADDRESS_BYTES:].hex()}")
