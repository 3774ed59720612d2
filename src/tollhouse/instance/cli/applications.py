"""`tollhouse operator applications`: OAuth applications of all merchants."""

from typing import Annotated

from cyclopts import App, Parameter

from tollhouse.instance.cli.actions import By, OptionalReason, Reason, act, print_rows
from tollhouse.instance.cli.options import Json
from tollhouse.pages.console import actions, store
from tollhouse.pages.console.store import ApplicationStatus

app = App(name="applications", help="List, suspend and reactivate applications.")

ClientArgument = Annotated[str, Parameter(name="CLIENT_ID", help="The application's client ID.")]
Status = Annotated[ApplicationStatus | None, Parameter(help="Only applications with this status.")]
Search = Annotated[str, Parameter(help="Only applications whose name, owner or ID contains this text.")]


@app.command(name="list")
def list_applications(*, status: Status = None, search: Search = "", as_json: Json = False) -> int:
    """List applications of all merchants, newest first."""
    return print_rows(
        "applications",
        lambda services: store.applications(services.db, status=status or "", search=search),
        as_json=as_json,
    )


@app.command
def suspend(client_id: ClientArgument, /, *, reason: Reason, by: By = None, as_json: Json = False) -> int:
    """Suspend an application. It cannot connect merchants, get tokens or call the API; its grants are kept."""
    return act(lambda work, context: actions.suspend_application(work, client_id, context), reason, by, as_json=as_json)


@app.command
def reactivate(client_id: ClientArgument, /, *, reason: OptionalReason = None, by: By = None, as_json: Json = False) -> int:
    """Reactivate a suspended application."""
    return act(lambda work, context: actions.reactivate_application(work, client_id, context), reason, by, as_json=as_json)
