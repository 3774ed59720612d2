"""`tollhouse operator merchants`, `projects`, `applications`, `users` and `adjust`."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Literal
from uuid import UUID

import msgspec
from cyclopts import App, Parameter

from tollhouse.accounts.approvals.model import OperatorAction, OperatorContext
from tollhouse.http.services import Services, Work
from tollhouse.instance.cli.actions import (
    NO_REASON,
    CurrencyArgument,
    MerchantArgument,
    UsageError,
    WithOptionalReason,
    WithReason,
    act,
    print_recorded,
    print_rows,
    read_signed,
    run_as,
)
from tollhouse.instance.cli.options import Json
from tollhouse.kernel import clock
from tollhouse.kernel.actor import OPERATOR
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId, Mode
from tollhouse.pages.console import actions, application_actions, applications_store, store, users_store
from tollhouse.pages.console import users as user_actions
from tollhouse.pages.console.applications_store import ApplicationStatus

merchants = App(
    name="merchants", help="List, suspend and reactivate merchants, and remove a user's two-factor authentication."
)
projects = App(name="projects", help="List, approve and reject projects and their changes.")
applications = App(name="applications", help="List, suspend and reactivate applications.")
users = App(name="users", help="Manage who can use the pages under /operator.")

UserEmail = Annotated[str, Parameter(name="--email", help="The email address the user signs in with.")]
OperatorEmail = Annotated[str, Parameter(name="--email", help="The operator's email address.")]
ProjectArgument = Annotated[UUID, Parameter(help="The project's ID.")]
ProjectStatus = Annotated[
    Literal["in_review", "approved", "rejected"] | None, Parameter(name="--status", help="Only projects with this status.")
]
ClientArgument = Annotated[str, Parameter(name="CLIENT_ID", help="The application's client ID.")]
Status = Annotated[ApplicationStatus | None, Parameter(help="Only applications with this status.")]
Search = Annotated[str, Parameter(help="Only applications whose name, owner or ID contains this text.")]


@merchants.command(name="list")
def list_merchants(*, as_json: Json = False) -> None:
    """List all merchants, newest first."""
    print_rows("merchants", lambda services: store.merchants(services.db), as_json=as_json)


@merchants.command
def suspend(merchant_id: MerchantArgument, /, *, options: WithOptionalReason = NO_REASON) -> None:
    """Suspend a merchant. Every request with its credentials fails; its grants are kept."""
    act(lambda work, context: actions.suspend(work, MerchantId(merchant_id), context), options)


@merchants.command
def reactivate(merchant_id: MerchantArgument, /, *, options: WithOptionalReason = NO_REASON) -> None:
    """Reactivate a suspended merchant. Its credentials work again."""
    act(lambda work, context: actions.reactivate(work, MerchantId(merchant_id), context), options)


@merchants.command
def drop_second_factor(*, email: UserEmail, options: WithReason) -> None:
    """Remove two-factor authentication of a user who lost their authenticator and backup codes. Ends all their sessions."""
    act(lambda work, context: actions.remove_second_factor(work, email, context), options)


@projects.command(name="list")
def list_projects(*, status: ProjectStatus = None, as_json: Json = False) -> None:
    """List projects, newest first. `in_review` includes approved ones with pending changes."""
    print_rows("projects", lambda services: store.projects(services.db, status=status or ""), as_json=as_json)


@projects.command
def approve(project_id: ProjectArgument, /, *, options: WithOptionalReason = NO_REASON) -> None:
    """Approve a project, which can then accept live payments, or the pending changes of an approved one."""
    act(lambda work, context: actions.approve(work, project_id, context), options)


@projects.command
def reject(project_id: ProjectArgument, /, *, options: WithReason) -> None:
    """Reject a project. Its merchant sees the reason and can change the project to submit it again."""
    act(lambda work, context: actions.reject(work, project_id, context), options)


@projects.command
def reject_changes(project_id: ProjectArgument, /, *, options: WithReason) -> None:
    """Reject the pending changes of an approved project, which stays as it is. Its merchant sees the reason."""
    act(lambda work, context: actions.reject_changes(work, project_id, context), options)


@applications.command(name="list")
def list_applications(*, status: Status = None, search: Search = "", as_json: Json = False) -> None:
    """List applications of all merchants, newest first."""
    print_rows(
        "applications",
        lambda services: applications_store.applications(services.db, clock.now(), status=status or "", search=search),
        as_json=as_json,
    )


@applications.command(name="suspend")
def suspend_application(client_id: ClientArgument, /, *, options: WithReason) -> None:
    """Suspend an application. It cannot connect merchants, get tokens or call the API; its grants are kept."""
    act(lambda work, context: application_actions.suspend_application(work, client_id, context), options)


@applications.command(name="reactivate")
def reactivate_application(client_id: ClientArgument, /, *, options: WithOptionalReason = NO_REASON) -> None:
    """Reactivate a suspended application."""
    act(lambda work, context: application_actions.reactivate_application(work, client_id, context), options)


@users.command(name="list")
def list_users(*, as_json: Json = False) -> None:
    """List operators, newest first, including invited and closed ones."""
    print_rows("operators", lambda services: users_store.operators(services.db), as_json=as_json)


@users.command
def create(*, email: OperatorEmail, options: WithOptionalReason = NO_REASON) -> None:
    """Invite an operator. Prints a link to choose a password, valid once and for 24 hours."""
    _invite(lambda work, context: user_actions.invite(work, email, context), options)


@users.command
def reset(*, email: OperatorEmail, options: WithOptionalReason = NO_REASON) -> None:
    """Reset an operator's password and two-factor authentication, end all sessions, and print a link to sign in again."""
    _invite(lambda work, context: user_actions.invite_again(work, email, context), options)


@users.command
def close(*, email: OperatorEmail, options: WithOptionalReason = NO_REASON) -> None:
    """Close an operator's account immediately. Their actions stay in the history."""
    act(lambda work, context: user_actions.close(work, email, context), options)


def _invite(
    change: Callable[[Work, OperatorContext], Awaitable[tuple[OperatorAction, str]]], options: WithOptionalReason
) -> None:
    """Print the link, once: the database has only its digest."""

    async def with_link(services: Services, context: OperatorContext) -> tuple[OperatorAction, str]:
        action, secret = await services.transact(lambda work: change(work, context), context.at, OPERATOR)
        return action, f"{services.settings.base_url}/operator/welcome/{secret}"

    action, link = run_as(with_link, options)
    shown = {"operator_id": action.subject_id, "link": link}
    print(msgspec.json.encode(shown).decode() if options.as_json else link)
    print_recorded(action, " Send the link only to this operator. It expires in 24 hours.")


def adjust(
    merchant_id: MerchantArgument,
    /,
    *,
    mode: Annotated[Mode, Parameter(help="The environment.")],
    currency: CurrencyArgument,
    amount: Annotated[str, Parameter(help="For example 100.00; a negative amount debits.", allow_leading_hyphen=True)],
    options: WithReason,
) -> None:
    """Credit a merchant's available balance, or debit it with a negative amount. Large credits are made on pages."""
    env = MerchantEnv(MerchantId(merchant_id), mode)

    async def change(work: Work, context: OperatorContext) -> OperatorAction:
        currencies = work.services.catalogue.currencies
        known = currencies.get(currency)
        if known is None:
            raise UsageError(f"Unknown currency {currency}. Use one of {', '.join(currencies)}.")
        return await actions.adjust(work, env, known, read_signed(amount, known), context)

    act(change, options)
