"""The signer as a process: its commands, its socket, and where its keys are not."""

import asyncio
import signal
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.rails.evm.signer.conftest import ETHER, WORDS, transfer
from tollhouse.instance.cli import signer as commands
from tollhouse.platform.failure import Failure
from tollhouse.rails.evm.signer.client import SignerClient, SignerUnavailable
from tollhouse.rails.evm.signer.messages import SignedTransfer, SigningRefused, SignTransfer, WalletFacts
from tollhouse.rails.evm.signer.wallet import PAYING, Wallet, WalletFileError

WALLET: Any = Wallet(WORDS)
KEYS = [WALLET._root.get_privkey_from_path(path) for path in (PAYING, "m/44'/60'/0'/0/0", "m/44'/60'/0'/0/1", "m")]


def command(*words: str | Path) -> list[str]:
    return [sys.executable, "-m", "tollhouse", "signer", *map(str, words)]


@pytest.mark.long
async def test_a_worker_gets_signatures_and_no_keys(settings: Path, tmp_path: Path) -> None:
    """Also after a kill. No process shows a key in its environment, and no key is in a log, an answer or the journal."""
    socket, log = tmp_path / "socket", tmp_path / "log"
    client, request = SignerClient(socket), transfer(ETHER)
    with pytest.raises(SignerUnavailable):
        await client.sign(request)
    signed: list[SignedTransfer | SigningRefused] = []
    shown = b""
    for end in (signal.SIGKILL, signal.SIGTERM):
        with log.open("ab") as out:
            process = await asyncio.create_subprocess_exec(*command("run", "--settings", settings), stderr=out)
        try:
            signed.append(await _first_answer(client, request))
            await client.sign(transfer(1, len(signed)))
            assert (socket.stat().st_mode & 0o777) == 0o660
            shown += b"".join(Path(f"/proc/{process.pid}/{name}").read_bytes() for name in ("environ", "cmdline"))
            reader, writer = await asyncio.open_unix_connection(socket)
            writer.write(b'{"do":"keys"}\n' + b"x" * 300_000 + b"\n")
            shown += await reader.read()
            writer.close()
            await writer.wait_closed()
        finally:
            process.send_signal(end)
            await process.wait()
    assert signed[0] == signed[1]
    written = shown + log.read_bytes() + (tmp_path / "journal").read_bytes() + msgspec.json.encode(signed)
    assert b"transfer_signed" in written
    assert b"request_invalid" in written
    assert WORDS.encode() not in written
    for key in KEYS:
        assert key.hex().encode() not in written
        assert key not in written


async def _first_answer(client: SignerClient, request: SignTransfer) -> SignedTransfer | SigningRefused:
    for _ in range(600):
        try:
            facts = await client.describe_wallet("ethereum")
        except SignerUnavailable:
            await asyncio.sleep(0.05)
        else:
            assert isinstance(facts, WalletFacts)
            return await client.sign(request)
    raise AssertionError("the signer did not start")


def test_a_wallet_is_made_and_a_batch_is_signed_without_network(
    settings: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`new` overwrites nothing; others may not read the mnemonic."""
    mnemonic, unsigned, out = tmp_path / "mnemonic", tmp_path / "unsigned.json", tmp_path / "signed.json"
    good = transfer(ETHER)
    unsigned.write_bytes(msgspec.json.encode({"transfers": [good, transfer(9 * ETHER, 1)]}))
    for name in ("mnemonic", "journal", "journal.head"):
        (tmp_path / name).unlink()
    commands.new(settings=settings)
    words = mnemonic.read_text()
    assert words in capsys.readouterr().out  # where a service of other tests logs, too
    assert len(words.split()) == 24
    assert mnemonic.stat().st_mode & 0o777 == 0o600
    assert commands.sign(unsigned, out, settings=settings) == 1
    batch = msgspec.json.decode(out.read_bytes())
    assert [one["order_id"] for one in batch["signed"]] == [str(good.order.order_id)]
    assert [one["code"] for one in batch["refused"]] == ["limit_per_transfer"]
    with pytest.raises(FileExistsError):
        commands.new(settings=settings)
    assert mnemonic.read_text() == words
    assert commands.verify(settings=settings) == commands.repair(settings=settings) == commands.xpub(settings=settings) == 0
    assert "\nxpub" in f"\n{capsys.readouterr().out}"
    mnemonic.chmod(0o640)
    with pytest.raises(WalletFileError, match="chmod 600"):
        commands.verify(settings=settings)
    unsigned.write_text("{}")
    with pytest.raises(Failure, match="is no batch"):
        commands.sign(unsigned, tmp_path / "other.json", settings=settings)
