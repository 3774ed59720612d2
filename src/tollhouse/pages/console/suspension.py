"""The pages that suspend and reactivate a merchant or an application: a form that asks for the reason, and its result."""

from collections.abc import Awaitable, Callable
from typing import Any

from msgspec import Struct
from starlette.responses import Response

from tollhouse.accounts.approvals.model import OperatorAction, OperatorContext, OperatorRefusedError
from tollhouse.accounts.identity.model import Operator
from tollhouse.http.request import Request
from tollhouse.http.responses import see_other
from tollhouse.http.services import Work
from tollhouse.kernel.text import Translatable
from tollhouse.pages.console.layout import ROOT, read_reason, render


class StatusChange(Struct, frozen=True):
    """Suspending or reactivating. `consequences` are listed on the form; `too_late` is shown if the status has changed."""

    label: str
    tone: str
    from_statuses: frozenset[str]
    consequences: tuple[str, ...]
    too_late: str
    apply: Callable[[Work, Any, OperatorContext], Awaitable[OperatorAction]]


class Suspendable(Struct, frozen=True):
    """A merchant or an application. `id` is in its path, below `section`, the entry of the menu."""

    section: str
    id: Any
    name: str
    status: str

    @property
    def path(self) -> str:
        """The path of its page."""
        return f"{ROOT}/{self.section}/{self.id}"


Load = Callable[[], Awaitable[Suspendable]]
ShowError = Callable[[Translatable], Awaitable[Response]]
"""The subject's page with this message."""


async def confirm_page(
    request: Request, caller: Operator, change: StatusChange, load: Load, show_error: ShowError
) -> Response:
    """The form that confirms the change and asks for the reason."""
    subject = await load()
    if subject.status not in change.from_statuses:
        return await show_error(change.too_late)
    return await _form(request, caller, change, subject)


async def submit(request: Request, caller: Operator, change: StatusChange, load: Load, show_error: ShowError) -> Response:
    """Change the status and redirect to the subject's page."""
    subject = await load()
    reason, error = read_reason(request)
    if error:
        return await _form(request, caller, change, subject, reason=reason, error=error)
    context = OperatorContext(caller.email, request.now, reason)
    try:
        action = await request.transact(lambda work: change.apply(work, subject.id, context))
    except OperatorRefusedError:
        return await show_error(change.too_late)
    return see_other(f"{subject.path}?action={action.action_id}")


async def _form(
    request: Request,
    caller: Operator,
    change: StatusChange,
    subject: Suspendable,
    *,
    reason: str = "",
    error: Translatable = "",
) -> Response:
    return await render(
        request,
        caller,
        "suspension",
        422 if error else 200,
        here=subject.section,
        subject=subject,
        change=change,
        reason=reason,
        field_errors={"reason": error} if error else {},
    )
