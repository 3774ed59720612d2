"""Transactions that are signed elsewhere: what a draft pays, and that only its own signed form is taken back."""

import pytest
from btclib.tx import Tx, TxOut
from btclib_wallet.bip32 import rootxprv_from_seed
from btclib_wallet.psbt import Psbt, extract_tx, finalize
from btclib_wallet.psbt_signer import SoftwareSigner

from tests.rails.bitcoin.wallet import ACCOUNT, FINGERPRINT, ROOT, THEIRS, coin, sign
from tollhouse.rails.bitcoin.network import keys
from tollhouse.rails.bitcoin.network.psbt import (
    REPLACEABLE,
    Payment,
    PsbtRefusedError,
    draft,
    dust_limit,
    read_signed,
    redraft,
)

RATE = 5_000
PAYMENTS = [Payment(THEIRS, 150_000), Payment(THEIRS.upper(), 1_000)]
COINS = [coin(0, 100_000), coin(1, 300), coin(2, 90_000, keys.CHANGE), coin(3, 500_000)]


def test_a_draft_spends_the_first_coins_that_suffice_and_returns_the_change() -> None:
    """In the order of the coins, without the one that costs more than it is worth; all can be replaced later."""
    found = draft(ACCOUNT, COINS, PAYMENTS, RATE, 7)
    psbt = Psbt.b64decode(found.psbt)
    assert found.coins == (COINS[0], COINS[2])
    outputs = psbt.tx.vout
    assert [output.value for output in outputs] == [150_000, 1_000, found.change_minor]
    assert outputs[2].script_pub_key.address == keys.address(ACCOUNT, keys.CHANGE, 7)
    assert found.fee_minor == 190_000 - 151_000 - found.change_minor
    assert psbt.tx.id.hex() == found.txid
    assert {one.sequence for one in psbt.inputs} == {REPLACEABLE}
    origins = [origin.description for one in psbt.inputs for origin in one.hd_key_paths.values()]
    assert origins == [f"{FINGERPRINT}/84h/0h/0h/0/0", f"{FINGERPRINT}/84h/0h/0h/1/2"]
    [change_origin] = psbt.outputs[2].hd_key_paths.values()
    assert change_origin.description == f"{FINGERPRINT}/84h/0h/0h/1/7"
    signed = read_signed(found.psbt, sign(found.psbt).b64encode().encode())
    assert found.fee_minor * 1000 / signed.vsize == pytest.approx(RATE, rel=0.02)


def test_change_that_nobody_would_relay_goes_to_the_fee() -> None:
    """The dust limit depends on the kind of address."""
    found = draft(ACCOUNT, [coin(0, 100_000)], [Payment(THEIRS, 99_010)], RATE, 0)
    assert (found.change_minor, found.fee_minor) == (0, 990)
    assert dust_limit(ACCOUNT.network, THEIRS) == 294
    assert dust_limit(ACCOUNT.network, "1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2") == 546
    assert dust_limit(ACCOUNT.network, "tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx") is None


def test_what_cannot_be_paid_is_refused() -> None:
    """Too few coins, dust, a foreign address, nothing at all, and a coin that is not what its transaction says."""
    for coins, payments, why in (
        (COINS, [Payment(THEIRS, 1_000_000)], "do not cover"),
        ([coin(0, 150_000)], [Payment(THEIRS, 149_900)], "do not cover"),
        ([], PAYMENTS, "do not cover"),
        (COINS, [Payment(THEIRS, 293)], "at least 294"),
        (COINS, [Payment("tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx", 1_000)], "not an address"),
        (COINS, [], "nothing to pay"),
    ):
        with pytest.raises(PsbtRefusedError, match=why):
            draft(ACCOUNT, coins, payments, RATE, 0)
    other = coin(5, 200_000)
    forged = type(other)(other.txid, 0, 300_000, other.chain, other.index, other.previous)
    with pytest.raises(PsbtRefusedError, match="not what its transaction says"):
        draft(ACCOUNT, [forged], [Payment(THEIRS, 250_000)], RATE, 0)


