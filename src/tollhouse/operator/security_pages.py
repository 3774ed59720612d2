"""The pages on which operators switch their second factor on and off."""

from functools import partial

from starlette.responses import Response

from tollhouse.callers import operator_stepup
from tollhouse.callers import second_factor_pages as factor
from tollhouse.callers.model import Operator, SignInFirst
from tollhouse.callers.operators import operator_account_page, operator_confirm_page
from tollhouse.callers.second_factor_pages import Seat, Switched
from tollhouse.kernel.refusals import Refusal
from tollhouse.mail import outbox
from tollhouse.mail.model import Letter
from tollhouse.platform.db import Tx
from tollhouse.web.answers import page, see_other
from tollhouse.web.ask import Ask
from tollhouse.web.forms import parse_form
from tollhouse.web.language_choice import language_of
from tollhouse.web.operations import PAGES, Operations

OPERATIONS = Operations(PAGES)
ROOT = "/operator/security"


@OPERATIONS.add("GET", ROOT, guard=operator_account_page)
async def security(ask: Ask, caller: Operator) -> Response:
    """The second factor and its backup codes."""
    return await factor.start(ask, _seat(ask, caller))


@OPERATIONS.add("POST", f"{ROOT}/setup", guard=operator_account_page)
async def enrol(ask: Ask, caller: Operator) -> Response:
    """Make a secret for an authenticator."""
    return await factor.enrol(ask, _seat(ask, caller))


@OPERATIONS.add("GET", f"{ROOT}/setup", guard=operator_account_page)
async def setup(ask: Ask, caller: Operator) -> Response:
    """Show it, and ask for the first code."""
    return await factor.setup(ask, _seat(ask, caller))


@OPERATIONS.add("POST", f"{ROOT}/confirm", guard=operator_account_page)
async def confirm(ask: Ask, caller: Operator) -> Response:
    """Switch the second factor on."""
    return await factor.confirm(ask, _seat(ask, caller))


@OPERATIONS.add("POST", f"{ROOT}/backup-codes", guard=operator_account_page)
async def renew_backup_codes(ask: Ask, caller: Operator) -> Response:
    """Make other backup codes, for a code."""
    return await factor.renew(ask, _seat(ask, caller))


@OPERATIONS.add("GET", f"{ROOT}/off", guard=operator_account_page)
async def ask_to_turn_off(ask: Ask, caller: Operator) -> Response:
    """What switching it off means."""
    return await factor.ask_to_turn_off(ask, _seat(ask, caller))


@OPERATIONS.add("POST", f"{ROOT}/off", guard=operator_account_page)
async def turn_off(ask: Ask, caller: Operator) -> Response:
    """Switch the second factor off, for a code."""
    return await factor.turn_off(ask, _seat(ask, caller))


@OPERATIONS.add("GET", operator_stepup.PATH, guard=operator_confirm_page)
async def step_up_page(ask: Ask, caller: Operator) -> Response:
    """Ask an operator for the password again. `to` is the page to go on to."""
    to = operator_stepup.page_to(parse_form(ask.query))
    return see_other(to) if operator_stepup.is_recent(caller, ask.now) else operator_stepup.asked(ask, caller, to)


@OPERATIONS.add("POST", operator_stepup.PATH, guard=operator_confirm_page)
async def step_up(ask: Ask, caller: Operator) -> Response:
    """Take the password, and the code where there is a second factor, and go on."""
    form = ask.form()
    to = operator_stepup.page_to(form)
    try:
        await operator_stepup.confirm(ask, caller, form)
    except SignInFirst:
        raise
    except Refusal as refusal:
        return operator_stepup.asked(ask, caller, to, refusal)
    return see_other(to)


def _seat(ask: Ask, operator: Operator) -> Seat:
    show = partial(page, ask, frame="operator/desk.html", operator=operator, here="security")

    async def tell(tx: Tx, switched: Switched) -> None:
        await outbox.put(tx, Letter(switched, operator.email, language_of(ask)), ask.now)

    return Seat(operator.operator_id, operator.email, ROOT, show, tell)
