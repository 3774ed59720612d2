"""Payment methods of an environment, and why a method is unavailable."""

from collections.abc import Iterator

from msgspec import Struct

from tollhouse.accounts.environments.model import ProjectStatus
from tollhouse.accounts.environments.payment_settings import PaymentSettings
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.catalogue.methods import Method, UnavailableReason
from tollhouse.kernel.ids import Mode
from tollhouse.kernel.rails.registry import Rails


class Offer(Struct, frozen=True):
    """A method, and why it is unavailable, if it is."""

    method: Method
    unavailable_reason: UnavailableReason | None

    @property
    def available(self) -> bool:
        """Whether customers can use it."""
        return self.unavailable_reason is None


class MethodRequirements(Struct, frozen=True):
    """What a method must support. None is not checked."""

    currency: str | None = None
    amount_minor: int | None = None
    project: ProjectStatus | None = None


NO_REQUIREMENTS = MethodRequirements()


def offers(
    mode: Mode,
    settings: PaymentSettings,
    rails: Rails,
    catalogue: Catalogue,
    requirements: MethodRequirements = NO_REQUIREMENTS,
) -> list[Offer]:
    """Every method with its availability. Sandbox methods are listed in test mode only."""
    return [
        Offer(method, next(_reasons(method, mode, settings, rails, requirements, catalogue), None))
        for method in catalogue.methods.values()
        if method.mode == "live" or mode == "test"
    ]


def _reasons(
    method: Method,
    mode: Mode,
    settings: PaymentSettings,
    rails: Rails,
    requirements: MethodRequirements,
    catalogue: Catalogue,
) -> Iterator[UnavailableReason]:
    """The reasons against a method, from configuration to payment."""
    if method.mode != mode:
        yield "not_in_environment"
    if not method.enabled:
        yield "disabled_by_operator"
    if (error := rails.error(method.rail, mode, method.asset)) is not None:
        yield error
    if not settings.offers(method.method_id):
        yield "disabled_by_merchant"
    if requirements.project not in {None, "approved"}:
        yield "project_not_allowed"
    if not catalogue.currencies[method.asset].operations.payments or requirements.currency not in {None, method.asset}:
        yield "currency_not_supported"
    if requirements.amount_minor is not None and not method.takes(requirements.amount_minor):
        yield "amount_out_of_range"
