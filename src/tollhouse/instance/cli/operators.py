"""`tollhouse operator users`: who can sign in to the operator pages."""

from collections.abc import Awaitable, Callable
from typing import Annotated

import msgspec
from cyclopts import App, Parameter

from tollhouse.accounts.approvals.model import OperatorAction, OperatorContext
from tollhouse.http.services import Services, Work
from tollhouse.instance.cli.actions import By, OptionalReason, act, print_recorded, print_rows, run_as
from tollhouse.instance.cli.options import Json
from tollhouse.kernel.actor import OPERATOR
from tollhouse.pages.console import users, users_store

app = App(name="users", help="Manage who can use the pages under /operator.")
Email = Annotated[str, Parameter(help="The operator's email address.")]


@app.command(name="list")
def list_users(*, as_json: Json = False) -> int:
    """List operators, newest first, including invited and closed ones."""
    return print_rows("operators", lambda services: users_store.operators(services.db), as_json=as_json)


@app.command
def create(*, email: Email, reason: OptionalReason = None, by: By = None, as_json: Json = False) -> int:
    """Invite an operator. Prints a link to choose a password, valid once and for 24 hours."""
    return _invite(lambda work, context: users.invite(work, email, context), reason, by, as_json=as_json)


@app.command
def reset(*, email: Email, reason: OptionalReason = None, by: By = None, as_json: Json = False) -> int:
    """Reset an operator's password and two-factor authentication, end all sessions, and print a link to sign in again."""
    return _invite(lambda work, context: users.invite_again(work, email, context), reason, by, as_json=as_json)


@app.command
def close(*, email: Email, reason: OptionalReason = None, by: By = None, as_json: Json = False) -> int:
    """Close an operator's account immediately. Their actions stay in the history."""
    return act(lambda work, context: users.close(work, email, context), reason, by, as_json=as_json)


def _invite(
    change: Callable[[Work, OperatorContext], Awaitable[tuple[OperatorAction, str]]],
    reason: str | None,
    by: str | None,
    *,
    as_json: bool,
) -> int:
    """Print the link, once: the database has only its digest."""

    async def with_link(services: Services, context: OperatorContext) -> tuple[OperatorAction, str]:
        action, secret = await services.transact(lambda work: change(work, context), context.at, OPERATOR)
        return action, f"{services.settings.base_url}/operator/welcome/{secret}"

    done = run_as(with_link, reason, by)
    if isinstance(done, int):
        return done
    action, link = done
    print(msgspec.json.encode({"operator_id": action.subject_id, "link": link}).decode() if as_json else link)
    print_recorded(action, " Send the link only to this operator. It expires in 24 hours.")
    return 0
