"""The operators' pages: layout, states of forms, and the actions that forms ask for, such as a suspension."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol, TypeVar
from uuid import UUID

from msgspec import Struct
from starlette.responses import Response

from tollhouse.accounts.approvals.model import REASON_RULE, OperatorAction, OperatorContext, OperatorRefusedError, is_reason
from tollhouse.accounts.identity.model import Operator
from tollhouse.accounts.identity.operators import operator_page
from tollhouse.http.operations import Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import page, see_other
from tollhouse.http.services import Work
from tollhouse.kernel import messages
from tollhouse.kernel.actor import Actor
from tollhouse.kernel.ids import parse_id
from tollhouse.kernel.text import Translatable
from tollhouse.pages.console import overview_store, store
from tollhouse.pages.console.store import HistoryEntry

ROOT = "/operator"


class Done(Protocol):
    """What an action returns."""

    @property
    def action_id(self) -> UUID:
        """Its entry in the history."""
        ...


D = TypeVar("D", bound=Done)


class FormState(Struct, frozen=True):
    """A page with forms: new, after an action (its ID is `done`), or with what was wrong about what was `entered`."""

    status: int = 200
    done: str = ""
    message: Translatable = ""
    field_errors: Mapping[str, Translatable] = {}
    entered: Mapping[str, Any] = {}


class ActionQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """`action`: the id of the action to confirm in a notice."""

    action: str = ""

    @property
    def state(self) -> FormState:
        """The state of the page after the action."""
        return FormState(done=self.action)


NEW = FormState()
Show = Callable[[FormState], Awaitable[Response]]
"""The page of a form in this state."""


async def render(
    request: Request, caller: Operator, template: str, state: FormState = NEW, /, *, here: str, **values: Any
) -> Response:
    """A page of the console. `here` is its entry in the menu, which counts what waits for a decision."""
    values = {"reason": "", "done": state.done, "message": state.message, "field_errors": state.field_errors} | values
    to_do = await overview_store.to_do(request.services.db)
    shown: dict[str, Any] = {"operator": caller, "here": here, "to_do": to_do, **values, **state.entered}
    return page(request, f"console/{template}.html", state.status, **shown)


async def decide(
    request: Request,
    caller: Operator,
    show: Show,
    action: Callable[[Work, OperatorContext], Awaitable[D]],
    to: str | Callable[[D], str],
    *,
    reason: str | None = "reason",
    is_optional: bool = False,
    entered: Mapping[str, Any] | None = None,
    wrong: Mapping[str, Translatable] | None = None,
    at: str = "",
    actor: Actor | None = None,
) -> Response:
    """An action of an operator, for the reason in the field `reason`, and then the page `to`, which names the action.

    Shows the form again with what is `wrong` about what was `entered`, or with why the action was refused: at the field
    `at`, or above the form. `actor` is the author of what the action records, by default the operator with this request.
    """
    context, entered, field_errors = OperatorContext(caller.email, request.now), dict(entered or {}), dict(wrong or {})
    if reason is not None:
        entered[reason], error = read_reason(request, reason)
        if error and (entered[reason] or not is_optional):
            field_errors[reason] = error
        context = OperatorContext(caller.email, request.now, entered[reason] or None)
    if field_errors:
        return await show(FormState(422, field_errors=field_errors, entered=entered))
    try:
        done = await request.services.transact(lambda work: action(work, context), request.now, actor or request.actor)
    except OperatorRefusedError as refused:
        if at:
            return await show(FormState(422, field_errors={at: refused.message}, entered=entered))
        return await show(FormState(409, message=refused.notice, entered=entered))
    return see_other(to(done) if callable(to) else f"{to}?action={done.action_id}")


async def find_action(
    request: Request, state: FormState, subject_id: UUID | None = None, kind: str = ""
) -> list[HistoryEntry]:
    """The action that was done; empty if it had another subject, or is of another kind."""
    parsed = parse_id(state.done)
    found = None if parsed is None else await store.action(request.services.db, parsed)
    if found is None or (found.action.action != kind if kind else found.action.subject_id != subject_id):
        return []
    return [found]


def read_choice(request: Request, field: str) -> tuple[UUID | None, dict[str, Translatable]]:
    """The ID that was chosen in a field of the form, and the error of the field if none was."""
    chosen = parse_id(request.form().one(field) or "")
    return chosen, {} if chosen is not None else {field: messages.A_CHOICE}


def chosen(subject_id: UUID | None) -> UUID:
    """The ID of a form without errors."""
    if subject_id is None:
        raise AssertionError("a form without a choice is wrong")
    return subject_id


def read_reason(request: Request, field: str = "reason") -> tuple[str, Translatable]:
    """The reason in a form, and its error message, which is empty if the reason is valid."""
    reason = (request.form().one(field) or "").strip()
    return reason, "" if is_reason(reason) else REASON_RULE


class ConfirmedAction(Struct, frozen=True):
    """An action that an operator confirms with a reason, such as a suspension. It is offered for `from_statuses`.

    `consequences` are listed on the form; `too_late` is shown if the status has changed.
    """

    label: str
    tone: str
    from_statuses: frozenset[str]
    consequences: tuple[str, ...]
    too_late: str
    apply: Callable[[Work, Any, OperatorContext], Awaitable[OperatorAction]]


class ActionSubject(Struct, frozen=True):
    """A merchant or an application. `id` is in its path, below `section`, the entry of the menu."""

    section: str
    id: Any
    name: str
    status: str

    @property
    def path(self) -> str:
        """The path of its page."""
        return f"{ROOT}/{self.section}/{self.id}"


Load = Callable[[], Awaitable[ActionSubject]]


def add_confirmed_actions(
    operations: Operations,
    path: str,
    actions: Mapping[str, ConfirmedAction],
    subject_of: Callable[[Request, Operator], tuple[Load, Show]],
) -> None:
    """Declare, below the path of a subject, the form that confirms each of these actions, and the action."""
    for name, action in actions.items():
        _add_confirmed_action(operations, f"{path}/{name}", action, subject_of)


def _add_confirmed_action(
    operations: Operations,
    path: str,
    action: ConfirmedAction,
    subject_of: Callable[[Request, Operator], tuple[Load, Show]],
) -> None:
    @operations.add("GET", path, guard=operator_page)
    async def confirm_page(request: Request, caller: Operator) -> Response:  # pyright: ignore[reportUnusedFunction]
        """The form that confirms the action and asks for the reason; the subject's page if it is too late."""
        load, show = subject_of(request, caller)
        subject = await load()
        if subject.status not in action.from_statuses:
            return await show(FormState(409, message=action.too_late))
        return await _form(request, caller, action, subject, NEW)

    @operations.add("POST", path, guard=operator_page)
    async def act(request: Request, caller: Operator) -> Response:  # pyright: ignore[reportUnusedFunction]
        """Act and redirect to the subject's page."""
        load, show = subject_of(request, caller)
        subject = await load()

        async def show_form_or_subject(state: FormState) -> Response:
            if state.field_errors:
                return await _form(request, caller, action, subject, state)
            return await show(FormState(409, message=action.too_late))

        return await decide(
            request,
            caller,
            show_form_or_subject,
            lambda work, context: action.apply(work, subject.id, context),
            subject.path,
        )


async def _form(
    request: Request, caller: Operator, action: ConfirmedAction, subject: ActionSubject, state: FormState
) -> Response:
    return await render(request, caller, "confirmed_action", state, here=subject.section, subject=subject, action=action)
