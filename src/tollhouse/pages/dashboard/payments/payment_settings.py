"""The dashboard's page of payment settings, whose version detects concurrent changes, and the forms of the logo."""

from decimal import Decimal, InvalidOperation

import msgspec
from msgspec import Struct
from starlette.responses import Response

from tollhouse.accounts.environments.logos_model import digest_of, image_origin, shown_source, stored_url
from tollhouse.accounts.environments.payment_settings import Branding, Finality, MethodChoice
from tollhouse.accounts.identity.guards import signed_in_page
from tollhouse.accounts.identity.model import Person
from tollhouse.accounts.settings import actions
from tollhouse.accounts.settings import actions as logos
from tollhouse.accounts.settings.logo_images import FIELD, read_logo
from tollhouse.accounts.settings.model import NewSettings, SettingsChanged, SettingsView
from tollhouse.http.forms import NO_ERRORS, Form, FormErrors, flash_message, form_errors_of
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import see_other
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.catalogue.methods import ShownFees, fees_of
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import ApiError, ValidationFailed
from tollhouse.kernel.text import Translatable
from tollhouse.pages.dashboard.go_live import go_live_state
from tollhouse.pages.dashboard.layout import render
from tollhouse.payments.links.views import currency_choices

OPERATIONS = Operations(PAGES)
PLAIN = (
    "default_currency",
    "settlement",
    "overpayment",
    "late_payments",
    "late_monitoring_days",
    "success_url",
    "cancel_url",
)
CONVERTED = ("link_expiry", "link_expiry_unit", "underpayment_tolerance")
UNIT_MINUTES = {"days": 1440, "hours": 60, "minutes": 1}
FIELDS_OF_API = {"link_expiry_minutes": "link_expiry", "underpayment_tolerance_bps": "underpayment_tolerance"}
"""The fields of the form whose names and units differ from those of the API."""
TEXTS = {
    "link_expiry": "Enter a whole number: from 5 minutes to 365 days.",
    "underpayment_tolerance": "Enter a percentage from 0 to 5, with at most two decimals.",
}
BRANDING = ("display_name", "logo_url", "accent_color", "support_email", "support_phone", "support_url")
NUMBER_DIGITS_MAX = 9
NO_NUMBER = -1
NOTICES = {"saved": "Settings saved.", "logo_saved": "Logo uploaded.", "logo_removed": "Logo removed."}
CHANGED = "The settings were changed in the meantime. Your entries are shown below. Save again to overwrite the changes."


class PaymentSettingsForm(Struct, frozen=True):
    """The form: fields by name, selected methods, and the version it shows."""

    values: dict[str, str]
    methods: frozenset[str]
    currencies: frozenset[str]
    version: int


@OPERATIONS.add("GET", "/{mode}/settings/payments", guard=signed_in_page("read"))
async def payment_settings(request: Request, caller: Person, env: MerchantEnv) -> Response:
    """Show the payment settings."""
    current = await actions.get(request.services, env)
    notice = NOTICES.get(flash_message(request.query), "")
    return await settings_page(request, caller, current, form_of(current, request.services.catalogue), notice=notice)


@OPERATIONS.add("POST", "/{mode}/settings/payments", guard=signed_in_page("settings"), recent_authentication="live")
async def save_payment_settings(request: Request, caller: Person, env: MerchantEnv) -> Response:
    """Save the settings unless they changed. A form that is posted twice is saved once."""
    form = _read_form(request.form(), request.services.catalogue)
    current = await actions.get(request.services, env)
    try:
        new = _to_settings(form, current, request.services.catalogue)
        await request.transact(lambda work: actions.save(work, env, new))
    except SettingsChanged:
        return await _changed(request, caller, env, form)
    except ValidationFailed as error:
        return await settings_page(request, caller, current, form, _errors(error, form))
    return see_other(f"/{env.mode}/settings/payments?done=saved")


async def _changed(request: Request, person: Person, env: MerchantEnv, form: PaymentSettingsForm) -> Response:
    """The response to a stale form. The same form posted twice is no conflict."""
    current = await actions.get(request.services, env)
    catalogue = request.services.catalogue
    saved = form_of(current, catalogue)
    same_version = msgspec.structs.replace(form, version=saved.version)
    if _to_settings(same_version, current, catalogue) == _to_settings(saved, current, catalogue):
        return see_other(f"/{env.mode}/settings/payments?done=saved")
    return await settings_page(request, person, current, form, FormErrors(CHANGED, status=409))


def _read_form(fields: Form, catalogue: Catalogue) -> PaymentSettingsForm:
    names = (
        *PLAIN,
        *CONVERTED,
        *(f"branding.{name}" for name in BRANDING),
        *(f"confirmations.{network}" for network in _networks(catalogue)),
    )
    values = {name: (fields.one(name) or "").strip() for name in names}
    methods, currencies = (frozenset(fields.all(name)) for name in ("method", "additional_currency"))
    return PaymentSettingsForm(values, methods, currencies, _number(fields.one("version") or ""))


