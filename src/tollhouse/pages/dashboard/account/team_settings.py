"""The page of what an owner sets for the team: second factors of all members, and how much Support refunds."""

from typing import NamedTuple

from starlette.responses import Response

from tollhouse.accounts.identity.guards import signed_in_page
from tollhouse.accounts.identity.model import Person, SecondFactorMissing
from tollhouse.accounts.merchants import team
from tollhouse.accounts.merchants.team import RefundLimit, TeamSettingsChange
from tollhouse.http.forms import NO_ERRORS, NOT_SAVED, Form, FormErrors, flash_message
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import formats_of, see_other
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.catalogue.typed_amounts import amount_texts, read_amount
from tollhouse.kernel.errors import ValidationFailed
from tollhouse.kernel.text import Translatable
from tollhouse.pages.dashboard.layout import render

OPERATIONS = Operations(PAGES)
PATH = "/settings/team"
FACTORS = "second_factors_required"


class TeamForm(NamedTuple):
    """What the form has: a limit as it is typed for each currency, empty for none."""

    refunds: dict[str, str]
    second_factors_required: bool


@OPERATIONS.add("GET", PATH, guard=signed_in_page("ownership"))
async def settings(request: Request, caller: Person) -> Response:
    """The settings of the team."""
    saved = await team.read(request.services.db, caller, request.services.catalogue)
    write = formats_of(request).plain_amount
    amounts = {limit.currency: write(limit.amount) for limit in saved.support_refunds}
    refunds = {code: amounts.get(code, "") for code in request.services.catalogue.currencies}
    return _page(request, caller, TeamForm(refunds, saved.second_factors_required))


@OPERATIONS.add("POST", PATH, guard=signed_in_page("ownership"), recent_authentication="always")
async def save(request: Request, caller: Person) -> Response:
    """Save all of it."""
    catalogue, typed = request.services.catalogue, _typed(request.form(), request.services.catalogue)
    chosen = [
        RefundLimit(code, read_amount(text, catalogue.currencies[code])) for code, text in typed.refunds.items() if text
    ]
    new = TeamSettingsChange(chosen, typed.second_factors_required)
    try:
        await request.transact(lambda work: team.change(work, caller, new))
    except ValidationFailed as error:
        return _page(request, caller, typed, FormErrors(NOT_SAVED, _amount_errors(new, typed, catalogue), error.status))
    except SecondFactorMissing as error:
        return _page(request, caller, typed, FormErrors(NOT_SAVED, {FACTORS: error.message}, error.status))
    return see_other(f"{PATH}?done=saved")


def _name(code: str) -> str:
    return f"refund_{code}"


def _typed(form: Form, catalogue: Catalogue) -> TeamForm:
    refunds = {code: (form.one(_name(code)) or "").strip() for code in catalogue.currencies}
    return TeamForm(refunds, form.one(FACTORS) == "on")


def _amount_errors(new: TeamSettingsChange, typed: TeamForm, catalogue: Catalogue) -> dict[str, Translatable]:
    """What is wrong, by field: the amounts are all that can be."""
    codes = [code for code, text in typed.refunds.items() if text]
    found: dict[str, Translatable] = {}
    for wrong in new.field_errors(catalogue):
        _, place, *_ = wrong.field.split(".")
        code = codes[int(place)]
        name, currency = _name(code), catalogue.currencies[code]
        found[name] = amount_texts(currency, **{name: typed.refunds[code]}).get((name, wrong.code), wrong.message)
    return found


def _page(request: Request, person: Person, form: TeamForm, form_errors: FormErrors = NO_ERRORS) -> Response:
    done = flash_message(request.query) == "saved"
    return render(request, person, "team/settings", here="members", form_errors=form_errors, form=form, done=done)
