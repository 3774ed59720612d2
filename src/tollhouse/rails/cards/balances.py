"""What a card provider owes the operator: what changed it is read and posted, and it is compared with the ledger."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from tollhouse.http.services import Services, Work
from tollhouse.kernel.clock import stamp
from tollhouse.kernel.rails.provider import CannotMeasureError, OutsideBalance, OutsideBalances, RailUnavailableError
from tollhouse.ledger.books.model import Account, JournalEntry, Posting, PostingType, Source, expense, rail, transit
from tollhouse.ledger.books.post import post_platform
from tollhouse.platform.database.pool import Tx
from tollhouse.rails.cards import balance_store as store
from tollhouse.rails.cards.balance_store import SettledTransaction
from tollhouse.rails.cards.stripe.cards import StripeCards
from tollhouse.rails.cards.stripe.client import StripeError
from tollhouse.rails.cards.stripe.objects import InexactAmountError
from tollhouse.rails.cards.stripe.observed import ProviderBalance

InFlight = Mapping[str, Mapping[str, int]]
"""Minor units by currency and cause."""
OVERLAP = timedelta(minutes=15)
"""How much of what was read is read again each time: clocks differ, and a transaction may be listed late."""
WINDOW = timedelta(days=1)
"""How much is read before the cursor moves."""
SETTLED_PER_BATCH = 500
SOURCE = "balance_transaction"


class CardsReading:
    """A provider while it is measured. The balance is read before and after what changed it and the ledger."""

    changed = "the balance at the provider changed while it was read"

    def __init__(self, services: Services, cards: StripeCards, now: datetime) -> None:
        self._services, self._cards, self._now = services, cards, now
        self._balance: Sequence[ProviderBalance] = ()
        self._in_flight: InFlight = {}

    async def read_outside(self) -> None:
        """The balance now, and what changed it. Raises `CannotMeasureError`."""
        self._balance = await self._read_balance()
        try:
            await read_new(self._services, self._cards, self._now)
        except (RailUnavailableError, StripeError, InexactAmountError) as error:
            raise CannotMeasureError(f"the provider does not list what changed its balance: {error}") from None

    async def read_books(self, tx: Tx) -> None:
        """What is in flight."""
        self._in_flight = await store.list_in_flight(tx, self._cards.name, self._cards.mode, self._now)

    async def find_balances(self, booked_minor: Mapping[str, int]) -> OutsideBalances | None:
        """Each currency of the catalogue in which the provider or the ledger has money. Raises `CannotMeasureError`."""
        if self._balance != await self._read_balance():
            return None
        found, currencies = {balance.currency: balance for balance in self._balance}, self._services.catalogue.currencies
        booked = (code for code, minor in booked_minor.items() if minor)
        codes = sorted({*found, *self._in_flight, *booked} & currencies.keys())
        return OutsideBalances(
            stamp(self._now),
            tuple(
                OutsideBalance(
                    currency=code,
                    decimals=currencies[code].decimals,
                    places=_places(found.get(code)),
                    in_flight=self._in_flight.get(code, {}),
                )
                for code in codes
            ),
        )

    async def _read_balance(self) -> Sequence[ProviderBalance]:
        try:
            return await self._cards.read_balance()
        except (RailUnavailableError, StripeError, InexactAmountError) as error:
            raise CannotMeasureError(f"the provider does not state its balance: {error}") from None


def _places(balance: ProviderBalance | None) -> dict[str, int]:
    places = {} if balance is None else {"available": balance.available_minor, "pending": balance.pending_minor}
    return {place: minor for place, minor in places.items() if minor}


async def read_new(services: Services, cards: StripeCards, now: datetime, overlap: timedelta = OVERLAP) -> None:
    """Read and store what changed the balance since the last time. It is stored once, however often it is read.

    Raises `RailUnavailableError`, `StripeError` and `InexactAmountError`.
    """
    await cards.read_balance()  # refuses one of the test mode, which the transactions themselves do not tell
    await store.begin(services.db, cards.name, cards.mode, now)
    read_until = min(now, await store.get_read_until(services.db, cards.name, cards.mode))
    while True:
        end = read_until + WINDOW
        until = end if end < now else None  # the last part has no end: the provider's clock may be ahead
        async for page in cards.list_balance_transactions(read_until - overlap, until):
            known = [item for item in page if item.currency in services.catalogue.currencies]
            await store.insert(services.db, cards.name, cards.mode, known)
        await store.advance(services.db, cards.name, cards.mode, until or now, now)
        if until is None:
            return
        read_until, overlap = until, timedelta()


async def settle(services: Services, cards: StripeCards, now: datetime) -> None:
    """Settle the balance transactions of whose objects the ledger has everything, with their fees, and post payouts."""

    async def settle_batch(work: Work) -> int:
        settled = await store.lock_settled(work.tx, cards.name, cards.mode, SETTLED_PER_BATCH)
        if settled:
            await store.settle(work.tx, settled, work.now)
            await post_platform(work, [entry for item in settled if (entry := entry_of(item)) is not None])
        return len(settled)

    while await services.transact(settle_batch, now) == SETTLED_PER_BATCH:
        pass


def entry_of(settled: SettledTransaction) -> JournalEntry | None:
    """The entry of a balance transaction: its fee, and the amount of a payout. None if it has neither."""
    postings = tuple(_postings(settled))
    if not postings:
        return None
    return JournalEntry(settled.mode, postings[0].type, Source(SOURCE, settled.id), postings)


def _postings(settled: SettledTransaction) -> Iterator[Posting]:
    if settled.kind == "payout" and settled.amount_minor:
        yield _taken(settled, "provider_payout", -settled.amount_minor, transit(settled.rail))
    fee_minor = settled.fee_minor - (settled.amount_minor if settled.kind == "fee" else 0)
    if fee_minor:
        yield _taken(settled, "provider_fee", fee_minor, expense("provider_fee"))


def _taken(settled: SettledTransaction, kind: PostingType, amount_minor: int, to: Account) -> Posting:
    """What leaves the balance at the provider; an amount below zero comes back."""
    at_provider = rail(settled.rail)
    debit, credit = (to, at_provider) if amount_minor > 0 else (at_provider, to)
    return Posting(kind, settled.currency, abs(amount_minor), debit, credit)