def form_of(current: SettingsView, catalogue: Catalogue) -> PaymentSettingsForm:
    """The form with the current settings."""
    values = {name: str(getattr(current, name) or "") for name in PLAIN}
    unit = next(unit for unit, minutes in UNIT_MINUTES.items() if current.link_expiry_minutes % minutes == 0)
    values |= {"link_expiry": str(current.link_expiry_minutes // UNIT_MINUTES[unit]), "link_expiry_unit": unit}
    values["underpayment_tolerance"] = f"{Decimal(current.underpayment_tolerance_bps) / 100:f}"
    values |= {f"branding.{name}": getattr(current.branding, name) or "" for name in BRANDING}
    values |= {f"confirmations.{network}": str(current.confirmations.get(network, "")) for network in _networks(catalogue)}
    selected = frozenset(choice.method_id for choice in current.payment_methods if choice.enabled)
    return PaymentSettingsForm(values, selected, frozenset(current.additional_currencies), current.version)


def _to_settings(form: PaymentSettingsForm, current: SettingsView, catalogue: Catalogue) -> NewSettings:
    """The settings of the form. Raises `ValidationFailed`."""
    values = form.values
    overpayment, late = values["overpayment"], values["late_payments"]
    confirmations: dict[str, Finality] = {}
    for network in _networks(catalogue):
        if text := values[f"confirmations.{network}"]:
            confirmations[network] = "finalized" if text == "finalized" else _number(text)
    return NewSettings(
        default_currency=values["default_currency"],
        payment_methods=[
            MethodChoice(choice.method_id, choice.method_id in form.methods) for choice in current.payment_methods
        ],
        link_expiry_minutes=_number(values["link_expiry"]) * UNIT_MINUTES.get(values["link_expiry_unit"], 0),
        underpayment_tolerance_bps=_basis_points(values["underpayment_tolerance"]),
        overpayment="refund_required" if overpayment == "refund_required" else "credit",
        late_payments="accept" if late == "accept" else "refund_required",
        late_monitoring_days=_number(values["late_monitoring_days"]),
        success_url=values["success_url"] or None,
        cancel_url=values["cancel_url"] or None,
        branding=Branding(**{name: values[f"branding.{name}"] or None for name in BRANDING}),
        confirmations=confirmations,
        additional_currencies=[code for code in catalogue.currencies if code in form.currencies],
        settlement="keep" if values["settlement"] == "keep" else "convert",
        version=form.version,
    )


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) <= NUMBER_DIGITS_MAX else NO_NUMBER


def _basis_points(percentage: str) -> int:
    """`0.5` or `0,5` as 50."""
    try:
        points = Decimal(percentage.replace(",", ".")) * 100
    except InvalidOperation:
        return NO_NUMBER
    return int(points) if points.is_finite() and points == points.to_integral_value() else NO_NUMBER


def _networks(catalogue: Catalogue) -> list[str]:
    return sorted({chain.network for currency in catalogue.currencies.values() for chain in currency.chains})


def _errors(error: ApiError, form: PaymentSettingsForm) -> FormErrors:
    """The form errors with the messages of the API, also for nested members; with own ones where the units differ."""
    named = [
        msgspec.structs.replace(field_error, field=FIELDS_OF_API.get(field_error.field, field_error.field))
        for field_error in error.field_errors
    ]
    texts = {
        (field_error.field, field_error.code): TEXTS.get(field_error.field, field_error.message) for field_error in named
    }
    return form_errors_of(ValidationFailed(*named), form.values, texts=texts)


async def settings_page(
    request: Request,
    person: Person,
    current: SettingsView,
    form: PaymentSettingsForm,
    form_errors: FormErrors = NO_ERRORS,
    *,
    notice: str = "",
) -> Response:
    """The page with this form."""
    stored_logo = stored_url(current.branding.logo_url, request.services.settings.base_url)
    return render(
        request,
        person,
        "settings/payments",
        mode=current.mode,
        here="settings",
        image_origin=image_origin(stored_logo),
        logo=shown_source(stored_logo),
        has_uploaded_logo=digest_of(stored_logo) is not None,
        version=current.version,
        form=form,
        form_errors=form_errors,
        notice=notice,
        going_live=await go_live_state(request.services.db, person.env(current.mode), person),
        methods=[_method_row(choice.method_id, request.services.catalogue) for choice in current.payment_methods],
        currencies=[(currency.code, currency.label) for currency in request.services.catalogue.currencies.values()],
        payment_currencies=currency_choices(request.services.catalogue),
        networks=_networks(request.services.catalogue),
    )


def _method_row(method_id: str, catalogue: Catalogue) -> tuple[str, Translatable, str, ShownFees]:
    """The ID, name, currency and fees of a payment method."""
    method = catalogue.methods[method_id]
    return method_id, method.label, method.asset, fees_of(method.fees, catalogue.currencies[method.asset])


UPLOAD_BYTES_MAX = 4 * 1024 * 1024
"""More than a logo may have, so that a larger image gets an error on the page."""


@OPERATIONS.add("POST", "/{mode}/settings/payments/logo", guard=signed_in_page("settings"), body_bytes_max=UPLOAD_BYTES_MAX)
async def upload_logo(request: Request, caller: Person, mode: str) -> Response:
    """Show the uploaded image at checkout, in place of the current logo."""
    env = caller.env(mode)
    try:
        logo = await read_logo(request.file(FIELD))
        await request.transact(lambda work: logos.set_logo(work, env, logo))
    except (ValidationFailed, SettingsChanged) as error:
        return await _refused(request, caller, mode, error)
    return see_other(f"/{env.mode}/settings/payments?done=logo_saved#logo-label")


@OPERATIONS.add("POST", "/{mode}/settings/payments/logo/remove", guard=signed_in_page("settings"))
async def remove_logo(request: Request, caller: Person, mode: str) -> Response:
    """Show the initials at checkout again."""
    env = caller.env(mode)
    try:
        await request.transact(lambda work: logos.set_logo(work, env, None))
    except SettingsChanged as error:
        return await _refused(request, caller, mode, error)
    return see_other(f"/{env.mode}/settings/payments?done=logo_removed#logo-label")


async def _refused(request: Request, caller: Person, mode: str, error: ApiError) -> Response:
    current = await actions.get(request.services, caller.env(mode))
    form = form_of(current, request.services.catalogue)
    return await settings_page(request, caller, current, form, form_errors_of(error, (FIELD,)))
