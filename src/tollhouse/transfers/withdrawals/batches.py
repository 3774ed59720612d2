"""Batches of withdrawals: all of their withdrawals are created in one transaction, or none.

Errors name the item and its member: `items.3.receiver`.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Annotated
from uuid import UUID

from msgspec import Struct

from tollhouse.accounts.audit import record
from tollhouse.accounts.audit.model import new_values
from tollhouse.http.bodies import ValidationContext, documented, reference_errors
from tollhouse.http.services import Work
from tollhouse.kernel import limits, messages
from tollhouse.kernel.catalogue.withdrawal_methods import WithdrawalMethod
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import ApiError, FieldError, NotFound, ValidationFailed
from tollhouse.kernel.ids import new_id
from tollhouse.transfers.gate import gate
from tollhouse.transfers.orders.errors import AmountAboveMaximum, AmountBelowFees, AmountBelowMinimum
from tollhouse.transfers.orders.quotes import ensure_funds
from tollhouse.transfers.withdrawals import store
from tollhouse.transfers.withdrawals.acceptance import Payee, account_of, ensure_payable, payee_of
from tollhouse.transfers.withdrawals.actions import BatchPlace, create
from tollhouse.transfers.withdrawals.model import BatchExists, WithdrawalBatch, WithdrawalTerms
from tollhouse.transfers.withdrawals.new_withdrawal import NewWithdrawal, field_errors_of, parse

OF_THE_AMOUNT = (AmountBelowMinimum, AmountAboveMaximum, AmountBelowFees)


class NewBatch(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Withdrawals to create together: each as in POST /withdrawals, without `quote_id`."""

    items: Annotated[list[NewWithdrawal], documented(minItems=1, maxItems=limits.BATCH_ITEMS_MAX)]
    description: str | None = None
    """Your own description of the batch."""

    def rule_errors(self, context: ValidationContext) -> Iterator[FieldError]:
        """Every error that needs no lookup."""
        yield from _own_errors(self)
        for row, item in enumerate(self.items[: limits.BATCH_ITEMS_MAX]):
            for field_error in field_errors_of(item, context.caller.env, context.settings, context.catalogue):
                yield FieldError(f"items.{row}.{field_error.field}", field_error.code, field_error.message)


class BatchRow(Struct, frozen=True):
    """A checked item: who is paid, by which method, at which costs."""

    new: NewWithdrawal
    payee: Payee
    method: WithdrawalMethod
    terms: WithdrawalTerms


async def check(work: Work, env: MerchantEnv, new: NewBatch) -> list[BatchRow]:
    """The rows of a batch with their costs.

    Raises `ValidationFailed` with the errors of all rows, and `InsufficientFunds`.
    """
    errors = list(_own_errors(new))
    if errors:
        raise ValidationFailed(*errors)
    rows, checked = list[BatchRow](), set[tuple[str, str]]()
    for number, item in enumerate(new.items):
        try:
            rows.append(await _check_item(work, env, item, checked))
        except ApiError as error:
            errors += _at_row(number, error)
    errors += await _external_id_errors(work, env, new.items)
    if errors:
        raise ValidationFailed(*errors)
    debits = Counter[str]()
    for row in rows:
        debits[row.terms.currency] += row.terms.debit_minor
    for currency, debit_minor in debits.items():
        await ensure_funds(work.tx, env, currency, debit_minor)
    return rows


async def create_batch(work: Work, env: MerchantEnv, new: NewBatch, batch_id: UUID | None = None) -> WithdrawalBatch:
    """Create a batch with all of its withdrawals.

    Raises what `check` raises, `DailyLimitExceeded`, and `BatchExists` if there is one of this ID.
    """
    rows = await check(work, env, new)
    batch = WithdrawalBatch(
        id=batch_id or new_id(), description=new.description, item_count=len(rows), env=env, created_at=work.now
    )
    if not await store.insert_batch(work.tx, batch):
        raise BatchExists
    for number, row in enumerate(rows):
        place = BatchPlace(batch.id, number)
        await create(work, env, row.new, row.payee, row.method, row.terms, place)
    about = new_values(quantity=len(rows), description=new.description)
    await record.event(work, env, "withdrawal.batch_requested", subject=batch.id, changed=about)
    return batch


async def _check_item(work: Work, env: MerchantEnv, item: NewWithdrawal, checked: set[tuple[str, str]]) -> BatchRow:
    """Raises the errors of a withdrawal but those of funds and external IDs. `checked`: accounts that money may leave to."""
    services = work.services
    method, terms = parse(item, env, services.settings, services.catalogue)
    payee = await payee_of(work, env, item, method)
    ensure_payable(services, env, payee, method, terms)
    account = method.rail, account_of(services.rails, method, env, payee.receiver)
    if account not in checked:
        await gate.ensure_recipient(work.tx, env, *account, work.now)
        checked.add(account)
    return BatchRow(item, payee, method, terms)


def _own_errors(new: NewBatch) -> Iterator[FieldError]:
    if not 1 <= len(new.items) <= limits.BATCH_ITEMS_MAX:
        yield FieldError("items", "too_many" if new.items else "missing", messages.items(1, limits.BATCH_ITEMS_MAX))
    yield from reference_errors(external_id=None, metadata=None, description=new.description)
    for row, item in enumerate(new.items[: limits.BATCH_ITEMS_MAX]):
        if item.quote_id is not None:
            yield FieldError(f"items.{row}.quote_id", "invalid_value", messages.NOT_IN_BATCHES)


async def _external_id_errors(work: Work, env: MerchantEnv, items: Sequence[NewWithdrawal]) -> list[FieldError]:
    """The errors of external IDs that are used twice in the batch, or by another withdrawal."""
    counts = Counter(item.external_id for item in items if item.external_id is not None)
    used = await store.find_external_ids(work.tx, env, counts)
    return [
        FieldError(f"items.{row}.external_id", "duplicate_external_id", messages.USED_ALREADY)
        for row, item in enumerate(items)
        if item.external_id is not None and (item.external_id in used or counts[item.external_id] > 1)
    ]


def _at_row(row: int, error: ApiError) -> list[FieldError]:
    """The errors of an item. One that names no member is at the amount or at the recipient."""
    if error.field_errors:
        return [
            FieldError(f"items.{row}.{field_error.field}", field_error.code, field_error.message)
            for field_error in error.field_errors
        ]
    member = "recipient_id" if isinstance(error, NotFound) else "amount" if isinstance(error, OF_THE_AMOUNT) else "receiver"
    return [FieldError(f"items.{row}.{member}", error.code, error.message)]