def test_a_replacement_spends_the_same_coins_and_takes_the_fee_from_the_change() -> None:
    """The payments stay as they are."""
    first = draft(ACCOUNT, COINS, PAYMENTS, RATE, 0)
    second = redraft(ACCOUNT, first.coins, PAYMENTS, 3 * RATE, 0)
    before, after = Psbt.b64decode(first.psbt).tx, Psbt.b64decode(second.psbt).tx
    assert [spent.prev_out for spent in before.vin] == [spent.prev_out for spent in after.vin]
    assert before.vout[:2] == after.vout[:2]
    assert second.fee_minor - first.fee_minor == first.change_minor - second.change_minor > 0
    with pytest.raises(PsbtRefusedError, match="change does not cover"):
        redraft(ACCOUNT, first.coins, PAYMENTS, 500_000, 0)


def test_the_signed_form_is_read_however_it_was_written() -> None:
    """As a PSBT with signatures or finalized, in Base64, binary or hexadecimal, or as the raw transaction."""
    found = draft(ACCOUNT, COINS, PAYMENTS, RATE, 0)
    signed = sign(found.psbt)
    final = finalize(signed)
    raw = extract_tx(final).serialize(include_witness=True)
    writings = [
        signed.b64encode().encode(),
        f" {final.b64encode()}\n".encode(),
        signed.serialize(),
        signed.serialize().hex().encode(),
        signed.to_v2().serialize(),
        raw.hex().encode(),
    ]
    for writing in writings:
        result = read_signed(found.psbt, writing)
        assert (result.raw, result.txid) == (raw, found.txid)


def test_only_the_signed_form_of_the_draft_is_taken() -> None:
    """Not another transaction, not one that is unsigned or signed in part, by another key, or over a part of itself."""
    found = draft(ACCOUNT, COINS, PAYMENTS, RATE, 0)
    more = draft(ACCOUNT, COINS, [Payment(THEIRS, 151_000)], RATE, 0)
    partly = sign(found.psbt)
    partly.inputs[1].partial_sigs = {}
    with_note = sign(found.psbt)
    with_note.outputs[0].unknown = {b"\xfb\x01": b"changed"}
    assert read_signed(found.psbt, with_note.b64encode().encode()).txid == found.txid
    foreign = Psbt.b64decode(found.psbt)
    other_key, other_signature = next(iter(sign(more.psbt).inputs[0].partial_sigs.items()))
    foreign.inputs[0].partial_sigs = {other_key: other_signature}
    altered = Tx.parse(extract_tx(finalize(sign(found.psbt))).serialize(include_witness=True))
    altered.vout[0] = TxOut.from_address(150_000, "1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2")
    for returned, why in (
        (sign(more.psbt).b64encode().encode(), "another transaction"),
        (found.psbt.encode(), "not signed"),
        (partly.b64encode().encode(), "not signed"),
        (sign(found.psbt, rootxprv_from_seed(bytes(32))).b64encode().encode(), "not signed"),
        (foreign.b64encode().encode(), "not signed"),
        (altered.serialize(include_witness=True).hex().encode(), "another transaction"),
        (b"", "not signed"),
        (b"\xff\xfe", "not signed"),
        (b"psbt\xff" + bytes(20), "not signed"),
        (bytes(5_000_000), "too large"),
    ):
        with pytest.raises(PsbtRefusedError, match=why):
            read_signed(found.psbt, returned)


def test_a_signature_must_cover_the_whole_transaction() -> None:
    """With another sighash type, strangers could change what is paid after it was signed."""
    found = draft(ACCOUNT, [coin(0, 300_000)], PAYMENTS, RATE, 0)
    loose = Psbt.b64decode(found.psbt)
    loose.inputs[0].sig_hash_type = 0x82
    signed = SoftwareSigner(ROOT).sign_psbt(loose, allowed_sig_hash_types={0x82})
    raw = extract_tx(finalize(signed)).serialize(include_witness=True)
    for returned in (signed.serialize(), raw.hex().encode()):
        with pytest.raises(PsbtRefusedError, match=r"whole transaction|not signed"):
            read_signed(found.psbt, returned)
