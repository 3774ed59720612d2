"""Random histories: customers pay, money leaves and comes back, the bank charges and repeats itself, operators decide."""

import asyncio
import random
from collections.abc import Callable
from dataclasses import replace
from datetime import date, timedelta
from uuid import UUID, uuid4

import pytest

from tests.bank_model.model import BOOKS, Books, Entry, Payout, Sale, Unmatched
from tests.cast import Actor
from tests.rails.bank.camt import Line, paid, statement
from tests.rails.bank.steps import Bank, euros, offer, withdrawn
from tests.rails.bank.test_payouts import back, left
from tests.rails.bank.test_statement_chain import balances
from tollhouse.accounts.approvals.model import OperatorRefusedError
from tollhouse.rails.bank import actions

OPENING = 100_000
FIRST_DAY = date(2026, 1, 1)
PAYABLE_MINOR = 100
"""The least that a customer can pay by transfer."""


class Player:
    """Plays histories of one merchant and one bank account, one after the other."""

    def __init__(self, bank: Bank, alice: Actor) -> None:
        self.bank, self.alice = bank, alice
        self.books = Books()
        self.day, self.balance = FIRST_DAY, OPENING
        self.before: list[Line] = []
        self.queue: list[Entry] = []
        self.sales: list[Sale] = []
        self.payouts: list[Payout] = []
        self.unmatched: list[Unmatched] = []
        self.dice = random.Random(0)  # noqa: S311 - of tests

    async def play(self, seed: int, steps: int) -> None:
        """One history. After each statement and decision the books are those of the model."""
        self.dice.seed(seed)
        moves = (
            self.sell,
            self.pay,
            self.pay,
            self.strange,
            self.fee,
            self.withdraw,
            self.debit,
            self.debit,
            self.give_back,
        )
        others = (self.take_back, self.close_day, self.close_day, self.decide, self.decide)
        for _ in range(steps):
            await self.dice.choice((*moves, *others))()
        await self.close_day()
        while self.unmatched:
            await self.decide()

    async def sell(self) -> None:
        """A customer wants to pay."""
        await self._offer(self.dice.randrange(PAYABLE_MINOR, 2_000))

    async def pay(self) -> None:
        """A customer pays, or pays again."""
        if not self.sales:
            return
        sale = self.dice.choice(self.sales)
        if sale.is_paid and sale.taken_back:
            return
        again, sale.is_paid = sale.is_paid, True
        if again:
            sale.taken_back = 2  # it has two payments now, and the bank would name neither

        def book() -> None:
            if again:
                self.books.add("unapplied:bank", sale.minor)
            else:
                self.books.credit(sale.minor)

        self._show(paid(sale.reference, sale.minor), book)

    async def strange(self) -> None:
        """Money comes without a reference."""
        self._wait("stranger", Line(self.dice.randrange(1, 3_000)))

    async def fee(self) -> None:
        """The bank charges a fee."""
        self._wait("fee", Line(self.dice.randrange(1, 200), "DBIT"))

    async def withdraw(self) -> None:
        """The merchant withdraws, and an operator takes the file to the bank."""
        if self.books.available < 100:
            return
        minor = self.dice.randrange(100, min(self.books.available, 2_000) + 1)
        payout = Payout(await withdrawn(self.alice, self.bank, f"{minor / 100:.2f}"), minor)
        await self.bank.export(payout.id)
        self.books.available -= minor
        self.books.reserved += minor
        self.payouts.append(payout)

    async def debit(self) -> None:
        """A payout leaves, and sometimes a second time."""
        payout = self._payout(lambda one: not one.is_awaited)
        if payout is None:
            return
        if payout.is_debited:
            self._wait("second debit", left(payout.id, payout.minor), payout=payout)
        else:
            self._show(left(payout.id, payout.minor), lambda: self.books.leave(payout), payout)

    async def give_back(self) -> None:
        """A payout comes back, whole or less a fee, before or after a statement shows it leave."""
        payout = self._payout(lambda one: not one.is_awaited and not one.is_returned)
        if payout is None:
            return
        kept = self.dice.choice([0, 0, 1, 50])
        if kept:
            self._wait("partial return", back(payout.id, payout.minor - kept), payout=payout)
        else:
            self._show(back(payout.id, payout.minor), lambda: self.books.come_back(payout), payout)

    async def take_back(self) -> None:
        """The bank takes back a payment or a part of it, and then once more."""
        paid_ones = [sale for sale in self.sales if sale.is_paid and sale.taken_back < 2]
        if not paid_ones:
            return
        sale = self.dice.choice(paid_ones)
        minor = self.dice.choice([sale.minor, sale.minor // 2])
        line = Line(minor, "DBIT", structured=sale.reference, return_reason="FOCR")
        sale.taken_back += 1
        if sale.taken_back == 1:
            self._show(line, lambda: self.books.charge(minor))
        else:
            self._wait("second take-back", line, sale=sale)

    async def close_day(self) -> None:
        """The bank writes a statement, and the operator imports it: once, twice, at once, overlapping, after a gap."""
        self.day += timedelta(days=1)
        entries, self.queue = self.queue, []
        lines = [replace(entry.line, day=self.day) for entry in entries]
        how = self.dice.choice(["once", "twice", "at once", "overlapping", "gap"])
        opening = self.balance
        if how == "overlapping":
            raw = statement(*self.before, *lines, opening=opening - moved(self.before), on=self.day)
        else:
            raw = statement(*lines, opening=opening, on=self.day)
        if how == "gap" and self.books.accounts:
            with pytest.raises(OperatorRefusedError, match="A statement is missing"):
                await self.bank.shows(Line(1, day=self.day), opening=opening + 7, on=self.day + timedelta(days=1))
        await asyncio.gather(*(self.bank.brings(raw) for _ in range(2 if how == "at once" else 1)))
        if how == "twice":
            assert (await self.bank.brings(raw)).new_entries == 0
        if not self.books.accounts:
            self.books.add(BOOKS, OPENING)
            self.books.add("equity:bank_opening", OPENING)
        for entry in sorted(entries, key=lambda one: one.undoes):
            entry.book()
        self.balance += moved(lines)
        self.books.add(BOOKS, moved(lines))
        self.before = lines
        await self.compare()

    async def decide(self) -> None:
        """An operator decides about a transfer, and sometimes again."""
        if not self.unmatched:
            return
        one = self.unmatched.pop(self.dice.randrange(len(self.unmatched)))
        [transfer] = await self.bank.waiting(one.mark)
        if self.dice.random() < 0.2:
            await self.bank.dismiss(transfer.id)
            await self.bank.decide(actions.reopen, transfer.id)
        await self._settle(one, transfer.id)
        await self.compare()

    async def compare(self) -> None:
        """The books are those of the model."""
        assert await balances(self.bank) == self.books.platform
        if self.sales:
            assert await euros(self.alice) == (self.books.available, self.books.reserved, self.books.debt)

    async def _settle(self, one: Unmatched, transfer_id: UUID) -> None:
        signed = -one.minor if one.kind in {"fee", "second debit", "second take-back"} else one.minor
        self.books.add("unmatched:bank", -signed)
        if one.kind == "fee":
            await self.bank.decide(actions.record_fee, transfer_id)
            self.books.add("expense:bank_fee", one.minor)
        elif one.payout is not None and one.kind == "partial return":
            await self.bank.decide(actions.return_payout, transfer_id, None)
            self.books.add("expense:bank_fee", one.payout.minor - one.minor)
            self.books.come_back(one.payout)
            one.payout.is_awaited = False
        elif one.sale is not None:
            await self.bank.decide(actions.take_back, transfer_id, one.sale.reference)
            self.books.charge(one.minor)
        elif one.kind == "stranger" and one.minor >= PAYABLE_MINOR and self.dice.random() < 0.5:
            sale = await self._offer(one.minor)
            sale.is_paid = True
            await self.bank.assign(transfer_id, sale.reference)
            self.books.credit(one.minor)
        elif self.dice.random() < 0.5:
            await self.bank.dismiss(transfer_id)
            self.books.add("equity:dismissed", signed)
        else:
            await self.bank.decide(actions.write_off, transfer_id)
            self.books.add("expense:bank_difference", -signed)

    async def _offer(self, minor: int) -> Sale:
        _, _, reference = await offer(self.alice, f"{minor / 100:.2f}")
        sale = Sale(reference, minor)
        self.sales.append(sale)
        return sale

    def _payout(self, fits: Callable[[Payout], bool]) -> Payout | None:
        found = [payout for payout in self.payouts if fits(payout)]
        return self.dice.choice(found) if found else None

    def _show(self, line: Line, book: Callable[[], None], payout: Payout | None = None) -> None:
        """Put a line that is matched by itself on the next statement."""
        if payout is not None:
            payout.is_awaited = True

        def booked() -> None:
            book()
            if payout is not None:
                payout.is_awaited = False

        self.queue.append(Entry(line, booked))

    def _wait(self, kind: str, line: Line, *, sale: Sale | None = None, payout: Payout | None = None) -> None:
        """Put a line that nobody can match on the next statement."""
        waiting = Unmatched(kind, uuid4().hex, line.minor, sale, payout)
        if payout is not None and kind == "partial return":
            payout.is_awaited = True

        def book() -> None:
            self.books.add("unmatched:bank", moved([line]))
            self.unmatched.append(waiting)

        self.queue.append(Entry(replace(line, words=waiting.mark), book))


def moved(lines: list[Line]) -> int:
    """What lines add to the balance."""
    return sum(line.minor if line.side == "CRDT" else -line.minor for line in lines)
