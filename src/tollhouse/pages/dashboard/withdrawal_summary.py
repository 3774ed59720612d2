"""The costs of a withdrawal beside its form, before it is quoted: the same terms as a quote, which is not stored."""

from msgspec import Struct

from tollhouse.kernel.catalogue.amounts import minor_of
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.catalogue.currencies import Currency
from tollhouse.kernel.catalogue.typed_amounts import read_amount
from tollhouse.kernel.catalogue.withdrawal_methods import FeeMode, WithdrawalMethod
from tollhouse.kernel.errors import ApiError
from tollhouse.kernel.text import Translatable
from tollhouse.transfers.withdrawals.model import WithdrawalTerms, terms_of
from tollhouse.transfers.withdrawals.new_withdrawal import ensure_limits


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
