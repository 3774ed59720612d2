"""Why a method cannot be used: every reason, and which is told first."""

import pytest

from tests.running import CATALOGUE
from tollhouse.accounts.environments.availability import NO_REQUIREMENTS, MethodRequirements, Offer, offers
from tollhouse.accounts.environments.payment_settings import MethodChoice, PaymentSettings
from tollhouse.instance import catalogue_file
from tollhouse.kernel.catalogue import methods
from tollhouse.kernel.catalogue.methods import UnavailableReason
from tollhouse.kernel.ids import Mode
from tollhouse.kernel.rails.registry import Rails

OFF = PaymentSettings(payment_methods=(MethodChoice("sandbox:EUR", enabled=False), MethodChoice("sepa:EUR", enabled=False)))


class _Healthy(Rails):
    """Every rail is available."""

    def error(self, name: str, mode: Mode, currency: str | None = None) -> None:
        """None."""
        del name, mode, currency


HEALTHY, UNCONFIGURED = _Healthy([]), Rails([])


def reasons(found: list[Offer]) -> dict[str, UnavailableReason | None]:
    return {offer.method.method_id: offer.unavailable_reason for offer in found}


@pytest.mark.covers("P-39")
def test_every_method_is_listed_always() -> None:
    test, live = (reasons(offers(mode, PaymentSettings(), HEALTHY, CATALOGUE)) for mode in ("test", "live"))
    assert set(test) == set(CATALOGUE.methods)
    assert {test[name] for name in methods.BUILT_IN} == {"not_in_environment"}
    assert set(live) == set(methods.BUILT_IN)
    assert set(live.values()) == {None}


@pytest.mark.covers("P-39", "P-40")
@pytest.mark.parametrize(
    ("method_id", "mode", "settings", "wanted", "reason"),
    [
        ("sandbox:EUR", "test", PaymentSettings(), NO_REQUIREMENTS, None),
        ("sandbox:EUR", "test", PaymentSettings(), MethodRequirements("EUR", 100, "approved"), None),
        ("sandbox:EUR", "test", PaymentSettings(), MethodRequirements(currency="USD"), "currency_not_supported"),
        ("sandbox:EUR", "test", PaymentSettings(), MethodRequirements(project="in_review"), "project_not_allowed"),
        ("sandbox:EUR", "test", PaymentSettings(), MethodRequirements("USD", 1, "rejected"), "project_not_allowed"),
        ("sandbox:EUR", "test", OFF, MethodRequirements("USD", 1, "rejected"), "disabled_by_merchant"),
        ("sandbox:USD", "test", OFF, NO_REQUIREMENTS, None),
        ("sepa:EUR", "live", PaymentSettings(), MethodRequirements("EUR", 99), "amount_out_of_range"),
        ("sepa:EUR", "live", PaymentSettings(), MethodRequirements("EUR", 100), None),
        ("sepa:EUR", "live", OFF, NO_REQUIREMENTS, "disabled_by_merchant"),
        ("sepa:EUR", "test", OFF, MethodRequirements("USD", 1, "rejected"), "not_in_environment"),
    ],
)
def test_the_first_reason_is_reported(
    method_id: str, mode: Mode, settings: PaymentSettings, wanted: MethodRequirements, reason: UnavailableReason | None
) -> None:
    assert reasons(offers(mode, settings, HEALTHY, CATALOGUE, wanted))[method_id] == reason


def test_a_rail_that_is_missing_is_reported_before_what_the_merchant_chose() -> None:
    assert reasons(offers("live", OFF, UNCONFIGURED, CATALOGUE))["sepa:EUR"] == "provider_not_configured"


def test_an_operator_disables_a_method_and_a_currency() -> None:
    services = catalogue_file.read(
        b'[methods."sandbox:EUR"]\nenabled = false\n[currencies.USD]\noperations = { payments = false }\n'
    )
    found = reasons(offers("test", OFF, UNCONFIGURED, services))
    assert found["sandbox:EUR"] == "disabled_by_operator"
