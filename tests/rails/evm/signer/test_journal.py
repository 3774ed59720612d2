"""The signer's journal, damaged in every way: it is used whole or not at all."""

from pathlib import Path

import pytest

from tests.rails.evm.signer.conftest import ETHER, Open, transfer
from tollhouse.rails.evm.signer.journal import JournalError, SigningJournal, create_journal, drop_incomplete_line, head_file
from tollhouse.rails.evm.signer.messages import SignedTransfer
from tollhouse.rails.evm.signer.rules import Signer
from tollhouse.rails.evm.signer.wallet import Wallet


@pytest.fixture
def written(reopen: Open, tmp_path: Path) -> Path:
    """The journal of three signatures; its signer has ended."""
    signer = reopen()
    for nonce in range(3):
        assert isinstance(signer.answer(transfer(ETHER // 2, nonce)), SignedTransfer)
    signer.journal.close()
    return tmp_path / "journal"


def error(file: Path) -> str:
    with pytest.raises(JournalError) as found:
        SigningJournal(file)
    return str(found.value)


def test_a_changed_journal_is_not_used(written: Path) -> None:
    whole, lines = written.read_bytes(), written.read_bytes().splitlines(keepends=True)
    cases = {
        "was changed": [
            whole.replace(b'"nonce":1', b'"nonce":7'),
            b"".join([lines[0], *lines[2:]]),
            b"".join([lines[0], lines[2], lines[1], lines[3]]),
            whole[:60] + b"x" + whole[61:],
        ],
        "the end is lost": [b"".join(lines[:3]), lines[0], b""],
        "is incomplete": [whole[:-1], whole + b"x"],
    }
    for expected, contents in cases.items():
        for content in contents:
            written.write_bytes(content)
            assert expected in error(written)
    written.write_bytes(whole)
    SigningJournal(written).close()


def test_an_interrupted_line_is_removed(written: Path) -> None:
    """The one before it remains, and so does the rule that no complete line may be missing."""
    whole = written.read_bytes()
    written.write_bytes(whole + b'0123 {"order":')
    assert drop_incomplete_line(written) == 14
    assert written.read_bytes() == whole
    written.write_bytes(whole[:-1])  # the head knows this line
    drop_incomplete_line(written)
    assert "the end is lost" in error(written)


def test_a_head_that_is_behind_is_followed(written: Path) -> None:
    """The process can die between the journal and its head."""
    head = head_file(written)
    before = head.read_bytes()
    journal = SigningJournal(written)
    journal.append(journal.entries[-1])
    journal.close()
    head.write_bytes(before)
    SigningJournal(written).close()
    head.unlink()
    assert "Restore it together" in error(written)


def test_a_journal_has_one_signer_and_one_wallet(written: Path, reopen: Open) -> None:
    assert reopen().journal.entries
    assert "in use by another signer" in error(written)
    with pytest.raises(JournalError, match="in use by another signer"):  # it may be writing the line that looks incomplete
        drop_incomplete_line(written)
    written.unlink()
    assert "Never start again without the journal" in error(written)
    with pytest.raises(FileExistsError):  # its head is still there
        create_journal(written, "0x1")
    signer = Signer.__new__(Signer)
    head_file(written).unlink()
    create_journal(written, "0x" + "33" * 20)
    journal = SigningJournal(written)
    with pytest.raises(JournalError, match="belongs to the wallet 0x3333"):
        signer.__init__(None, Wallet("test " * 11 + "junk"), journal)  # type: ignore[arg-type,misc]
    journal.close()
