"""The security pages of an operator: two-factor authentication, and the confirmation of the password."""

from functools import partial

from starlette.responses import Response

from tollhouse.accounts.identity import operators
from tollhouse.accounts.identity.model import Operator, SignInFirst
from tollhouse.accounts.identity.operators import operator_account_page, operator_confirm_page
from tollhouse.accounts.identity.second_factor_pages import FactorEvent, TwoFactorAccount, add_operations
from tollhouse.accounts.identity.stepup import CONSOLE, is_recent
from tollhouse.accounts.mail import store as outbox
from tollhouse.accounts.mail.model import Email
from tollhouse.http.forms import parse_form
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.preferences import language_of
from tollhouse.http.request import Request
from tollhouse.http.responses import page, see_other
from tollhouse.http.services import Work
from tollhouse.kernel.errors import ApiError

OPERATIONS = Operations(PAGES)
ROOT = "/operator/security"


@OPERATIONS.add("GET", operators.PATH, guard=operator_confirm_page)
async def step_up_page(request: Request, caller: Operator) -> Response:
    """Ask an operator for the password. `to` is the page to open afterwards."""
    form = parse_form(request.query)
    if is_recent(caller, request.now):
        return see_other(CONSOLE.read(form))
    return operators.confirmation_page(request, caller, form)


@OPERATIONS.add("POST", operators.PATH, guard=operator_confirm_page)
async def step_up(request: Request, caller: Operator) -> Response:
    """Verify password and code, and open the page `to`."""
    form = request.form()
    try:
        await operators.confirm(request, caller, form)
    except SignInFirst:
        raise
    except ApiError as error:
        return operators.confirmation_page(request, caller, form, error)
    return see_other(CONSOLE.read(form))


def _account(request: Request, operator: Operator) -> TwoFactorAccount:
    render = partial(page, request, frame="console/layout.html", operator=operator, here="security")

    async def notify(work: Work, event: FactorEvent) -> None:
        await outbox.enqueue(work.tx, Email(event, operator.email, language_of(request)), request.now)

    return TwoFactorAccount(operator.operator_id, operator.email, ROOT, render, notify)


add_operations(OPERATIONS, ROOT, _account, read=operator_account_page, write=operator_account_page)
