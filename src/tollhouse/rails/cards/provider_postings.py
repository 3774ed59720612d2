"""What a card provider takes as its fees and pays out to the operator, in the ledger."""

from collections.abc import Iterator

from tollhouse.ledger.books.model import Account, JournalEntry, Posting, PostingType, Source, expense, rail, transit
from tollhouse.rails.cards.balance_store import SettledTransaction

SOURCE = "balance_transaction"


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
