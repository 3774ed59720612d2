"""`tollhouse person`: export and erase what is kept about a person, by email address. See docs/personal-data.md."""

from pathlib import Path
from typing import Annotated

import msgspec
from cyclopts import App, Parameter

from tollhouse.accounts.approvals.model import OperatorAction, OperatorContext
from tollhouse.http.services import Services
from tollhouse.instance.cli.actions import (
    By,
    OptionalReason,
    UsageError,
    can_confirm,
    print_recorded,
    print_rows,
    run,
    run_as,
)
from tollhouse.instance.cli.options import Json, Yes
from tollhouse.instance.personal_data import erasure as erasures_of
from tollhouse.instance.personal_data.erasure import erase_person, plan
from tollhouse.instance.personal_data.export import export_person
from tollhouse.instance.personal_data.model import ErasureRecord, PersonErasure
from tollhouse.kernel import foreign_json
from tollhouse.kernel.actor import OPERATOR
from tollhouse.kernel.foreign_json import ForeignJsonError
from tollhouse.platform import private_files

app = App(name="person", help="Export or erase what is kept about a person. Every export and erasure is recorded.")

Email = Annotated[str, Parameter(help="The email address of a user, a customer or an operator.")]
Output = Annotated[Path, Parameter(help="The file to write. Only its owner can read it; an existing file is kept.")]
WithAccounts = Annotated[
    bool,
    Parameter(negative=(), help="Include names and account numbers of who paid, after you have checked whose they are."),
]


@app.command
def export(
    email: Email,
    /,
    *,
    output: Output,
    with_accounts: WithAccounts = False,
    reason: OptionalReason = None,
    by: By = None,
) -> int:
    """Write everything that is kept about an address to a JSON file, by table."""

    async def write(services: Services, context: OperatorContext) -> OperatorAction:
        with private_files.new(output) as file:
            action, exported = await services.transact(
                lambda work: export_person(work, email, context, with_accounts=with_accounts), context.at, OPERATOR
            )
            file.write(msgspec.json.format(msgspec.json.encode(exported)) + b"\n")
            return action

    action = run_as(write, reason, by)
    if isinstance(action, int):
        return action
    print(output)
    print_recorded(action)
    return 0


@app.command
def erase(
    email: Email,
    /,
    *,
    dry_run: Annotated[bool, Parameter(negative=(), help="Show what would be erased, and erase nothing.")] = False,
    yes: Yes = False,
    reason: OptionalReason = None,
    by: By = None,
    as_json: Json = False,
) -> int:
    """Erase what may be erased about an address, and print it with what must stay and until when."""
    if not (dry_run or yes):
        status = _confirm(email, reason, by)
        if status is not None:
            return status

    async def change(services: Services, context: OperatorContext) -> tuple[OperatorAction | None, PersonErasure]:
        if dry_run:
            return None, await plan(services, email, context)
        return await services.transact(lambda work: erase_person(work, email, context), context.at, OPERATOR)

    done = run_as(change, reason, by)
    if isinstance(done, int):
        return done
    action, erasure = done
    if as_json:
        print(msgspec.json.encode(erasure).decode())
    else:
        _print(erasure)
    if action is not None:
        print_recorded(action, " Keep a new list of erasures outside: `tollhouse person erasures`.")
    return 0


@app.command
def erasures() -> int:
    """Print every erasure as a line of JSON, without the address. Keep them outside: a restored backup needs them."""
    found = run(erasures_of.list_erasures)
    if isinstance(found, int):
        return found
    for one in found:
        print(msgspec.json.encode(one).decode())
    return 0


@app.command
def repeat(
    file: Annotated[Path, Parameter(help="Lines that `tollhouse person erasures` printed.")], /, *, as_json: Json = False
) -> int:
    """List the addresses of a restored database that were erased after its backup. Erase them again."""

    async def find(services: Services) -> list[str]:
        try:
            recorded = [foreign_json.decode(line, ErasureRecord) for line in file.read_bytes().splitlines()]
        except (OSError, ForeignJsonError):
            raise UsageError(f"{file} is not a file that `tollhouse person erasures` wrote.") from None
        return await erasures_of.find_to_repeat(services, recorded)

    return print_rows("addresses", find, as_json=as_json)


def _confirm(email: str, reason: str | None, by: str | None) -> int | None:
    """Show the erasure and let a person type the address. None if it is confirmed, else the exit status."""
    if not can_confirm():
        return 2
    planned = run_as(lambda services, context: plan(services, email, context), reason, by)
    if isinstance(planned, int):
        return planned
    _print(planned)
    if planned.is_empty:
        return 0
    return None if input("Type the address to erase it: ") == email else 1


def _print(erasure: PersonErasure) -> None:
    if erasure.is_empty:
        print("Nothing to erase.")
    for verb, counts in (("deleted", erasure.deleted), ("cleared", erasure.cleared)):
        for name, number in counts.items():
            print(f"{verb}  {name}  {number}")
    for one in erasure.kept:
        print(f"kept  {one.table}  {one.rows}  {one.reason}")
