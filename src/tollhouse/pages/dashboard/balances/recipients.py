"""Beside the form of a withdrawal: the recipients to choose from, and what it costs."""

import contextlib
from datetime import datetime
from typing import Any
from uuid import UUID

from msgspec import Struct

from tollhouse.http.lists import all_rows
from tollhouse.http.schema_fields import form_fields, to_values
from tollhouse.kernel.catalogue.amounts import minor_of
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.catalogue.currencies import Currency
from tollhouse.kernel.catalogue.provider_fields import MEMBER
from tollhouse.kernel.catalogue.typed_amounts import read_amount
from tollhouse.kernel.catalogue.withdrawal_methods import FeeMode, WithdrawalMethod
from tollhouse.kernel.clock import Timestamp, stamp
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import ApiError, NotFound
from tollhouse.kernel.text import Translatable
from tollhouse.platform.database.pool import Pool
from tollhouse.transfers.gate import recipients_store
from tollhouse.transfers.gate.model import SavedRecipient
from tollhouse.transfers.gate.recipients_store import RecipientsQuery
from tollhouse.transfers.orders.store import clock_offset
from tollhouse.transfers.withdrawals import store
from tollhouse.transfers.withdrawals.acceptance import ensure_limits
from tollhouse.transfers.withdrawals.model import Withdrawal, WithdrawalTerms, mask, terms_of
from tollhouse.transfers.withdrawals.new_withdrawal import OF_THE_TRANSFER as TRANSFER_MEMBERS
from tollhouse.transfers.withdrawals.store import WithdrawalsQuery


class Costs(Struct, frozen=True):
    """Decimal strings of an amount's costs in a fee mode. `balance_after` is empty where the balance does not cover them."""

    amount: str
    system_fee: str
    network_fee: str
    debit: str
    receive: str
    balance_after: str


class WithdrawalSummary(Struct, frozen=True):
    """The costs by fee mode; none if nothing or no amount was entered, or `message` says why not."""

    costs: dict[str, Costs]
    selected: FeeMode
    message: Translatable = ""

    @property
    def current(self) -> Costs | None:
        """The costs in the selected mode."""
        return self.costs.get(self.selected)


def summarize(
    typed: str, fee_mode: str, method: WithdrawalMethod, available_minor: int, catalogue: Catalogue
) -> WithdrawalSummary:
    """The summary of an amount as typed."""
    currency = catalogue.currencies[method.currency]
    selected = fee_mode if fee_mode in method.network_fee_modes else method.network_fee_modes[0]
    amount_minor = minor_of(read_amount(typed, currency), currency)
    if amount_minor is None:
        return WithdrawalSummary({}, selected)
    costs: dict[str, Costs] = {}
    messages: dict[str, Translatable] = {}
    for mode in method.network_fee_modes:
        terms = terms_of(method, amount_minor, mode)
        try:
            ensure_limits(method, terms)
            costs[mode] = _costs(terms, available_minor, currency)
        except ApiError as error:
            messages[mode] = error.message
    return WithdrawalSummary(costs, selected, messages.get(selected, ""))


def _costs(terms: WithdrawalTerms, available_minor: int, currency: Currency) -> Costs:
    left_minor = available_minor - terms.debit_minor
    return Costs(
        amount=currency.format(terms.amount_minor),
        system_fee=currency.format(terms.system_fee_minor),
        network_fee=currency.format(terms.network_fee_minor),
        debit=currency.format(terms.debit_minor),
        receive=currency.format(terms.receive_minor),
        balance_after=currency.format(left_minor) if left_minor >= 0 else "",
    )


SEARCHED, SHOWN_MAX, SAVED_SHOWN_MAX = 50, 4, 20
"""The latest withdrawals that are looked at, and the most recipients of them and saved ones that are shown."""
OF_THE_TRANSFER = frozenset(f"{MEMBER}.{name}" for name in TRANSFER_MEMBERS)
"""The fields of a method that describe one transfer and not its recipient."""


