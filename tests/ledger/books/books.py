"""The books of one merchant, as tests write in them."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

from tollhouse.http.services import Services
from tollhouse.kernel import clock
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import new_id
from tollhouse.ledger.books.model import (
    Account,
    EntryType,
    JournalEntry,
    PostedTransaction,
    Posting,
    Source,
    available,
    equity,
)
from tollhouse.ledger.books.post import post_now
from tollhouse.ledger.books.store import get_balance
from tollhouse.platform.database.pool import Row, Tx


class Books:
    """Posts for one merchant, each time in a transaction of its own, and looks at what is there."""

    def __init__(self, services: Services, env: MerchantEnv) -> None:
        self.services = services
        self.pool = services.db
        self.env = env

    @property
    def mine(self) -> Account:
        """The merchant's available balance."""
        return available(self.env)

    @property
    def pending(self) -> Account:
        """What is settled later."""
        return Account("pending", self.env.merchant_id)

    @asynccontextmanager
    async def undone(self) -> AsyncIterator[Tx]:
        """A transaction whose work is thrown away."""
        async with self.pool.connection() as tx:
            spoilt = tx.raw.transaction()
            await spoilt.start()
            try:
                yield tx
            finally:
                await spoilt.rollback()

    async def post(
        self, *postings: Posting, kind: EntryType = "adjustment", source: Source | None = None
    ) -> PostedTransaction:
        """Post a journal entry."""
        journal_entry = JournalEntry(self.env.mode, kind, source or Source("test", new_id()), postings)
        return await self.services.transact(lambda work: post_now(work, journal_entry), clock.now())

    async def fund(self, amount_minor: int, currency: str = "EUR") -> PostedTransaction:
        """Give the merchant test money."""
        return await self.post(Posting("test_funding", currency, amount_minor, equity("test_funding"), self.mine))

    async def spend(self, amount_minor: int, currency: str = "EUR") -> PostedTransaction:
        """Take money from the merchant."""
        return await self.post(Posting("adjustment", currency, amount_minor, self.mine, equity("adjustment")))

    async def available_minor(self, currency: str = "EUR") -> int:
        """What can be spent."""
        return (await get_balance(self.pool, self.env, currency)).available_minor

    async def entries(self) -> list[Row]:
        """All entries of the merchant, by account and number."""
        return await self.pool.fetch(
            "SELECT * FROM ledger_entries WHERE merchant_id = $1 ORDER BY account_id, version", self.env.merchant_id
        )

    async def raw(self, rows: Sequence[tuple[str, int, UUID | None, str, UUID | None, str]], **changes: Any) -> list[Row]:
        """Call the posting function past our own rules: currency, amount, debit owner and code, credit owner and code."""
        facts = {"mode": self.env.mode, "ids": [new_id() for _ in range(2 * len(rows))]} | changes

        async def action(tx: Tx) -> list[Row]:
            return await tx.fetch(
                "SELECT * FROM ledger_post($1, $2, 'adjustment', 'test', $3, 0, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
                new_id(),
                facts["mode"],
                new_id(),
                clock.now(),
                ["adjustment" for _ in rows],
                *(list(column) for column in (zip(*rows, strict=True) if rows else [()] * 6)),
                facts["ids"],
            )

        return await self.pool.transact(action)
