"""What the signer signs, and what it does not."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import msgspec
import pytest
from eth_account import Account
from eth_account.typed_transactions.typed_transaction import TypedTransaction
from hexbytes import HexBytes

from tests.rails.evm.signer.conftest import DOLLAR, ETHER, LISTED, OTHER, TERMS, USDC, Open, transfer
from tollhouse.kernel import clock
from tollhouse.rails.evm.signer import rules
from tollhouse.rails.evm.signer.journal import SignedEntry
from tollhouse.rails.evm.signer.messages import (
    DepositAddresses,
    DeriveAddresses,
    DescribeWallet,
    FindSigned,
    FoundSigned,
    GasTerms,
    SignedTransfer,
    SigningRefused,
    SignTransfer,
    WalletFacts,
)
from tollhouse.rails.evm.signer.policy import GWEI
from tollhouse.rails.evm.signer.rules import Signer
from tollhouse.rails.evm.signer.wallet import transfer_data


def decoded(signed: Any) -> dict[str, Any]:
    """The fields of a signed transaction, and who signed it."""
    assert isinstance(signed, SignedTransfer), signed
    account: Any = Account
    fields: dict[str, Any] = TypedTransaction.from_bytes(HexBytes(signed.raw)).as_dict()
    return fields | {"from": account.recover_transaction(signed.raw)}


def code(answer: object) -> str:
    assert isinstance(answer, SigningRefused), answer
    return answer.code


def test_the_signed_bytes_are_the_transfer(reopen: Open) -> None:
    signer = reopen()
    native = decoded(signer.answer(transfer(ETHER, 4)))
    assert (native["from"], native["chainId"], native["nonce"]) == (signer.wallet.address, 31337, 4)
    assert (HexBytes(native["to"]), native["value"], HexBytes(native["data"])) == (HexBytes(LISTED), ETHER, b"")
    assert (native["gas"], native["maxFeePerGas"], native["maxPriorityFeePerGas"]) == (100_000, 20 * GWEI, GWEI)
    token = decoded(signer.answer(transfer(7 * DOLLAR, 5, asset="USDC")))
    assert (HexBytes(token["to"]), token["value"]) == (HexBytes(USDC), 0)
    assert HexBytes(token["data"]) == transfer_data(LISTED, 7 * DOLLAR)


def test_a_wallet_is_the_one_that_other_programs_derive(reopen: Open) -> None:
    """The words of the tests are those of anvil, whose first addresses are known."""
    signer = reopen()
    assert signer.answer(DeriveAddresses((0, 1))) == DepositAddresses(
        ("0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266", "0x70997970C51812dc3A010C7d01b50e0d17dc79C8")
    )
    facts = signer.answer(DescribeWallet("ethereum"))
    assert isinstance(facts, WalletFacts)
    assert facts.address not in {signer.wallet.deposit_address(index) for index in range(3)}


def test_an_order_is_signed_once(reopen: Open) -> None:
    signer, request = reopen(), transfer(ETHER, 3)
    first = signer.answer(request)
    assert isinstance(first, SignedTransfer)
    signer = reopen()  # from the journal, too
    assert signer.answer(request) == first
    assert signer.answer(FindSigned(request.order.order_id)) == FoundSigned((first,))
    wallet = signer.answer(DescribeWallet("ethereum"))
    assert isinstance(wallet, WalletFacts)
    assert wallet.next_nonce == 4
    order = request.order
    for members, expected in (
        ({"amount": str(ETHER + 1)}, "order_different"),
        ({"receiver": OTHER, "amount": "1"}, "order_different"),
        ({"asset": "USDC", "contract": USDC, "amount": "1"}, "order_different"),
    ):
        other = msgspec.structs.replace(request, order=msgspec.structs.replace(order, **members))
        assert code(signer.answer(other)) == expected
    assert code(signer.answer(msgspec.structs.replace(request, nonce=4))) == "order_has_nonce"
    assert code(signer.answer(transfer(ETHER, 3))) == "nonce_used"
    assert len(signer.journal.entries) == 1


def test_a_replacement_has_the_same_nonce_and_a_higher_fee(reopen: Open) -> None:
    signer, request = reopen(), transfer(ETHER, 3)
    signer.answer(request)
    higher = GasTerms(100_000, 22 * GWEI, 11 * GWEI // 10)
    for terms in (GasTerms(100_000, 21 * GWEI, 2 * GWEI), GasTerms(100_000, 30 * GWEI, GWEI), GasTerms(90_000, GWEI, GWEI)):
        assert code(signer.answer(msgspec.structs.replace(request, terms=terms))) == "replacement_underpriced"
    again = decoded(signer.answer(msgspec.structs.replace(request, terms=higher)))
    assert (again["nonce"], again["value"], again["maxFeePerGas"]) == (3, ETHER, 22 * GWEI)
    found = signer.answer(FindSigned(request.order.order_id))
    assert isinstance(found, FoundSigned)
    assert [one.terms for one in found.signed] == [TERMS, higher]


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({"network": "base"}, "network_unknown"),
        ({"chain_id": 1}, "chain_different"),
        ({"asset": "USDT"}, "asset_unknown"),
        ({"contract": OTHER}, "contract_different"),
        ({"asset": "USDC", "contract": OTHER}, "contract_different"),
        ({"asset": "USDC", "contract": None}, "contract_different"),
        ({"receiver": "0x" + "00" * 20}, "receiver_invalid"),
        ({"receiver": USDC}, "receiver_invalid"),
        ({"receiver": "0x" + "11" * 19}, "receiver_invalid"),
        ({"receiver": "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92267"}, "receiver_invalid"),
        ({"amount": "0"}, "amount_invalid"),
        ({"index": 1}, "request_invalid"),
        ({"purpose": "sweep"}, "request_invalid"),
        ({"purpose": "sweep", "index": 1}, "receiver_not_allowed"),
        ({"purpose": "gas", "index": 1}, "receiver_not_allowed"),
        ({"amount": str(2 * ETHER + 1)}, "limit_per_transfer"),
        ({"receiver": OTHER, "amount": str(ETHER // 2 + 1)}, "limit_per_transfer"),
        ({"receiver": OTHER, "asset": "USDC", "contract": USDC, "amount": "1"}, "receiver_not_allowed"),
    ],
)
def test_what_is_not_signed(reopen: Open, members: dict[str, Any], expected: str) -> None:
    signer, request = reopen(), transfer(ETHER)
    changed = msgspec.structs.replace(request, order=msgspec.structs.replace(request.order, **members))
    assert code(signer.answer(changed)) == expected
    own = msgspec.structs.replace(request.order, receiver=signer.wallet.address)
    assert code(signer.answer(msgspec.structs.replace(request, order=own))) == "receiver_invalid"
    assert not signer.journal.entries


def test_limits_of_a_day_are_those_of_the_journal(reopen: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    signer = reopen()
    for nonce, (receiver, amount) in enumerate(((OTHER, ETHER // 2), (OTHER, ETHER // 2), (LISTED, ETHER))):
        assert isinstance(signer.answer(transfer(amount, nonce, receiver=receiver)), SignedTransfer)
    signer = reopen()
    assert code(signer.answer(transfer(1, 3, receiver=OTHER))) == "limit_per_day"
    assert isinstance(signer.answer(transfer(ETHER, 3)), SignedTransfer)
    assert code(signer.answer(transfer(1, 4))) == "limit_per_day"
    tomorrow = clock.now() + timedelta(hours=24, seconds=1)
    monkeypatch.setattr(rules.clock, "now", lambda: tomorrow)
    assert isinstance(signer.answer(transfer(1, 4)), SignedTransfer)


def test_fees_are_limited(reopen: Open) -> None:
    signer = reopen()
    for terms, expected in (
        (GasTerms(200_001, GWEI, 1), "gas_too_high"),
        (GasTerms(21_000, 201 * GWEI, 1), "fee_too_high"),
        (GasTerms(21_000, GWEI, 2 * GWEI), "fee_too_high"),
    ):
        assert code(signer.answer(transfer(1, terms=terms))) == expected
    most = GasTerms(100_000, 100 * GWEI, GWEI)  # half of what a day allows
    first = transfer(1, terms=most)
    assert isinstance(signer.answer(first), SignedTransfer)
    assert isinstance(signer.answer(transfer(1, 1, most)), SignedTransfer)
    assert code(signer.answer(transfer(1, 2, most))) == "fees_per_day"
    rise = GasTerms(100_000, 110 * GWEI, 2 * GWEI)  # a replacement costs what it adds
    assert code(signer.answer(msgspec.structs.replace(first, terms=rise))) == "fees_per_day"


def test_deposit_addresses_are_emptied_to_the_wallet_only(reopen: Open) -> None:
    signer = reopen()
    wallet = signer.wallet.address

    def gas(amount: int, nonce: int, index: int = 1) -> SignTransfer:
        return transfer(amount, nonce, receiver=signer.wallet.deposit_address(1), purpose="gas", index=index)

    sweep = transfer(5000 * DOLLAR, 0, asset="USDC", receiver=wallet, purpose="sweep", index=1)
    swept = decoded(signer.answer(sweep))
    assert swept["from"] == signer.wallet.deposit_address(1)
    assert decoded(signer.answer(gas(ETHER // 100, 0)))["from"] == wallet
    assert code(signer.answer(gas(ETHER // 100 + 1, 1))) == "limit_per_transfer"
    assert code(signer.answer(gas(1, 1, index=2))) == "receiver_not_allowed"


def test_nothing_is_given_out_that_is_not_on_disk(reopen: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    signer, request = reopen(), transfer(ETHER)

    def fail(_entry: SignedEntry) -> None:
        signer.journal.is_usable = False
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(signer.journal, "append", fail)
    assert code(signer.answer(request)) == "journal_unusable"
    monkeypatch.undo()
    assert code(signer.answer(transfer(ETHER))) == "journal_unusable"
    signer = reopen()
    assert signer.answer(FindSigned(request.order.order_id)) == FoundSigned(())
    assert isinstance(signer.answer(request), SignedTransfer)


def test_an_unknown_order_has_nothing_signed(reopen: Open) -> None:
    signer: Signer = reopen()
    assert signer.answer(FindSigned(uuid4())) == FoundSigned(())
    assert code(signer.answer(DescribeWallet("base"))) == "network_unknown"
