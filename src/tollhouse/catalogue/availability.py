"""Which methods there are in an environment, and why each one that cannot be used cannot be used."""

from collections.abc import Callable, Iterator

from msgspec import Struct

from tollhouse.catalogue.currencies import CURRENCIES
from tollhouse.catalogue.methods import METHODS, Method, UnavailableReason
from tollhouse.catalogue.model import ProjectStatus
from tollhouse.catalogue.payment_settings import PaymentSettings
from tollhouse.kernel.ids import Mode

RailFault = Callable[[Method, Mode], UnavailableReason | None]
"""Why the rail of a method cannot be used now; None when it can."""


class Offer(Struct, frozen=True):
    """A method, and why it is not available; None when it is."""

    method: Method
    unavailable_reason: UnavailableReason | None

    @property
    def available(self) -> bool:
        """Whether a customer can choose it now."""
        return self.unavailable_reason is None


class Wanted(Struct, frozen=True):
    """What a method is wanted for. What is left out is not judged."""

    currency: str | None = None
    amount_minor: int | None = None
    project: ProjectStatus | None = None


ANYTHING = Wanted()


def offers(mode: Mode, settings: PaymentSettings, rail_fault: RailFault, wanted: Wanted = ANYTHING) -> list[Offer]:
    """Every method that an environment lists, judged. The sandbox's are listed in test only, all others always."""
    return [
        Offer(method, next(_reasons(method, mode, settings, rail_fault, wanted), None))
        for method in METHODS.values()
        if method.rail != "sandbox" or mode == "test"
    ]


def _reasons(
    method: Method, mode: Mode, settings: PaymentSettings, rail_fault: RailFault, wanted: Wanted
) -> Iterator[UnavailableReason]:
    """What stands against a method, from what the house lacks to what this very payment asks."""
    if (method.rail == "sandbox") != (mode == "test"):
        yield "not_in_environment"
    if not method.enabled:
        yield "disabled_by_operator"
    if (fault := rail_fault(method, mode)) is not None:
        yield fault
    if not settings.offers(method.method_id):
        yield "disabled_by_merchant"
    if wanted.project not in {None, "approved"}:
        yield "project_not_allowed"
    if not CURRENCIES[method.asset].operations.payments or wanted.currency not in {None, method.asset}:
        yield "currency_not_supported"
    if wanted.amount_minor is not None and not method.takes(wanted.amount_minor):
        yield "amount_out_of_range"
