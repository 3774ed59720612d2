"""`tollhouse signer`: the process with the private keys of EVM networks, and its wallet. See docs/signer.md.

The libraries of Ethereum are imported where they are used: they take a second, and the help needs none.
"""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
from cyclopts import App, Parameter

from tollhouse.instance.cli.options import stderr
from tollhouse.kernel import foreign_json
from tollhouse.kernel.foreign_json import ForeignJsonError
from tollhouse.platform import private_files, rights
from tollhouse.platform.failure import Failure
from tollhouse.rails.evm.signer import journal
from tollhouse.rails.evm.signer.messages import SignedBatch, SignedTransfer, SigningRefused, UnsignedBatch
from tollhouse.rails.evm.signer.policy import SigningPolicy, read_policy

if TYPE_CHECKING:
    from tollhouse.rails.evm.signer.rules import Signer

app = App(name="signer", help="Run the process that has the private keys of EVM networks. See docs/signer.md.")

Settings = Annotated[Path, Parameter(name="--settings", env_var="TOLLHOUSE_SIGNER_FILE", help="The signer's TOML file.")]


@app.command
def run(*, settings: Settings) -> int:
    """Listen on the socket until SIGTERM."""
    from tollhouse.rails.evm.signer import server  # noqa: PLC0415

    policy = read_policy(settings)
    rights.give_up(policy.journal, policy.mnemonic_file)
    signer = _open(policy)
    try:
        asyncio.run(server.serve(signer, policy.socket))
    finally:
        signer.journal.close()
    return 0


@app.command
def new(*, settings: Settings) -> int:
    """Create the wallet and its journal, and print the mnemonic once. Write it down: it is the only copy but the file."""
    from tollhouse.rails.evm.signer import wallet  # noqa: PLC0415

    policy = read_policy(settings)
    words = wallet.create_mnemonic(policy.mnemonic_file)
    journal.create_journal(policy.journal, wallet.Wallet(words).address)
    stderr.print("Write these words down and keep them where nobody else finds them. They are not shown again:")
    print(words)
    return 0


@app.command
def adopt(*, settings: Settings) -> int:
    """Create the journal of a mnemonic that has never paid by a signer. With one that has, orders could be paid twice."""
    from tollhouse.rails.evm.signer import wallet  # noqa: PLC0415

    policy = read_policy(settings)
    journal.create_journal(policy.journal, wallet.open_wallet(policy.mnemonic_file).address)
    return 0


@app.command
def xpub(*, settings: Settings) -> int:
    """Print the public key for the rails file, and the address of the wallet that pays."""
    from tollhouse.rails.evm.signer import wallet  # noqa: PLC0415

    opened = wallet.open_wallet(read_policy(settings).mnemonic_file)
    print(opened.xpub)
    stderr.print(f"The wallet that pays: {opened.address}")
    return 0


@app.command
def verify(*, settings: Settings) -> int:
    """Verify the settings, the wallet and the journal. Exits 1 if the signer would not start."""
    signer = _open(read_policy(settings))
    signer.journal.close()
    stderr.print(f"{signer.wallet.address} has signed {len(signer.journal.entries)} transactions.")
    return 0


@app.command
def repair(*, settings: Settings) -> int:
    """Remove an incomplete last line of the journal. What it contained was never given out."""
    policy = read_policy(settings)
    dropped = journal.drop_incomplete_line(policy.journal)
    stderr.print(f"{dropped} bytes removed.")
    return verify(settings=settings)


@app.command
def sign(unsigned: Path, signed: Path, /, *, settings: Settings) -> int:
    """Sign a file of transfers, also on a machine without network. Exits 1 if any was refused."""
    try:
        batch = foreign_json.decode(unsigned.read_bytes(), UnsignedBatch)
    except ForeignJsonError as error:
        raise Failure(f"{unsigned} is no batch: {error}") from None
    signer = _open(read_policy(settings))
    try:
        answers = [signer.answer(transfer) for transfer in batch.transfers]
    finally:
        signer.journal.close()
    made = tuple(answer for answer in answers if isinstance(answer, SignedTransfer))
    refused = tuple(answer for answer in answers if isinstance(answer, SigningRefused))
    private_files.create(signed, msgspec.json.encode(SignedBatch(made, refused)))
    for denied in refused:
        stderr.print(denied.message, style="red", markup=False)
    stderr.print(f"{len(made)} of {len(answers)} transfers signed.")
    return 1 if refused else 0


def _open(policy: SigningPolicy) -> "Signer":
    """Raises `WalletFileError` and `JournalError`."""
    from tollhouse.rails.evm.signer import rules, wallet  # noqa: PLC0415

    return rules.Signer(policy, wallet.open_wallet(policy.mnemonic_file), journal.SigningJournal(policy.journal))
