"""Batches of withdrawals in the Integration API: their sums, and what became of their withdrawals."""

from collections import Counter
from collections.abc import Sequence

from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.transfers.withdrawals.batches_store import BatchItem
from tollhouse.transfers.withdrawals.model import Withdrawal, WithdrawalBatch
from tollhouse.transfers.withdrawals.views import BatchTotal, WithdrawalBatchView


def batch_view(batch: WithdrawalBatch, items: Sequence[BatchItem | Withdrawal], catalogue: Catalogue) -> WithdrawalBatchView:
    """A batch and its withdrawals, in its order."""
    return WithdrawalBatchView.of(
        batch,
        catalogue,
        totals=[_total(currency, items, catalogue) for currency in sorted({one.currency for one in items})],
        statuses=dict(sorted(Counter(one.status for one in items).items())),
        withdrawal_ids=[one.id for one in items],
    )


def _total(currency: str, items: Sequence[BatchItem | Withdrawal], catalogue: Catalogue) -> BatchTotal:
    found = [one for one in items if one.currency == currency]
    amount_minor = sum(one.amount_minor for one in found)
    debit_minor = sum(one.debit_minor for one in found)
    receive_minor = sum(one.receive_minor for one in found)
    return BatchTotal(
        currency=currency,
        amount=catalogue.format_amount(amount_minor, currency),
        amount_minor=amount_minor,
        debit=catalogue.format_amount(debit_minor, currency),
        debit_minor=debit_minor,
        receive=catalogue.format_amount(receive_minor, currency),
        receive_minor=receive_minor,
    )
