"""The wallet of the tests: an account of the BIP84 vectors, whose owner signs elsewhere, and coins of it."""

from typing import Final

from btclib.tx import OutPoint, Tx, TxIn, TxOut
from btclib_wallet import slip132
from btclib_wallet.bip32 import fingerprint, xpub_from_xprv
from btclib_wallet.psbt import Psbt
from btclib_wallet.psbt_signer import SoftwareSigner

from tollhouse.rails.bitcoin.network import keys
from tollhouse.rails.bitcoin.network.keys import AccountKey, Chain, parse_account
from tollhouse.rails.bitcoin.network.psbt import Coin

ROOT: Final = (
    "zprvAWgYBBk7JR8Gjrh4UJQ2uJdG1r3WNRRfURiABBE3RvMXYSrRJL62XuezvGdPvG6GFBZduosCc1YP5wixPox7zhZLfiUm8aunE96BBa4Kei5"
)
"""The root key of the vectors of BIP84, of the mnemonic "abandon" (11 times) "about"."""

FINGERPRINT: Final = fingerprint(ROOT).hex()
ZPUB: Final = xpub_from_xprv(slip132.p2wpkh_xkey(ROOT))
ACCOUNT: Final = parse_account(ZPUB, "main", FINGERPRINT, "84h/0h/0h")
THEIRS: Final = "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"
"""An address of somebody else."""


def funding(number: int, *outputs: tuple[str, int]) -> Tx:
    """A transaction that pays these addresses, from the coin with this number."""
    source = TxIn(OutPoint(number.to_bytes(32, "big"), 0), b"", 0xFFFFFFFD)
    return Tx(2, 0, [source], [TxOut.from_address(amount_minor, address) for address, amount_minor in outputs])


def coin(number: int, amount_minor: int, chain: Chain = keys.DEPOSITS, account: AccountKey = ACCOUNT) -> Coin:
    """The coin with this number, at the address with the same."""
    tx = funding(number, (keys.address(account, chain, number), amount_minor))
    return Coin(tx.id.hex(), 0, amount_minor, chain, number, tx.serialize(include_witness=True))


def sign(draft: str, root: str = ROOT) -> Psbt:
    """A draft with the signatures of the owner of the account."""
    return SoftwareSigner(root).sign_psbt(Psbt.b64decode(draft))
