"""`tollhouse operator applications`: see, suspend and reactivate a single application, whoever owns it."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Any

import msgspec
from cyclopts import App, Parameter

from tollhouse.operator import applications, applications_store
from tollhouse.operator.model import ApplicationStatus, Deed, Hand
from tollhouse.operator_commands import By, Json, MaybeReason, Reason, hand_of, listed, run, talk
from tollhouse.platform.db import Tx
from tollhouse.web.house import House

app = App(name="applications", help="See, suspend and reactivate applications.")

ClientArgument = Annotated[str, Parameter(name="CLIENT_ID", help="The application's client ID.")]
Status = Annotated[ApplicationStatus | None, Parameter(help="Only those.")]
Search = Annotated[str, Parameter(help="Only those in whose name, owner or id this is found.")]


@app.command(name="list")
def list_applications(*, status: Status = None, search: Search = "", as_json: Json = False) -> int:
    """List applications of all merchants, newest first."""

    async def read(house: House) -> list[Any]:
        return list(await applications_store.applications(house.db, status=status or "", search=search))

    return listed("applications", read, as_json=as_json)


@app.command
def suspend(client_id: ClientArgument, /, *, reason: Reason, by: By = None, as_json: Json = False) -> int:
    """Refuse its connections, tokens and calls from now on. Its grants stay."""
    return _do(lambda tx, hand: applications.suspend(tx, client_id, hand), reason, by, as_json=as_json)


@app.command
def reactivate(client_id: ClientArgument, /, *, reason: MaybeReason = None, by: By = None, as_json: Json = False) -> int:
    """Let a suspended application go on."""
    return _do(lambda tx, hand: applications.reactivate(tx, client_id, hand), reason, by, as_json=as_json)


def _do(action: Callable[[Tx, Hand], Awaitable[Deed]], reason: str | None, by: str | None, *, as_json: bool) -> int:
    async def deed(house: House) -> Deed:
        hand = await hand_of(house, reason, by)
        return await house.db.transact(lambda tx: action(tx, hand))

    kept = run(deed)
    if isinstance(kept, int):
        return kept
    print(msgspec.json.encode(kept).decode() if as_json else f"{kept.action} {kept.client_id}")
    talk.print(f"Kept as {kept.action_id}: {kept.operator}, {kept.at}.")
    return 0
