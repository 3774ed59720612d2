"""Transactions to be signed elsewhere (BIP174): drafted from coins, and read back with signatures.

Of what comes back only the signatures are used. Everything else is taken from the draft, so a returned file cannot change
what is paid, to whom, or for which fee.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from tollhouse.kernel.text import Text
from tollhouse.rails.bitcoin.network import keys
from tollhouse.rails.bitcoin.network.keys import AccountKey, Chain
from tollhouse.rails.bitcoin.settings import Network

if TYPE_CHECKING:
    from btclib_wallet.bip32 import BIP32KeyOrigin
    from btclib_wallet.psbt import Psbt, PsbtIn

REPLACEABLE: Final = 0xFFFFFFFD
"""The sequence of an input whose transaction may be replaced by one with a higher fee (BIP125)."""

SIGHASH_ALL: Final = 1
KEY_WITNESS_ITEMS: Final = 2
INPUT_VBYTES: Final = 68
"""The size of an input of a native SegWit key."""

PSBT_BYTES_MAX: Final = 4 * 1024 * 1024
MAGIC: Final = b"psbt\xff"


class PsbtRefusedError(ValueError):
    """The transaction cannot be drafted, or what was returned is not its signed form. The message says why."""


class Coin(Struct, frozen=True):
    """An unspent output of the account. `previous` is the transaction that made it, which signers verify its amount by."""

    txid: str
    vout: int
    amount_minor: int
    chain: Chain
    index: int
    previous: bytes


class Payment(Struct, frozen=True):
    """An output to make: an address and satoshis."""

    address: str
    amount_minor: int


class Draft(Struct, frozen=True):
    """An unsigned transaction in Base64. Its outputs are the payments in order, then the change if there is any."""

    psbt: str
    txid: str
    fee_minor: int
    change_minor: int
    coins: tuple[Coin, ...]


class SignedTransaction(Struct, frozen=True):
    """A signed transaction as the network takes it."""

    raw: bytes
    txid: str
    vsize: int


def draft(
    account: AccountKey, coins: Sequence[Coin], payments: Sequence[Payment], rate: int, change_index: int, height: int = 0
) -> Draft:
    """Pay with as many of the coins, in their order, as are needed. `rate` is in satoshis per 1000 virtual bytes.

    Coins that cost more than they are worth stay where they are. No block up to `height` can have the transaction, so that
    two drafts of different times are never the same. Raises `PsbtRefusedError`.
    """
    ensure_payable(account, payments)
    worth = [coin for coin in coins if coin.amount_minor * 1000 > INPUT_VBYTES * rate]
    taken_minor, wanted_minor = 0, sum(payment.amount_minor for payment in payments)
    why = f"the payments need {wanted_minor} satoshis and a network fee"
    for number, coin in enumerate(worth, 1):
        taken_minor += coin.amount_minor
        if taken_minor > wanted_minor:
            found = _funded(account, worth[:number], payments, rate, change_index, height)
            if isinstance(found, Draft):
                return found
            why = found
    raise PsbtRefusedError(Text("The confirmed coins do not cover the payments and the network fee: %(why)s.", why=why))


def redraft(
    account: AccountKey, coins: Sequence[Coin], payments: Sequence[Payment], rate: int, change_index: int, height: int = 0
) -> Draft:
    """Spend exactly these coins at another rate: a replacement. Raises `PsbtRefusedError`."""
    ensure_payable(account, payments)
    found = _funded(account, coins, payments, rate, change_index, height)
    if isinstance(found, Draft):
        return found
    raise PsbtRefusedError(Text("The change does not cover the network fee at this rate: %(why)s.", why=found))


def ensure_payable(account: AccountKey, payments: Sequence[Payment]) -> None:
    """Raises `PsbtRefusedError` if an address is not of the network, or an amount is less than the network relays."""
    if not payments:
        raise PsbtRefusedError("There is nothing to pay.")
    for payment in payments:
        limit = dust_limit(account.network, payment.address)
        if limit is None:
            raise PsbtRefusedError(Text("%(address)s is not an address of this network.", address=payment.address))
        if payment.amount_minor < limit:
            raise PsbtRefusedError(
                Text(
                    "%(address)s must get at least %(limit)s satoshis: the network relays no less.",
                    address=payment.address,
                    limit=limit,
                )
            )


def dust_limit(network: Network, address: str) -> int | None:
    """The smallest amount in satoshis that the network relays to this address; None if it is not of the network."""
    from btclib.fee import dust_threshold  # noqa: PLC0415

    script = keys.script_of(address, network)
    return None if script is None else dust_threshold(script)


def read_signed(requested: str, returned: bytes) -> SignedTransaction:
    """The signed form of a draft: from a PSBT in Base64 or binary, or from a transaction in hexadecimal.

    Every signature is verified, and must sign all of the transaction. Raises `PsbtRefusedError`.
    """
    from btclib.exceptions import BTClibTypeError, BTClibValueError  # noqa: PLC0415 - only who signs or imports needs it
    from btclib_wallet.psbt import Psbt, extract_tx, finalize  # noqa: PLC0415

    if len(returned) > PSBT_BYTES_MAX:
        raise PsbtRefusedError("The file is too large for a transaction.")
    request = Psbt.b64decode(requested)
    try:
        signatures = _signatures(returned)
        if signatures.tx != request.tx:
            raise PsbtRefusedError("This is another transaction than the one that was exported.")
        for wanted, given in zip(request.inputs, signatures.inputs, strict=True):
            wanted.partial_sigs = given.partial_sigs
            wanted.final_script_sig, wanted.final_script_witness = b"", given.final_script_witness
        signed = extract_tx(finalize(request), verify_scripts=True)
    except (BTClibValueError, BTClibTypeError, ValueError, KeyError, IndexError, RecursionError) as error:
        if isinstance(error, PsbtRefusedError):
            raise
        raise PsbtRefusedError(f"The transaction is not signed by the keys of the account: {error}") from None
    for spent in signed.vin:
        items = spent.script_witness.stack
        if len(items) != KEY_WITNESS_ITEMS or not items[0] or items[0][-1] != SIGHASH_ALL:
            raise PsbtRefusedError("A signature does not cover the whole transaction (SIGHASH_ALL).")
    return SignedTransaction(signed.serialize(include_witness=True), signed.id.hex(), signed.vsize)


def _funded(
    account: AccountKey, coins: Sequence[Coin], payments: Sequence[Payment], rate: int, change_index: int, height: int
) -> Draft | str:
    """The draft that spends exactly these coins, or why they do not cover it."""
    from btclib.exceptions import BTClibValueError  # noqa: PLC0415
    from btclib.fee import FeeRate  # noqa: PLC0415
    from btclib.tx import TxOut  # noqa: PLC0415
    from btclib_wallet.tx_builder import build_psbt  # noqa: PLC0415

    change_key = keys.public_key(account, keys.CHANGE, change_index)
    change_script = keys.script_of(keys.address(account, keys.CHANGE, change_index), account.network)
    outputs = [TxOut.from_address(payment.amount_minor, keys.normal_address(payment.address)) for payment in payments]
    try:
        inputs = [_input(account, coin) for coin in coins]
        funded = build_psbt(inputs, outputs, FeeRate(sats_per_kvbyte=rate), change_script, lock_time=height)
    except BTClibValueError as error:
        return str(error)
    if funded.change_index is not None:
        change = funded.psbt.outputs[funded.change_index]
        change.hd_key_paths = {change_key: _origin(account, keys.CHANGE, change_index)}
    return Draft(funded.psbt.b64encode(), funded.psbt.tx.id.hex(), funded.fee, funded.change, tuple(coins))


def _input(account: AccountKey, coin: Coin) -> "PsbtIn":
    from btclib.exceptions import BTClibValueError  # noqa: PLC0415
    from btclib.tx import Tx  # noqa: PLC0415
    from btclib_wallet.psbt import PsbtIn  # noqa: PLC0415

    previous = Tx.parse(coin.previous)
    key = keys.public_key(account, coin.chain, coin.index)
    spent = previous.vout[coin.vout]
    own = keys.script_of(keys.address(account, coin.chain, coin.index), account.network)
    if (previous.id.hex(), spent.value, spent.script_pub_key.script) != (coin.txid, coin.amount_minor, own):
        raise BTClibValueError(f"the coin {coin.txid}:{coin.vout} is not what its transaction says")
    return PsbtIn(
        non_witness_utxo=previous,
        witness_utxo=spent,
        hd_key_paths={key: _origin(account, coin.chain, coin.index)},
        previous_tx_id=previous.id,
        output_index=coin.vout,
        sequence=REPLACEABLE,
    )


def _origin(account: AccountKey, chain: Chain, index: int) -> "BIP32KeyOrigin":
    from btclib_wallet.bip32 import BIP32KeyOrigin  # noqa: PLC0415

    return BIP32KeyOrigin(account.fingerprint, f"m/{account.path}/{chain}/{index}")


def _signatures(returned: bytes) -> "Psbt":
    """What was returned, as a PSBT that has the signatures."""
    from btclib.tx import Tx  # noqa: PLC0415
    from btclib_wallet.psbt import Psbt  # noqa: PLC0415

    if returned.startswith(MAGIC):
        return Psbt.parse(returned).to_v0()
    text = returned.decode("ascii").strip()
    try:
        raw = bytes.fromhex(text)
    except ValueError:
        return Psbt.b64decode(text).to_v0()
    if raw.startswith(MAGIC):
        return Psbt.parse(raw).to_v0()
    signed = Tx.parse(raw)
    witnesses = [spent.script_witness for spent in signed.vin]
    found = Psbt.from_tx(signed)
    for spent, witness in zip(found.inputs, witnesses, strict=True):
        spent.final_script_witness = witness
    return found
