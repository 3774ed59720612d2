"""The business settings page.

The form carries the values it was loaded with, so that a concurrent change is detected and the input kept.
"""

from collections.abc import Iterator
from datetime import datetime
from itertools import groupby

from starlette.responses import Response

from tollhouse.accounts.environments.legal_details import LEGAL_FIELDS, LegalDetails
from tollhouse.accounts.identity.guards import signed_in_page
from tollhouse.accounts.identity.model import Person
from tollhouse.accounts.merchants import actions, store
from tollhouse.accounts.merchants.model import Business
from tollhouse.http.forms import NO_ERRORS, Form, FormErrors, flash_message, form_errors_of
from tollhouse.http.languages import country_names
from tollhouse.http.local_formats import utc_offset
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.preferences import language_of
from tollhouse.http.request import Request
from tollhouse.http.responses import see_other
from tollhouse.kernel import clock
from tollhouse.kernel.errors import ValidationFailed
from tollhouse.kernel.text import Text, Translatable
from tollhouse.pages.dashboard.layout import render

OPERATIONS = Operations(PAGES)
FIELDS = ("business_name", "time_zone", *LEGAL_FIELDS)
LEGAL_LABELS = {
    "legal_name": "Legal name",
    "address_line1": "Address",
    "address_line2": "Address, second line",
    "postal_code": "Postal code",
    "city": "City",
    "country": "Country",
    "tax_id": "VAT or tax ID",
    "register_entry": "Register entry",
}
NOTICES = {"saved": "Settings saved."}
CHANGED = "These settings were changed in the meantime. Your input is below. Save again to overwrite the current settings."


@OPERATIONS.add("GET", "/settings/business", guard=signed_in_page("read"))
async def business(request: Request, caller: Person) -> Response:
    """The form with the current settings."""
    current = await store.get_business(request.services.db, caller.merchant_id)
    return _page(request, caller, current, current, notice=NOTICES.get(flash_message(request.query), ""))


@OPERATIONS.add("POST", "/settings/business", guard=signed_in_page("settings"))
async def change_business(request: Request, caller: Person) -> Response:
    """Save the settings, if they are as the form was loaded with."""
    form = request.form()
    new = Business((form.one("business_name") or "").strip(), form.one("time_zone") or "", _legal(form))
    seen = Business(form.one("seen_name") or "", form.one("seen_zone") or "", _legal(form, "seen_"))
    if field_errors := new.field_errors():
        return _page(request, caller, new, seen, form_errors_of(ValidationFailed(*field_errors), FIELDS))
    current = await request.transact(lambda work: actions.change_business(work, caller, new, seen))
    if current != new:
        return _page(request, caller, new, current, FormErrors(CHANGED, status=409))
    return see_other("/settings/business?done=saved")


def _legal(form: Form, prefix: str = "") -> LegalDetails:
    return LegalDetails(**{name: (form.one(prefix + name) or "").strip() for name in LEGAL_FIELDS})


def _page(
    request: Request, person: Person, new: Business, seen: Business, form_errors: FormErrors = NO_ERRORS, notice: str = ""
) -> Response:
    return render(
        request,
        person,
        "account/business",
        here="business",
        business=new,
        seen=seen,
        legal=new.legal,
        seen_legal=[(name, label, getattr(seen.legal, name)) for name, label in LEGAL_LABELS.items()],
        countries=list(country_names(language_of(request)).items()),
        form_errors=form_errors,
        notice=notice,
        zone_groups=list(zone_choices(new.time_zone, request.now)),
        clock=request.now,
    )


REGIONS = {
    "Africa": Text("Africa"),
    "America": Text("America"),
    "Antarctica": Text("Antarctica"),
    "Arctic": Text("Arctic"),
    "Asia": Text("Asia"),
    "Atlantic": Text("Atlantic Ocean"),
    "Australia": Text("Australia"),
    "Europe": Text("Europe"),
    "Indian": Text("Indian Ocean"),
    "Pacific": Text("Pacific Ocean"),
}


def zone_choices(selected: str, now: datetime) -> Iterator[tuple[Translatable, list[tuple[str, str]]]]:
    """Groups of zones and their labels: `Berlin (UTC+1)`. A selected zone that is unknown is a choice too, by its name."""
    known = clock.zone_names()
    if selected not in known:
        yield _region(selected), [(selected, selected)]
    for region, names in groupby(known, _region):
        yield region, [(name, _label(name, now)) for name in names]


def _region(name: str) -> Translatable:
    region = name.partition("/")[0]
    return REGIONS.get(region, region)


def _label(name: str, now: datetime) -> str:
    place = (name.partition("/")[2] or name).replace("_", " ").replace("/", ", ")
    offset = utc_offset(now.astimezone(clock.zone_of(name)))
    return place if place == offset else f"{place} ({offset})"
