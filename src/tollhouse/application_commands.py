"""`tollhouse operator applications`: see, suspend and reactivate a single application, whoever owns it."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Any

import msgspec
from cyclopts import App, Parameter

from tollhouse.approvals.model import OperatorContext
from tollhouse.console import applications, applications_store
from tollhouse.console.model import ApplicationStatus, OperatorAction
from tollhouse.http.services import Services
from tollhouse.operator_commands import By, Json, MaybeReason, Reason, context_of, listed, run, talk
from tollhouse.platform.db import Tx

app = App(name="applications", help="See, suspend and reactivate applications.")

ClientArgument = Annotated[str, Parameter(name="CLIENT_ID", help="The application's client ID.")]
Status = Annotated[ApplicationStatus | None, Parameter(help="Only those.")]
Search = Annotated[str, Parameter(help="Only those in whose name, owner or id this is found.")]


@app.command(name="list")
def list_applications(*, status: Status = None, search: Search = "", as_json: Json = False) -> int:
    """List applications of all merchants, newest first."""

    async def read(services: Services) -> list[Any]:
        return list(await applications_store.applications(services.db, status=status or "", search=search))

    return listed("applications", read, as_json=as_json)


@app.command
def suspend(client_id: ClientArgument, /, *, reason: Reason, by: By = None, as_json: Json = False) -> int:
    """Refuse its connections, tokens and calls from now on. Its grants stay."""
    return _do(lambda tx, context: applications.suspend(tx, client_id, context), reason, by, as_json=as_json)


@app.command
def reactivate(client_id: ClientArgument, /, *, reason: MaybeReason = None, by: By = None, as_json: Json = False) -> int:
    """Let a suspended application go on."""
    return _do(lambda tx, context: applications.reactivate(tx, client_id, context), reason, by, as_json=as_json)


def _do(
    change: Callable[[Tx, OperatorContext], Awaitable[OperatorAction]], reason: str | None, by: str | None, *, as_json: bool
) -> int:
    async def action(services: Services) -> OperatorAction:
        context = await context_of(services, reason, by)
        return await services.db.transact(lambda tx: change(tx, context))

    kept = run(action)
    if isinstance(kept, int):
        return kept
    print(msgspec.json.encode(kept).decode() if as_json else f"{kept.action} {kept.client_id}")
    talk.print(f"Kept as {kept.action_id}: {kept.operator}, {kept.at}.")
    return 0
