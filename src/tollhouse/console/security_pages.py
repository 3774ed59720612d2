"""The pages on which operators turn their second factor on and off."""

from functools import partial

from starlette.responses import Response

from tollhouse.http.forms import parse_form
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.preferences import language_of
from tollhouse.http.request import Request
from tollhouse.http.responses import page, see_other
from tollhouse.identity import operator_stepup
from tollhouse.identity import second_factor_pages as factor
from tollhouse.identity.model import Operator, SignInFirst
from tollhouse.identity.operators import operator_account_page, operator_confirm_page
from tollhouse.identity.second_factor_pages import AccountKind, Switched
from tollhouse.kernel.errors import ApiError
from tollhouse.mail import outbox
from tollhouse.mail.model import Letter
from tollhouse.platform.db import Tx

OPERATIONS = Operations(PAGES)
ROOT = "/operator/security"


@OPERATIONS.add("GET", ROOT, guard=operator_account_page)
async def security(request: Request, caller: Operator) -> Response:
    """The second factor and its backup codes."""
    return await factor.start(request, _account_kind(request, caller))


@OPERATIONS.add("POST", f"{ROOT}/setup", guard=operator_account_page)
async def enrol(request: Request, caller: Operator) -> Response:
    """Create a secret for an authenticator."""
    return await factor.enrol(request, _account_kind(request, caller))


@OPERATIONS.add("GET", f"{ROOT}/setup", guard=operator_account_page)
async def setup(request: Request, caller: Operator) -> Response:
    """Show the secret and ask for the first code."""
    return await factor.setup(request, _account_kind(request, caller))


@OPERATIONS.add("POST", f"{ROOT}/confirm", guard=operator_account_page)
async def confirm(request: Request, caller: Operator) -> Response:
    """Turn the second factor on."""
    return await factor.confirm(request, _account_kind(request, caller))


@OPERATIONS.add("POST", f"{ROOT}/backup-codes", guard=operator_account_page)
async def renew_backup_codes(request: Request, caller: Operator) -> Response:
    """Replace the backup codes. Requires a code."""
    return await factor.renew(request, _account_kind(request, caller))


@OPERATIONS.add("GET", f"{ROOT}/off", guard=operator_account_page)
async def ask_to_turn_off(request: Request, caller: Operator) -> Response:
    """Confirm that the second factor is turned off."""
    return await factor.ask_to_turn_off(request, _account_kind(request, caller))


@OPERATIONS.add("POST", f"{ROOT}/off", guard=operator_account_page)
async def turn_off(request: Request, caller: Operator) -> Response:
    """Turn the second factor off. Requires a code."""
    return await factor.turn_off(request, _account_kind(request, caller))


@OPERATIONS.add("GET", operator_stepup.PATH, guard=operator_confirm_page)
async def step_up_page(request: Request, caller: Operator) -> Response:
    """Ask an operator for the password again. `to` is the page to open afterwards."""
    to = operator_stepup.page_to(parse_form(request.query))
    return see_other(to) if operator_stepup.is_recent(caller, request.now) else operator_stepup.asked(request, caller, to)


@OPERATIONS.add("POST", operator_stepup.PATH, guard=operator_confirm_page)
async def step_up(request: Request, caller: Operator) -> Response:
    """Check the password, and the code if there is a second factor, and open the requested page."""
    form = request.form()
    to = operator_stepup.page_to(form)
    try:
        await operator_stepup.confirm(request, caller, form)
    except SignInFirst:
        raise
    except ApiError as error:
        return operator_stepup.asked(request, caller, to, error)
    return see_other(to)


def _account_kind(request: Request, operator: Operator) -> AccountKind:
    show = partial(page, request, frame="console/layout.html", operator=operator, here="security")

    async def notify(tx: Tx, switched: Switched) -> None:
        await outbox.put(tx, Letter(switched, operator.email, language_of(request)), request.now)

    return AccountKind(operator.operator_id, operator.email, ROOT, show, notify)
