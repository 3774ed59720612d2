"""The account key of a watch-only wallet (BIP32, BIP84): its addresses, scripts and descriptors.

The library is imported where it is used: a process without this rail does not load it.
"""

from dataclasses import replace
from typing import Final, Literal

from msgspec import Struct

from tollhouse.kernel.text import Text
from tollhouse.rails.bitcoin.settings import Network

Chain = Literal[0, 1]
"""The branch of an account: deposits or change."""

DEPOSITS: Final[Chain] = 0
CHANGE: Final[Chain] = 1
ACCOUNT_DEPTH = 3
INDEX_MAX = 2**31 - 1
SPENDABLE = frozenset({"p2pkh", "p2sh", "p2wpkh", "p2wsh", "p2tr"})
LIBRARY_NAMES: dict[Network, str] = {
    "main": "mainnet",
    "test": "testnet",
    "testnet4": "testnet4",
    "signet": "signet",
    "regtest": "regtest",
}


class InvalidKeyError(ValueError):
    """The text is not the public key of an account of this network. The message says why, without the key."""


class AccountKey(Struct, frozen=True):
    """The extended public key of an account, and where it comes from.

    `fingerprint` is that of the master key, as 8 hexadecimal digits, and `path` the way from it, such as `84h/0h/0h`.
    Signers find their key by both.
    """

    xpub: str
    network: Network
    fingerprint: str = "00000000"
    path: str = "84h/0h/0h"


def parse_account(text: str, network: Network, fingerprint: str, path: str) -> AccountKey:
    """The account of an extended public key, written as xpub, zpub, tpub or vpub. Raises `InvalidKeyError`."""
    from btclib.exceptions import BTClibValueError  # noqa: PLC0415 - see above
    from btclib.network import network_from_name  # noqa: PLC0415
    from btclib_wallet.bip32 import BIP32KeyData, BIP32KeyOrigin  # noqa: PLC0415

    known = network_from_name(LIBRARY_NAMES[network])
    try:
        key = BIP32KeyData.b58decode(text.strip())
        BIP32KeyOrigin(fingerprint, f"m/{path.removeprefix('m/')}")
    except (BTClibValueError, ValueError):  # whose message may contain the key
        raise InvalidKeyError("This is not an extended public key with the origin of its master key.") from None
    if key.is_private:
        raise InvalidKeyError("This is a private key. Only the public key of the account belongs here.")
    if key.version not in {known.bip32_pub, known.slip132_p2wpkh_pub}:
        raise InvalidKeyError(
            Text("This is not the public key of a native SegWit account (BIP84) of the network %(name)s.", name=network)
        )
    if key.depth != ACCOUNT_DEPTH:
        raise InvalidKeyError(
            Text(
                "This is a key of depth %(depth)s. The key of an account has depth %(wanted)s.",
                depth=key.depth,
                wanted=ACCOUNT_DEPTH,
            )
        )
    xpub = replace(key, version=known.bip32_pub).b58encode()
    return AccountKey(xpub, network, fingerprint.lower(), path.removeprefix("m/").replace("'", "h"))


def addresses(account: AccountKey, chain: Chain, indexes: range) -> list[str]:
    """The addresses of a chain at these indexes."""
    from btclib import b32  # noqa: PLC0415
    from btclib.key import PubKeyData  # noqa: PLC0415
    from btclib_wallet.bip32 import derive_from_account_range_  # noqa: PLC0415

    name = LIBRARY_NAMES[account.network]
    keys = derive_from_account_range_(account.xpub, chain, list(indexes), max_index=INDEX_MAX)
    return [b32.p2wpkh(PubKeyData(key.key, name)) for key in keys]


def address(account: AccountKey, chain: Chain, index: int) -> str:
    """The address of a chain at this index."""
    return addresses(account, chain, range(index, index + 1))[0]


def public_key(account: AccountKey, chain: Chain, index: int) -> bytes:
    """The public key of the address of a chain at this index, compressed."""
    from btclib_wallet.bip32 import derive_from_account_  # noqa: PLC0415

    return derive_from_account_(account.xpub, chain, index, max_index=INDEX_MAX).key


def descriptor(account: AccountKey, chain: Chain) -> str:
    """The output descriptor of a chain (BIP380), without its checksum."""
    return f"wpkh([{account.fingerprint}/{account.path}]{account.xpub}/{chain}/*)"


def address_error(text: str, network: Network) -> str | None:
    """Why nothing can be paid to this address, as a sentence; None if it can."""
    if script_of(text, network) is None:
        return "This must be a Bitcoin address, such as bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu."
    return None


def script_of(text: str, network: Network) -> bytes | None:
    """The output script of an address; None if it is no address of the network, or nobody could spend it."""
    from btclib.exceptions import BTClibValueError  # noqa: PLC0415
    from btclib.script import ScriptPubKey  # noqa: PLC0415

    normal = normal_address(text)
    try:
        found = ScriptPubKey.from_address(normal)
        # Some networks share prefixes: what counts is how this one would write it.
        written = ScriptPubKey(found.script, LIBRARY_NAMES[network]).address
    except (BTClibValueError, ValueError):
        return None
    return found.script if found.type in SPENDABLE and written == normal else None


def normal_address(text: str) -> str:
    """The address in normal form: one in bech32 may be written in capitals."""
    stripped = text.strip()
    return stripped.lower() if stripped.upper() == stripped and stripped.startswith(("BC1", "TB1", "BCRT1")) else stripped
