"""The dashboard's page of how a merchant is paid in an environment: the same settings that the API reads and saves.

The form carries the version it was made from: who saves over somebody else's change is told, and loses nothing typed.
"""

from msgspec import Struct
from starlette.responses import Response

from tollhouse.catalogue.currencies import CURRENCIES
from tollhouse.catalogue.methods import METHODS
from tollhouse.catalogue.payment_settings import Branding, Finality, MethodChoice
from tollhouse.http.form_errors import NO_ERRORS, FormErrors, form_errors_of
from tollhouse.http.forms import Form, what_was_done
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import page, see_other
from tollhouse.identity.guards import signed_in_page
from tollhouse.identity.model import Person
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import ApiError, ValidationFailed
from tollhouse.settings import actions
from tollhouse.settings.model import NewSettings, SettingsChanged, SettingsView

OPERATIONS = Operations(PAGES)
PLAIN = (
    "default_currency", "link_expiry_minutes", "underpayment_tolerance_bps", "overpayment", "late_payments",
    "late_monitoring_days", "success_url", "cancel_url",
)  # fmt: skip
BRANDING = ("display_name", "logo_url", "accent_color", "support_email")
NUMBER_DIGITS_MAX = 9
NO_NUMBER = -1
NOTICES = {"saved": "Saved."}
CHANGED = "The settings were changed meanwhile. What stands here is what you typed: save it again to keep it."


class Typed(Struct, frozen=True):
    """What stands in the form: its fields by name, the methods that are ticked, and the version that was seen."""

    values: dict[str, str]
    methods: frozenset[str]
    version: int


@OPERATIONS.add("GET", "/{mode}/settings/payments", guard=signed_in_page)
async def payment_settings(request: Request, caller: Person, mode: str) -> Response:
    """How the merchant is paid in this environment."""
    current = await actions.current(request.services.db, caller.env(mode), request.now)
    notice = NOTICES.get(what_was_done(request.query), "")
    return _page(request, caller, current, _as_typed(current), notice=notice)


@OPERATIONS.add("POST", "/{mode}/settings/payments", guard=signed_in_page)
async def save_payment_settings(request: Request, caller: Person, mode: str) -> Response:
    """Save them, where nobody did so since. Posted twice, they are saved once and that is well."""
    env = caller.env(mode)
    typed = _typed(request.form())
    current = await actions.current(request.services.db, env, request.now)
    try:
        new = _meant(typed, current)
        await request.services.db.transact(lambda tx: actions.save(tx, env, new, request.now))
    except SettingsChanged:
        return await _changed(request, caller, env, typed)
    except ValidationFailed as error:
        return _page(request, caller, current, typed, _said(error, typed))
    return see_other(f"/{env.mode}/settings/payments?done=saved")


async def _changed(request: Request, person: Person, env: MerchantEnv, typed: Typed) -> Response:
    """Somebody was first. Where it was the same form, all is well."""
    current = await actions.current(request.services.db, env, request.now)
    saved = _as_typed(current)
    if (saved.values, saved.methods) == (typed.values, typed.methods):
        return see_other(f"/{env.mode}/settings/payments?done=saved")
    return _page(request, person, current, typed, FormErrors(CHANGED, status=409))


def _typed(form: Form) -> Typed:
    names = (*PLAIN, *(f"branding.{name}" for name in BRANDING), *(f"confirmations.{network}" for network in _networks()))
    values = {name: (form.one(name) or "").strip() for name in names}
    return Typed(values, frozenset(form.all("method")), _number(form.one("version") or ""))


def _as_typed(current: SettingsView) -> Typed:
    values = {name: str(getattr(current, name) or "") for name in PLAIN}
    values["underpayment_tolerance_bps"] = str(current.underpayment_tolerance_bps)
    values |= {f"branding.{name}": getattr(current.branding, name) or "" for name in BRANDING}
    values |= {f"confirmations.{network}": str(current.confirmations.get(network, "")) for network in _networks()}
    ticked = frozenset(choice.method_id for choice in current.payment_methods if choice.enabled)
    return Typed(values, ticked, current.version)


def _meant(typed: Typed, current: SettingsView) -> NewSettings:
    """The settings that the form means. What is no number is none that is allowed. Raises `ValidationFailed`."""
    values = typed.values
    overpayment, late = values["overpayment"], values["late_payments"]
    confirmations: dict[str, Finality] = {}
    for network in _networks():
        if text := values[f"confirmations.{network}"]:
            confirmations[network] = "finalized" if text == "finalized" else _number(text)
    return NewSettings(
        default_currency=values["default_currency"],
        payment_methods=[
            MethodChoice(choice.method_id, choice.method_id in typed.methods) for choice in current.payment_methods
        ],
        link_expiry_minutes=_number(values["link_expiry_minutes"]),
        underpayment_tolerance_bps=_number(values["underpayment_tolerance_bps"]),
        overpayment="refund_required" if overpayment == "refund_required" else "credit",
        late_payments="accept" if late == "accept" else "refund_required",
        late_monitoring_days=_number(values["late_monitoring_days"]),
        success_url=values["success_url"] or None,
        cancel_url=values["cancel_url"] or None,
        branding=Branding(**{name: values[f"branding.{name}"] or None for name in BRANDING}),
        confirmations=confirmations,
        version=typed.version,
    )


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) <= NUMBER_DIGITS_MAX else NO_NUMBER


def _networks() -> list[str]:
    return sorted({chain.network for currency in CURRENCIES.values() for chain in currency.chains})


def _said(error: ApiError, typed: Typed) -> FormErrors:
    """The faults are written for people already, those of members within members too."""
    return form_errors_of(
        error, typed.values, said={(fault.field, fault.code): fault.message for fault in error.field_errors}
    )


def _page(
    request: Request,
    person: Person,
    current: SettingsView,
    typed: Typed,
    form_errors: FormErrors = NO_ERRORS,
    *,
    notice: str = "",
) -> Response:
    return page(
        request,
        "settings/payments.html",
        form_errors.status,
        person=person,
        mode=current.mode,
        here="settings",
        version=current.version,
        typed=typed,
        form_errors=form_errors,
        notice=notice,
        methods=[(choice.method_id, METHODS[choice.method_id].name) for choice in current.payment_methods],
        currencies=[(one.code, f"{one.code}, {one.name}") for one in CURRENCIES.values()],
        networks=_networks(),
    )
