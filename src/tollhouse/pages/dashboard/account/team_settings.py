"""The page of what an owner sets for the team: second factors, what Support refunds, and what needs a second member."""

from collections.abc import Iterator
from typing import NamedTuple

from starlette.responses import Response

from tollhouse.accounts.identity.guards import signed_in_page
from tollhouse.accounts.identity.model import Person, SecondFactorMissing
from tollhouse.accounts.merchants import team
from tollhouse.accounts.merchants.second_member import NoSecondMember, SecondMemberAmount
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
    """What the form has: amounts as they are typed for each currency, empty for none."""

    refunds: dict[str, str]
    seconded: dict[str, str]
    second_factors_required: bool
    waiting: bool = False


@OPERATIONS.add("GET", PATH, guard=signed_in_page("ownership"))
async def settings(request: Request, caller: Person) -> Response:
    """The settings of the team."""
    saved = await team.read(request.services.db, caller, request.services.catalogue, request.now)
    write, codes = formats_of(request).plain_amount, request.services.catalogue.currencies
    refunds = dict.fromkeys(codes, "") | {limit.currency: write(limit.amount) for limit in saved.support_refunds}
    seconded = dict.fromkeys(codes, "") | {one.currency: write(one.amount) for one in saved.second_member_above}
    asked_for = {one.currency: write(one.amount) if one.amount else "" for one in saved.second_member_changes}
    return _page(request, caller, TeamForm(refunds, seconded | asked_for, saved.second_factors_required, bool(asked_for)))


@OPERATIONS.add("POST", PATH, guard=signed_in_page("ownership"), recent_authentication="always")
async def save(request: Request, caller: Person) -> Response:
    """Save all of it."""
    catalogue, typed = request.services.catalogue, _typed(request.form(), request.services.catalogue)
    amounts = {name: read_amount(text, catalogue.currencies[code]) for name, code, text in _filled(typed)}
    new = TeamSettingsChange(
        [RefundLimit(code, amounts[_name("refund", code)]) for code, text in typed.refunds.items() if text],
        typed.second_factors_required,
        [SecondMemberAmount(code, amounts[_name("second", code)]) for code, text in typed.seconded.items() if text],
    )
    try:
        await request.transact(lambda work: team.change(work, caller, new))
    except ValidationFailed as error:
        return _page(request, caller, typed, FormErrors(NOT_SAVED, _amount_errors(new, typed, catalogue), error.status))
    except SecondFactorMissing as error:
        return _page(request, caller, typed, FormErrors(NOT_SAVED, {FACTORS: error.message}, error.status))
    except NoSecondMember as error:
        return _page(request, caller, typed, FormErrors(error.message, status=error.status))
    return see_other(f"{PATH}?done=saved")


def _name(kind: str, code: str) -> str:
    return f"{kind}_{code}"


def _filled(typed: TeamForm) -> Iterator[tuple[str, str, str]]:
    """Name, currency and text of each amount, in the order in which they are sent."""
    for kind, texts in (("refund", typed.refunds), ("second", typed.seconded)):
        yield from ((_name(kind, code), code, text) for code, text in texts.items() if text)


def _typed(form: Form, catalogue: Catalogue) -> TeamForm:
    refunds, seconded = (
        {code: (form.one(_name(kind, code)) or "").strip() for code in catalogue.currencies} for kind in ("refund", "second")
    )
    return TeamForm(refunds, seconded, form.one(FACTORS) == "on")


def _amount_errors(new: TeamSettingsChange, typed: TeamForm, catalogue: Catalogue) -> dict[str, Translatable]:
    """What is wrong, by field: the amounts are all that can be."""
    filled = {kind: [one for one in _filled(typed) if one[0].startswith(kind)] for kind in ("refund", "second")}
    found: dict[str, Translatable] = {}
    for wrong in new.field_errors(catalogue):
        member, place, *_ = wrong.field.split(".")
        name, code, text = filled["refund" if member == "support_refunds" else "second"][int(place)]
        found[name] = amount_texts(catalogue.currencies[code], **{name: text}).get((name, wrong.code), wrong.message)
    return found


def _page(request: Request, person: Person, form: TeamForm, form_errors: FormErrors = NO_ERRORS) -> Response:
    done = flash_message(request.query) == "saved"
    return render(request, person, "team/settings", here="members", form_errors=form_errors, form=form, done=done)
