"""Dashboard pages of withdrawals and of their schedules: lists and details."""

import contextlib
from datetime import datetime, tzinfo
from typing import Literal, cast, get_args
from uuid import UUID

from msgspec import Struct
from starlette.responses import Response

from tollhouse.accounts.identity.guards import signed_in_page
from tollhouse.accounts.identity.model import Person
from tollhouse.accounts.merchants.second_member import NotSecondMember
from tollhouse.http.forms import NO_ERRORS, FormErrors, form_errors_of
from tollhouse.http.lists import LongPageQuery, all_rows, status_options
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import see_other
from tollhouse.http.schema_fields import describe
from tollhouse.kernel import messages
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.catalogue.currencies import Currency
from tollhouse.kernel.catalogue.typed_amounts import FIELDS, AmountFilter, amount_texts, read_amount
from tollhouse.kernel.clock import parse_date
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import ApiError, FieldError, NotFound, ValidationFailed
from tollhouse.kernel.ids import new_id, parse_id
from tollhouse.kernel.limits import RECIPIENTS_MAX
from tollhouse.kernel.rails.registry import Rails
from tollhouse.kernel.text import Translatable
from tollhouse.pages.dashboard.layout import render
from tollhouse.pages.dashboard.saved_filter_menu import load_saved_filters
from tollhouse.transfers.gate import recipients_store
from tollhouse.transfers.gate import store as gate_store
from tollhouse.transfers.gate.model import SavedRecipient
from tollhouse.transfers.gate.recipients_store import RecipientsQuery
from tollhouse.transfers.orders.errors import AmountAboveMaximum, AmountBelowMinimum, InvalidState
from tollhouse.transfers.withdrawals import actions, model, schedules, schedules_store, store
from tollhouse.transfers.withdrawals.model import RUN_TIME, Frequency, Withdrawal, WithdrawalStatus
from tollhouse.transfers.withdrawals.schedules import NewSchedule
from tollhouse.transfers.withdrawals.store import WithdrawalsQuery
from tollhouse.transfers.withdrawals.views import ScheduleRunView, WithdrawalScheduleView, withdrawal_view

OPERATIONS = Operations(PAGES)
STATUSES = status_options(WithdrawalStatus)
NOT_CANCELABLE = "This withdrawal can no longer be canceled: it was sent or has ended."
APPROVED_BEFORE = "This withdrawal does not wait for a second member any more. Nothing was changed."


class WithdrawalsPageQuery(LongPageQuery, AmountFilter, frozen=True, forbid_unknown_fields=True):
    """The filters in the query string. Empty is no filter; an unknown value matches nothing. Amounts are as typed."""

    status: Literal["", "pending_review", "approved", "processing", "completed", "failed", "canceled"] = ""
    method_id: str = ""
    currency: str = ""
    reference: str = ""
    amount: str = ""
    amount_from: str = ""
    amount_to: str = ""

    @property
    def is_filtered(self) -> bool:
        """Whether a filter is set."""
        return bool(self.status or self.method_id or self.currency or self.reference or self.typed_amounts)

    @property
    def to_query(self) -> WithdrawalsQuery:
        """The filters for the store, without the amounts."""
        return WithdrawalsQuery(
            status=[self.status] if self.status else None,
            currency=self.currency or None,
            method_id=self.method_id or None,
            external_id=self.reference.strip() or None,
        )


@OPERATIONS.add("GET", "/{mode}/withdrawals", guard=signed_in_page("read"))
async def list_page(request: Request, caller: Person, env: MerchantEnv, query: WithdrawalsPageQuery) -> Response:
    """The list of withdrawals, newest first."""
    catalogue = request.services.catalogue
    form_errors, found, more = NO_ERRORS, list[Withdrawal](), False
    try:
        amounts = query.amounts(catalogue.currencies)
    except ValidationFailed as error:
        form_errors = form_errors_of(error, FIELDS)
    else:
        rows = await store.list_withdrawals(request.services.db, env, query.to_query, query.window, amounts)
        found, more = query.cut(rows)
    return render(
        request,
        caller,
        "withdrawals/list",
        here="withdrawals",
        withdrawals=[withdrawal_view(withdrawal, catalogue) for withdrawal in found],
        query=query,
        saved=await load_saved_filters(request, caller, env, "withdrawals", query),
        form_errors=form_errors,
        statuses=STATUSES,
        currencies=[
            (currency.code, currency.code) for currency in catalogue.currencies.values() if currency.operations.withdrawals
        ],
        methods=_usable_methods(env, request.services.rails, catalogue),
        method_labels=_method_labels(catalogue),
        page_links=query.links(found, more=more),
    )


@OPERATIONS.add("GET", "/{mode}/withdrawals/{withdrawal_id}", guard=signed_in_page("read"))
async def details(request: Request, caller: Person, env: MerchantEnv, withdrawal_id: UUID) -> Response:
    """A withdrawal: amount, receiver, progress."""
    return await _details(request, caller, env, withdrawal_id)


@OPERATIONS.add("POST", "/{mode}/withdrawals/{withdrawal_id}/cancel", guard=signed_in_page("money"))
async def cancel(request: Request, caller: Person, env: MerchantEnv, withdrawal_id: UUID) -> Response:
    """Cancel a withdrawal that was not sent yet. A repeated request succeeds."""
    try:
        await request.transact(lambda work: actions.cancel(work, env, withdrawal_id))
    except InvalidState as error:
        if (await store.get(request.services.db, env, withdrawal_id)).status != "canceled":
            return await _details(request, caller, env, withdrawal_id, NOT_CANCELABLE, error.status)
    return see_other(f"/{env.mode}/withdrawals/{withdrawal_id}")


