"""The dashboard page of withdrawal schedules: create, pause, resume, end, and their latest runs."""

import contextlib
from datetime import datetime, tzinfo
from typing import cast, get_args
from uuid import UUID

from msgspec import Struct
from starlette.responses import Response

from tollhouse.accounts.identity.guards import signed_in_page
from tollhouse.accounts.identity.model import Person
from tollhouse.http.forms import NO_ERRORS, FormErrors, form_errors_of
from tollhouse.http.lists import LongPageQuery, all_rows
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import page, see_other
from tollhouse.kernel import messages
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.catalogue.currencies import Currency
from tollhouse.kernel.catalogue.typed_amounts import amount_texts, read_amount
from tollhouse.kernel.clock import parse_date
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import ApiError, FieldError, NotFound, ValidationFailed
from tollhouse.kernel.ids import new_id, parse_id
from tollhouse.kernel.limits import RECIPIENTS_MAX
from tollhouse.transfers.gate import recipients_store
from tollhouse.transfers.gate.recipients_model import SavedRecipient
from tollhouse.transfers.gate.recipients_store import RecipientsQuery
from tollhouse.transfers.orders.errors import AmountAboveMaximum, AmountBelowMinimum, InvalidState
from tollhouse.transfers.withdrawals import schedules, schedules_store
from tollhouse.transfers.withdrawals.schedule_views import ScheduleRunView, WithdrawalScheduleView
from tollhouse.transfers.withdrawals.schedules import NewSchedule
from tollhouse.transfers.withdrawals.schedules_model import RUN_TIME, Frequency

OPERATIONS = Operations(PAGES)
ROOT = "/{mode}/withdrawals/schedules"
FIELDS = ("recipient_id", "frequency", "scheduled_for", "weekday", "month_day", "amount", "keep")
FREQUENCIES = frozenset(get_args(Frequency))
RUNS_SHOWN = 20
OF_THE_AMOUNT = (AmountBelowMinimum, AmountAboveMaximum)
NOTICES = {
    "created": "Schedule created.",
    "paused": "Schedule paused.",
    "resumed": "Schedule resumed.",
    "ended": "Schedule ended. Its withdrawals are kept.",
}


class SchedulesPageQuery(LongPageQuery, frozen=True, forbid_unknown_fields=True):
    """The page of the list. `done` names the action that was just completed."""

    done: str = ""


class ShownRun(Struct, frozen=True):
    """A run and the schedule it belongs to."""

    schedule_id: UUID
    run: ScheduleRunView


@OPERATIONS.add("GET", ROOT, guard=signed_in_page)
async def list_page(request: Request, caller: Person, mode: str, query: SchedulesPageQuery) -> Response:
    """The schedules, newest first, their latest runs, and the form of a new one."""
    return await _page(request, caller, caller.env(mode), query, dict.fromkeys(FIELDS, ""))


@OPERATIONS.add("POST", ROOT, guard=signed_in_page, recent_authentication="live")
async def create(request: Request, caller: Person, mode: str) -> Response:
    """Create a schedule. The form has its ID, so one that is sent twice creates one."""
    env, posted = caller.env(mode), request.form()
    values = {name: (posted.one(name) or "").strip() for name in FIELDS}
    schedule_id = parse_id(posted.one("schedule_id") or "") or new_id()
    try:
        new = await _new_schedule(request, env, values, caller.zone)
        await request.transact(lambda work: schedules.create(work, env, new, schedule_id))
    except ApiError as error:
        return await _page(request, caller, env, SchedulesPageQuery(), values, await _errors(request, env, error, values))
    return see_other(f"/{env.mode}/withdrawals/schedules?done=created")


@OPERATIONS.add("POST", f"{ROOT}/{{schedule_id}}/pause", guard=signed_in_page)
async def pause(request: Request, caller: Person, mode: str, schedule_id: UUID) -> Response:
    """Pause a schedule. A repeated request succeeds."""
    env = caller.env(mode)
    with contextlib.suppress(InvalidState):
        await request.transact(lambda work: schedules.pause(work, env, schedule_id))
    return see_other(f"/{env.mode}/withdrawals/schedules?done=paused")


@OPERATIONS.add("POST", f"{ROOT}/{{schedule_id}}/resume", guard=signed_in_page, recent_authentication="live")
async def resume(request: Request, caller: Person, mode: str, schedule_id: UUID) -> Response:
    """Resume a schedule. A repeated request succeeds."""
    env = caller.env(mode)
    with contextlib.suppress(InvalidState):
        await request.transact(lambda work: schedules.resume(work, env, schedule_id))
    return see_other(f"/{env.mode}/withdrawals/schedules?done=resumed")