class Recipient(Struct, frozen=True):
    """A recipient to choose: the values of the form's fields, and what is shown of them.

    `id` is that of the saved recipient or of an earlier withdrawal. `active_at`: it cannot be paid before.
    """

    id: UUID
    is_saved: bool
    name: str
    account: str
    values: dict[str, str]
    active_at: Timestamp | None = None


class RecipientChoices(Struct, frozen=True):
    """The recipients of a method. `saved_only`: there are no others."""

    recipients: list[Recipient]
    saved_only: bool


async def list_choices(
    db: Pool, env: MerchantEnv, method: WithdrawalMethod, now: datetime, chosen_id: UUID | None = None
) -> RecipientChoices:
    """The latest saved recipients, then those of the latest withdrawals, each once, if the merchant can pay others.

    The saved recipient `chosen_id` is the first one if it is not among the latest.
    Recipients that the provider did not recognize are left out.
    """
    present = now + await clock_offset(db, env)
    rule = (await recipients_store.get_rule(db, env)).at(present)
    query = RecipientsQuery(method_id=method.method_id)
    saved = await recipients_store.list_recipients(db, env, query, all_rows(SAVED_SHOWN_MAX))
    if chosen_id is not None and all(recipient.id != chosen_id for recipient in saved):
        with contextlib.suppress(NotFound):
            chosen = await recipients_store.get(db, env, chosen_id)
            saved = [chosen, *saved] if chosen.method_id == method.method_id else saved
    choices = [_saved(recipient, method, present) for recipient in saved]
    if not rule.saved_recipients_only:
        known = {_normalized(recipient.receiver) for recipient in saved}
        choices += (await _list_earlier(db, env, method, known))[:SHOWN_MAX]
    return RecipientChoices(choices, rule.saved_recipients_only)


async def get_recipient(
    db: Pool, env: MerchantEnv, method: WithdrawalMethod, recipient_id: UUID, now: datetime
) -> Recipient:
    """The saved recipient of this method and ID, or the recipient of that withdrawal. Raises `NotFound`."""
    try:
        found: SavedRecipient | Withdrawal = await recipients_store.get(db, env, recipient_id)
    except NotFound:
        found = await store.get(db, env, recipient_id)
    if found.method_id != method.method_id:
        raise NotFound
    if isinstance(found, Withdrawal):
        return _earlier(found, method)
    return _saved(found, method, now + await clock_offset(db, env))


async def _list_earlier(db: Pool, env: MerchantEnv, method: WithdrawalMethod, but: set[str]) -> list[Recipient]:
    latest = await store.list_withdrawals(db, env, WithdrawalsQuery(method_id=method.method_id), all_rows(SEARCHED))
    found: dict[str, Recipient] = {}
    for withdrawal in latest:
        account = _normalized(withdrawal.receiver)
        if withdrawal.failure_code != "receiver_invalid" and account not in but:
            found.setdefault(account, _earlier(withdrawal, method))
    return list(found.values())


def _earlier(withdrawal: Withdrawal, method: WithdrawalMethod) -> Recipient:
    values = _values(method, withdrawal.receiver, withdrawal.provider_fields)
    name = values.get(f"{MEMBER}.account_holder_name", "")
    return Recipient(withdrawal.id, False, name, mask(withdrawal.receiver, method.receiver_type), values)


def _saved(saved: SavedRecipient, method: WithdrawalMethod, present: datetime) -> Recipient:
    values = _values(method, saved.receiver, saved.provider_fields)
    active_at = stamp(saved.active_at) if saved.active_at > present else None
    return Recipient(saved.id, True, saved.name, mask(saved.receiver, method.receiver_type), values, active_at)


def _values(method: WithdrawalMethod, receiver: str, provider_fields: dict[str, Any]) -> dict[str, str]:
    fields = [field for field in form_fields(method.provider_fields, MEMBER) if field.name not in OF_THE_TRANSFER]
    return to_values(fields, provider_fields) | {"receiver": receiver}


def _normalized(receiver: str) -> str:
    return "".join(receiver.split())
