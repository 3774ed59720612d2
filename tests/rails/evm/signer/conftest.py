"""A signer with a wallet, limits and a journal of its own."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

from tollhouse.rails.evm.signer.journal import SigningJournal, create_journal
from tollhouse.rails.evm.signer.messages import GasTerms, SignTransfer, TransferOrder
from tollhouse.rails.evm.signer.policy import GWEI, read_policy
from tollhouse.rails.evm.signer.rules import Signer
from tollhouse.rails.evm.signer.wallet import Wallet, open_wallet

WORDS = "test test test test test test test test test test test junk"
USDC = "0x" + "5f" * 20
LISTED, OTHER = "0x" + "11" * 20, "0x" + "22" * 20
ETHER, DOLLAR = 10**18, 10**6
TERMS = GasTerms(100_000, 20 * GWEI, GWEI)
SETTINGS = f"""
socket = "FOLDER/socket"
journal = "FOLDER/journal"
mnemonic_file = "FOLDER/mnemonic"
[networks.ethereum]
chain_id = 31337
receivers = ["{LISTED}"]
fees_per_day = "0.02"
[networks.ethereum.assets.ETH]
per_transfer = "2"
per_day = "3"
others_per_transfer = "0.5"
others_per_day = "1"
[networks.ethereum.assets.USDC]
contract = "{USDC}"
decimals = 6
per_transfer = "1000"
per_day = "5000"
"""
Open = Callable[[], Signer]


def transfer(
    amount: int,
    nonce: int = 0,
    terms: GasTerms = TERMS,
    order_id: UUID | None = None,
    receiver: str = LISTED,
    asset: str = "ETH",
    **members: Any,
) -> SignTransfer:
    """A request to pay this amount, in the smallest unit."""
    facts: dict[str, Any] = {
        "network": "ethereum",
        "chain_id": 31337,
        "contract": USDC if asset == "USDC" else None,
    } | members
    order = TransferOrder(order_id=order_id or uuid4(), asset=asset, receiver=receiver, amount=str(amount), **facts)
    return SignTransfer(order, nonce, terms)


@pytest.fixture
def settings(tmp_path: Path) -> Path:
    """The settings, with a wallet and its journal."""
    file, mnemonic = tmp_path / "signer.toml", tmp_path / "mnemonic"
    file.write_text(SETTINGS.replace("FOLDER", str(tmp_path)))
    mnemonic.touch(0o600)
    mnemonic.write_text(WORDS)
    create_journal(tmp_path / "journal", Wallet(WORDS).address)
    return file


@pytest.fixture
def reopen(settings: Path) -> Iterator[Open]:
    """Start the signer; the one before has ended."""
    opened: list[Signer] = []

    def start() -> Signer:
        while opened:
            opened.pop().journal.close()
        policy = read_policy(settings)
        opened.append(Signer(policy, open_wallet(policy.mnemonic_file), SigningJournal(policy.journal)))
        return opened[-1]

    yield start
    while opened:
        opened.pop().journal.close()