@OPERATIONS.add("POST", f"{ROOT}/{{schedule_id}}/end", guard=signed_in_page)
async def end(request: Request, caller: Person, mode: str, schedule_id: UUID) -> Response:
    """End a schedule. A repeated request succeeds."""
    env = caller.env(mode)
    with contextlib.suppress(InvalidState):
        await request.transact(lambda work: schedules.end(work, env, schedule_id))
    return see_other(f"/{env.mode}/withdrawals/schedules?done=ended")


async def _new_schedule(request: Request, env: MerchantEnv, values: dict[str, str], zone: tzinfo) -> NewSchedule:
    """The schedule of the form: the day of a single withdrawal is at the usual time. Raises `ValidationFailed`."""
    recipient_id = parse_id(values["recipient_id"])
    if recipient_id is None:
        raise ValidationFailed(FieldError("recipient_id", "missing", messages.A_CHOICE))
    if values["frequency"] not in FREQUENCIES:
        raise ValidationFailed(FieldError("frequency", "missing", messages.A_CHOICE))
    frequency, at = cast("Frequency", values["frequency"]), None
    if frequency == "once":
        day = parse_date(values["scheduled_for"])
        if day is None:
            raise ValidationFailed(FieldError("scheduled_for", "invalid_value", messages.A_DAY))
        at = datetime.combine(day, RUN_TIME, zone)
    of_week_or_month = {"weekly": values["weekday"], "monthly": values["month_day"]}.get(frequency)
    recipient = await recipients_store.get(request.services.db, env, recipient_id)
    currency = _currency_of(recipient, request.services.catalogue)
    return NewSchedule(
        recipient_id=recipient_id,
        frequency=frequency,
        amount=read_amount(values["amount"], currency) if values["amount"] else None,
        keep=read_amount(values["keep"], currency) if values["keep"] else None,
        scheduled_for=at,
        day=None if of_week_or_month is None else int(of_week_or_month) if of_week_or_month.isdecimal() else 0,
    )


async def _errors(request: Request, env: MerchantEnv, error: ApiError, values: dict[str, str]) -> FormErrors:
    """The errors at the fields of the form."""
    at = "amount" if isinstance(error, OF_THE_AMOUNT) else "recipient_id" if isinstance(error, NotFound) else ""
    day = "weekday" if values["frequency"] == "weekly" else "month_day"
    if isinstance(error, ValidationFailed):
        named = [FieldError(day if one.field == "day" else one.field, one.code, one.message) for one in error.field_errors]
        error = ValidationFailed(*named)
    currency = None
    with contextlib.suppress(NotFound):
        recipient_id = parse_id(values["recipient_id"])
        if recipient_id is not None:
            saved = await recipients_store.get(request.services.db, env, recipient_id)
            currency = _currency_of(saved, request.services.catalogue)
    return form_errors_of(error, FIELDS, at, amount_texts(currency, amount=values["amount"], keep=values["keep"]))


async def _page(
    request: Request,
    person: Person,
    env: MerchantEnv,
    query: SchedulesPageQuery,
    values: dict[str, str],
    form_errors: FormErrors = NO_ERRORS,
) -> Response:
    db, catalogue = request.services.db, request.services.catalogue
    found, more = query.cut(await schedules_store.list_schedules(db, env, query.window))
    saved = await recipients_store.list_recipients(db, env, RecipientsQuery(), all_rows(RECIPIENTS_MAX))
    runs = await schedules_store.list_latest_runs(db, env, RUNS_SHOWN)
    return page(
        request,
        "dashboard/withdrawals/schedules.html",
        form_errors.status,
        person=person,
        mode=env.mode,
        here="withdrawals",
        schedules=[WithdrawalScheduleView.of(one, catalogue) for one in found],
        runs=[ShownRun(schedule_id, ScheduleRunView.of(run, catalogue)) for schedule_id, run in runs],
        names={one.id: one.name for one in saved},
        recipients=[(str(one.id), _label(one, catalogue)) for one in saved],
        values=values,
        form_errors=form_errors,
        schedule_id=new_id(),
        notice=NOTICES.get(query.done, ""),
        page_links=query.links(found, more=more),
    )


def _currency_of(recipient: SavedRecipient, catalogue: Catalogue) -> Currency | None:
    """The currency of the recipient's method; None if the method is not in the catalogue any more."""
    method = catalogue.withdrawal_methods.get(recipient.method_id)
    return None if method is None else catalogue.currencies[method.currency]


def _label(recipient: SavedRecipient, catalogue: Catalogue) -> str:
    method = catalogue.withdrawal_methods.get(recipient.method_id)
    return recipient.name if method is None else f"{recipient.name} ({method.currency})"
