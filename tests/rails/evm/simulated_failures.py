"""Failures of a simulated worker and its signer: killed at statements of the database, at calls, and around the journal."""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any, Literal, TypeVar

import pytest

from tests.rails.evm.fake_node import Killed
from tollhouse.platform.database.pool import Pool, PooledTransaction, Tx
from tollhouse.rails.evm.signer.client import SignerClient, SignerUnavailable
from tollhouse.rails.evm.signer.journal import SignedEntry, SigningJournal, create_journal, drop_incomplete_line, head_file
from tollhouse.rails.evm.signer.messages import REQUESTS, RESPONSES, SignedTransfer, SignerRequest, line_of
from tollhouse.rails.evm.signer.policy import SigningPolicy
from tollhouse.rails.evm.signer.rules import Signer
from tollhouse.rails.evm.signer.wallet import Wallet

T = TypeVar("T")
Death = Literal["before", "in the line", "before the head", "after"]
DEATHS: tuple[Death, ...] = ("before", "in the line", "before the head", "after")


class Risks:
    """How likely it is that a process dies where it can, and how often it did."""

    def __init__(self, random: Random) -> None:
        self.random, self.counts = random, Counter[str]()
        self.killed = self.signer = self.lost = 0.0

    def happens(self, likelihood: float, name: str) -> bool:
        """Whether it happens now."""
        if likelihood == 0 or self.random.random() >= likelihood:
            return False
        self.counts[name] += 1
        return True

    def survive(self, name: str) -> None:
        """Raise `Killed` where the worker dies here."""
        if self.happens(self.killed, f"worker killed {name}"):
            raise Killed


class MortalPool(Pool):
    """The database, with a worker that can die before each change and after it."""

    risks: Risks

    async def execute(self, sql: str, *args: object) -> int:
        self.risks.survive("before a statement")
        written = await super().execute(sql, *args)
        self.risks.survive("after a statement")
        return written

    async def transact(self, action: Callable[[Tx], Awaitable[T]]) -> T:
        self.risks.survive("before a transaction")
        response = await super().transact(action)
        self.risks.survive("after a transaction")
        return response

    def transaction(self) -> PooledTransaction:
        return MortalTransaction(self)


class MortalTransaction(PooledTransaction):
    """A transaction before or after whose commit the worker can die."""

    __slots__ = ("_risks",)

    def __init__(self, pool: MortalPool) -> None:
        super().__init__(pool)
        self._risks = pool.risks

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is None and self._risks.happens(self._risks.killed, "worker killed before a commit"):
            await super().__aexit__(Killed, Killed(), None)
            raise Killed
        await super().__aexit__(kind, error, trace)
        self._risks.survive("after a commit")


class SignerDied(BaseException):
    """The process of the signer ended here."""


class MortalJournal(SigningJournal):
    """A journal whose process dies while it writes, when `death` says so."""

    death: Death | None = None

    def append(self, entry: SignedEntry) -> None:
        head = head_file(self.file).read_bytes()
        if self.death == "in the line":
            with self.file.open("ab") as file:
                file.write(b"0123456789abcdef {")
        if self.death not in {"before", "in the line"}:
            super().append(entry)
        if self.death == "before the head":
            head_file(self.file).write_bytes(head)
        if self.death is not None:
            raise SignerDied


class MortalSigner:
    """The signer's process: its rules in this one, its journal on the disk, from which it starts again after each death."""

    def __init__(self, risks: Risks, policy: SigningPolicy, mnemonic: str) -> None:
        self.risks, self.policy, self.wallet = risks, policy, Wallet(mnemonic)
        create_journal(policy.journal, self.wallet.address)
        self._signer, self._down_for = self._start(), 0

    @property
    def journal(self) -> SigningJournal:
        """What it has signed."""
        return self._signer.journal

    def answer(self, request: SignerRequest) -> Any:
        """The answer. Raises `SignerUnavailable` while it is down, and where it dies."""
        self.risks.survive("before the signer was asked")
        if self._down_for > 0:
            self._down_for -= 1
            raise SignerUnavailable("the signer does not answer (ConnectionRefusedError)")
        journal = self._signer.journal
        if isinstance(journal, MortalJournal) and self.risks.random.random() < self.risks.signer:
            journal.death = self.risks.random.choice(DEATHS)
        try:
            response = self._signer.answer(REQUESTS.decode(line_of(request)))
        except SignerDied:
            self._restart()
            raise SignerUnavailable("the signer does not answer (IncompleteReadError)") from None
        if isinstance(journal, MortalJournal):
            journal.death = None
        if self.risks.happens(self.risks.lost, "answer of the signer lost"):
            raise SignerUnavailable("the signer does not answer (TimeoutError)")
        self.risks.survive("after it was signed" if isinstance(response, SignedTransfer) else "after the signer answered")
        return RESPONSES.decode(line_of(response))

    def _restart(self) -> None:
        journal = self._signer.journal
        self.risks.counts[f"signer died {getattr(journal, 'death', '')}"] += 1
        journal.close()
        drop_incomplete_line(self.policy.journal)
        self._signer, self._down_for = self._start(), self.risks.random.randrange(4)

    def _start(self) -> Signer:
        return Signer(self.policy, self.wallet, MortalJournal(self.policy.journal))


@contextmanager
def asking(signers: dict[Path, MortalSigner], monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let clients of these sockets ask these signers."""

    async def call(client: SignerClient, request: SignerRequest, _: type[Any]) -> Any:
        return signers[client.socket].answer(request)

    with monkeypatch.context() as patch:
        patch.setattr(SignerClient, "_call", call)
        yield