@OPERATIONS.add(
    "POST", "/{mode}/withdrawals/{withdrawal_id}/approve", guard=signed_in_page("money"), recent_authentication="live"
)
async def approve(request: Request, caller: Person, env: MerchantEnv, withdrawal_id: UUID) -> Response:
    """Approve a withdrawal as the second member. A repeated request shows that it was approved."""
    try:
        await request.transact(lambda work: actions.approve_as_member(work, caller, withdrawal_id))
    except (NotSecondMember, InvalidState) as error:
        message = APPROVED_BEFORE if isinstance(error, InvalidState) else error.message
        return await _details(request, caller, env, withdrawal_id, message, error.status)
    return see_other(f"/{env.mode}/withdrawals/{withdrawal_id}")


async def _details(
    request: Request, person: Person, env: MerchantEnv, withdrawal_id: UUID, message: Translatable = "", status: int = 200
) -> Response:
    found = await store.get(request.services.db, env, withdrawal_id)
    return render(
        request,
        person,
        "withdrawals/one",
        status,
        here="withdrawals",
        withdrawal=withdrawal_view(found, request.services.catalogue),
        transfer=await gate_store.get(request.services.db, withdrawal_id),
        method_labels=_method_labels(request.services.catalogue),
        provider_fields=describe(found.provider_fields),
        message=message,
    )


def _usable_methods(env: MerchantEnv, rails: Rails, catalogue: Catalogue) -> list[tuple[str, Translatable]]:
    """The ids and names of the methods of this environment."""
    listed = model.list_methods(env.mode, catalogue)
    usable = (
        method for method in listed if model.unavailable_reason(method, env.mode, rails, catalogue) != "not_in_environment"
    )
    return [(method.method_id, method.label) for method in usable]


def _method_labels(catalogue: Catalogue) -> dict[str, Translatable]:
    """The names of methods by id. Methods that have left the catalogue are missing."""
    return {method_id: method.label for method_id, method in catalogue.withdrawal_methods.items()}


ROOT = "/{mode}/withdrawals/schedules"
SCHEDULE_FIELDS = ("recipient_id", "frequency", "scheduled_for", "weekday", "month_day", "amount", "keep")
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


@OPERATIONS.add("GET", ROOT, guard=signed_in_page("read"))
async def schedules_page(request: Request, caller: Person, env: MerchantEnv, query: SchedulesPageQuery) -> Response:
    """The schedules, newest first, their latest runs, and the form of a new one."""
    return await _page(request, caller, env, query, dict.fromkeys(SCHEDULE_FIELDS, ""))


@OPERATIONS.add("POST", ROOT, guard=signed_in_page("money"), recent_authentication="live")
async def create(request: Request, caller: Person, env: MerchantEnv) -> Response:
    """Create a schedule. The form has its ID, so one that is sent twice creates one."""
    posted = request.form()
    values = {name: (posted.one(name) or "").strip() for name in SCHEDULE_FIELDS}
    schedule_id = parse_id(posted.one("schedule_id") or "") or new_id()
    try:
        new = await _new_schedule(request, env, values, caller.zone)
        await request.transact(lambda work: schedules.create(work, env, new, schedule_id))
    except ApiError as error:
        return await _page(request, caller, env, SchedulesPageQuery(), values, await _errors(request, env, error, values))
    return see_other(f"/{env.mode}/withdrawals/schedules?done=created")


@OPERATIONS.add("POST", f"{ROOT}/{{schedule_id}}/pause", guard=signed_in_page("money"))
async def pause(request: Request, env: MerchantEnv, schedule_id: UUID) -> Response:
    """Pause a schedule. A repeated request succeeds."""
    with contextlib.suppress(InvalidState):
        await request.transact(lambda work: schedules.pause(work, env, schedule_id))
    return see_other(f"/{env.mode}/withdrawals/schedules?done=paused")


@OPERATIONS.add("POST", f"{ROOT}/{{schedule_id}}/resume", guard=signed_in_page("money"), recent_authentication="live")
async def resume(request: Request, env: MerchantEnv, schedule_id: UUID) -> Response:
    """Resume a schedule. A repeated request succeeds."""
    with contextlib.suppress(InvalidState):
        await request.transact(lambda work: schedules.resume(work, env, schedule_id))
    return see_other(f"/{env.mode}/withdrawals/schedules?done=resumed")


@OPERATIONS.add("POST", f"{ROOT}/{{schedule_id}}/end", guard=signed_in_page("money"))
async def end(request: Request, env: MerchantEnv, schedule_id: UUID) -> Response:
    """End a schedule. A repeated request succeeds."""
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
        named = [
            FieldError(day if field_error.field == "day" else field_error.field, field_error.code, field_error.message)
            for field_error in error.field_errors
        ]
        error = ValidationFailed(*named)
    currency = None
    with contextlib.suppress(NotFound):
        recipient_id = parse_id(values["recipient_id"])
        if recipient_id is not None:
            saved = await recipients_store.get(request.services.db, env, recipient_id)
            currency = _currency_of(saved, request.services.catalogue)
    return form_errors_of(error, SCHEDULE_FIELDS, at, amount_texts(currency, amount=values["amount"], keep=values["keep"]))


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
    return render(
        request,
        person,
        "withdrawals/schedules",
        here="withdrawals",
        schedules=[WithdrawalScheduleView.of(schedule, catalogue) for schedule in found],
        runs=[ShownRun(schedule_id, ScheduleRunView.of(run, catalogue)) for schedule_id, run in runs],
        names={recipient.id: recipient.name for recipient in saved},
        recipients=[(str(recipient.id), recipient.label(catalogue)) for recipient in saved],
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
