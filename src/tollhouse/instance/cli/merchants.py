"""`tollhouse operator merchants`, `projects` and `adjust`."""

from typing import Annotated, Literal
from uuid import UUID

from cyclopts import App, Parameter

from tollhouse.accounts.approvals.model import OperatorAction, OperatorContext
from tollhouse.http.services import Services
from tollhouse.instance.cli.actions import (
    By,
    MerchantArgument,
    OptionalReason,
    Reason,
    UsageError,
    act,
    print_action,
    print_rows,
    read_signed,
    run_as,
)
from tollhouse.instance.cli.options import Json
from tollhouse.kernel.actor import OPERATOR
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId, Mode
from tollhouse.pages.console import actions, store

merchants = App(
    name="merchants", help="List, suspend and reactivate merchants, and remove a user's two-factor authentication."
)
projects = App(name="projects", help="List, approve and reject projects and their changes.")

Email = Annotated[str, Parameter(name="--email", help="The email address the user signs in with.")]
ProjectArgument = Annotated[UUID, Parameter(help="The project's ID.")]
ProjectStatus = Annotated[
    Literal["in_review", "approved", "rejected"] | None, Parameter(name="--status", help="Only projects with this status.")
]


@merchants.command(name="list")
def list_merchants(*, as_json: Json = False) -> int:
    """List all merchants, newest first."""
    return print_rows("merchants", lambda services: store.merchants(services.db), as_json=as_json)


@merchants.command
def suspend(merchant_id: MerchantArgument, /, *, reason: OptionalReason = None, by: By = None, as_json: Json = False) -> int:
    """Suspend a merchant. Every request with its credentials fails; its grants are kept."""
    return act(lambda work, context: actions.suspend(work, MerchantId(merchant_id), context), reason, by, as_json=as_json)


@merchants.command
def reactivate(
    merchant_id: MerchantArgument, /, *, reason: OptionalReason = None, by: By = None, as_json: Json = False
) -> int:
    """Reactivate a suspended merchant. Its credentials work again."""
    return act(lambda work, context: actions.reactivate(work, MerchantId(merchant_id), context), reason, by, as_json=as_json)


@merchants.command
def drop_second_factor(*, email: Email, reason: Reason, by: By = None, as_json: Json = False) -> int:
    """Remove two-factor authentication of a user who lost their authenticator and backup codes. Ends all their sessions."""
    return act(lambda work, context: actions.remove_second_factor(work, email, context), reason, by, as_json=as_json)


@projects.command(name="list")
def list_projects(*, status: ProjectStatus = None, as_json: Json = False) -> int:
    """List projects, newest first. `in_review` includes approved ones with pending changes."""
    return print_rows("projects", lambda services: store.projects(services.db, status=status or ""), as_json=as_json)


@projects.command
def approve(project_id: ProjectArgument, /, *, reason: OptionalReason = None, by: By = None, as_json: Json = False) -> int:
    """Approve a project, which can then accept live payments, or the pending changes of an approved one."""
    return act(lambda work, context: actions.approve(work, project_id, context), reason, by, as_json=as_json)


@projects.command
def reject(project_id: ProjectArgument, /, *, reason: Reason, by: By = None, as_json: Json = False) -> int:
    """Reject a project. Its merchant sees the reason and can change the project to submit it again."""
    return act(lambda work, context: actions.reject(work, project_id, context), reason, by, as_json=as_json)


@projects.command
def reject_changes(project_id: ProjectArgument, /, *, reason: Reason, by: By = None, as_json: Json = False) -> int:
    """Reject the pending changes of an approved project, which stays as it is. Its merchant sees the reason."""
    return act(lambda work, context: actions.reject_changes(work, project_id, context), reason, by, as_json=as_json)


def adjust(
    merchant_id: MerchantArgument,
    /,
    *,
    mode: Annotated[Mode, Parameter(help="The environment.")],
    currency: Annotated[str, Parameter(help="The currency code.")],
    amount: Annotated[str, Parameter(help="For example 100.00; a negative amount debits.", allow_leading_hyphen=True)],
    reason: Reason,
    by: By = None,
    as_json: Json = False,
) -> int:
    """Credit a merchant's available balance, or debit it with a negative amount. Large credits are made on pages."""
    env = MerchantEnv(MerchantId(merchant_id), mode)

    async def change(services: Services, context: OperatorContext) -> OperatorAction:
        known = services.catalogue.currencies.get(currency)
        if known is None:
            raise UsageError(f"Unknown currency {currency}. Use one of {', '.join(services.catalogue.currencies)}.")
        amount_minor = read_signed(amount, known)
        return await services.transact(
            lambda work: actions.adjust(work, env, known, amount_minor, context), context.at, OPERATOR
        )

    return print_action(run_as(change, reason, by), as_json=as_json)
