"""`tollhouse person` and `tollhouse merchant`: export and erase what is kept about them. See docs/personal-data.md."""

from pathlib import Path
from typing import Annotated

import msgspec
from cyclopts import App, Parameter

from tollhouse.accounts.approvals.model import OperatorAction, OperatorContext
from tollhouse.http.services import Services
from tollhouse.instance.cli.actions import (
    NO_REASON,
    REASON,
    By,
    MerchantArgument,
    UsageError,
    WithOptionalReason,
    WithReason,
    can_confirm,
    print_recorded,
    print_rows,
    run,
    run_as,
)
from tollhouse.instance.cli.options import Json, Yes, stderr
from tollhouse.instance.personal_data.merchants import ExportContents, ensure_erasable, erase_merchant, export_merchant
from tollhouse.instance.personal_data.model import ErasureRecord, MerchantErasure, PersonErasure
from tollhouse.instance.personal_data.persons import erase_person, export_person, find_to_repeat, list_erasures, plan
from tollhouse.kernel import foreign_json
from tollhouse.kernel.actor import OPERATOR
from tollhouse.kernel.foreign_json import ForeignJsonError
from tollhouse.kernel.ids import MerchantId
from tollhouse.platform import private_files

person = App(name="person", help="Export or erase what is kept about a person. Every export and erasure is recorded.")
merchant = App(name="merchant", help="Export or erase a merchant. Every export and erasure is recorded.")

Email = Annotated[str, Parameter(help="The email address of a user, a customer or an operator.")]
Output = Annotated[Path, Parameter(help="The file to write. Only its owner can read it; an existing file is kept.")]
ZipOutput = Annotated[Path, Parameter(help="The ZIP file to write. Only its owner can read it; an existing file is kept.")]
WithAccounts = Annotated[
    bool,
    Parameter(negative=(), help="Include names and account numbers of who paid, after you have checked whose they are."),
]


@person.command(name="export")
def export_data_of_person(
    email: Email,
    /,
    *,
    output: Output,
    with_accounts: WithAccounts = False,
    reason: Annotated[str | None, REASON] = None,
    by: By = None,
) -> None:
    """Write everything that is kept about an address to a JSON file, by table."""

    async def write(services: Services, context: OperatorContext) -> OperatorAction:
        with private_files.new(output) as file:
            action, exported = await services.transact(
                lambda work: export_person(work, email, context, with_accounts=with_accounts), context.at, OPERATOR
            )
            file.write(msgspec.json.format(msgspec.json.encode(exported)) + b"\n")
            return action

    action = run_as(write, WithOptionalReason(by=by, reason=reason))
    print(output)
    print_recorded(action)


@person.command(name="erase")
def erase_data_of_person(
    email: Email,
    /,
    *,
    dry_run: Annotated[bool, Parameter(negative=(), help="Show what would be erased, and erase nothing.")] = False,
    yes: Yes = False,
    options: WithOptionalReason = NO_REASON,
) -> int:
    """Erase what may be erased about an address, and print it with what must stay and until when."""
    if not (dry_run or yes):
        if not can_confirm():
            return 2
        planned = run_as(lambda services, context: plan(services, email, context), options)
        _print_erasure(planned)
        if planned.is_empty:
            return 0
        if input("Type the address to erase it: ") != email:
            return 1

    async def change(services: Services, context: OperatorContext) -> tuple[OperatorAction | None, PersonErasure]:
        if dry_run:
            return None, await plan(services, email, context)
        return await services.transact(lambda work: erase_person(work, email, context), context.at, OPERATOR)

    action, erasure = run_as(change, options)
    if options.as_json:
        print(msgspec.json.encode(erasure).decode())
    else:
        _print_erasure(erasure)
    if action is not None:
        print_recorded(action, " Keep a new list of erasures outside: `tollhouse person erasures`.")
    return 0


@person.command
def erasures() -> None:
    """Print every erasure as a line of JSON, without the address. Keep them outside: a restored backup needs them."""
    for erasure in run(list_erasures):
        print(msgspec.json.encode(erasure).decode())


@person.command
def repeat(
    file: Annotated[Path, Parameter(help="Lines that `tollhouse person erasures` printed.")], /, *, as_json: Json = False
) -> None:
    """List the addresses of a restored database that were erased after its backup. Erase them again."""

    async def find(services: Services) -> list[str]:
        try:
            recorded = [foreign_json.decode(line, ErasureRecord) for line in file.read_bytes().splitlines()]
        except (OSError, ForeignJsonError):
            raise UsageError(f"{file} is not a file that `tollhouse person erasures` wrote.") from None
        return await find_to_repeat(services, recorded)

    print_rows("addresses", find, as_json=as_json)


@merchant.command(name="export")
def export_data_of_merchant(
    merchant_id: MerchantArgument, /, *, output: ZipOutput, options: WithOptionalReason = NO_REASON
) -> None:
    """Write everything of a merchant to a ZIP of JSON Lines, one file for each table, without secrets."""
    with stderr.status("Exporting") as status:

        def show(name: str, rows: int) -> None:
            status.update(f"{name}: {rows:,} rows")

        async def write(services: Services, context: OperatorContext) -> tuple[OperatorAction, ExportContents]:
            return await export_merchant(services, merchant_id, output, context, show)

        action, contents = run_as(write, options)
    print(msgspec.json.encode(contents).decode() if options.as_json else output)
    print_recorded(action, f" {sum(contents.rows.values()):,} rows.")


@merchant.command(name="erase")
def erase_data_of_merchant(
    merchant_id: MerchantArgument,
    /,
    *,
    options: WithReason,
    dry_run: Annotated[bool, Parameter(negative=(), help="Only say whether the merchant can be erased.")] = False,
    yes: Yes = False,
) -> int:
    """Close a suspended merchant for good and erase its people, name and customers' addresses. Its books stay.

    Refused while there is a balance, or anything is unfinished, in live mode. If it is interrupted, run it again.
    """
    if not (dry_run or yes):
        if not can_confirm():
            return 2
        if input("A merchant that was erased cannot be opened again. Type its ID: ") != str(merchant_id):
            return 1

    async def change(services: Services, context: OperatorContext) -> tuple[OperatorAction | None, MerchantErasure | None]:
        if dry_run:
            await services.transact(lambda work: ensure_erasable(work, MerchantId(merchant_id)), context.at, OPERATOR)
            return None, None
        return await erase_merchant(services, merchant_id, context)

    action, erasure = run_as(change, options)
    if erasure is None:
        print("The merchant can be erased.")
    elif options.as_json:
        print(msgspec.json.encode(erasure).decode())
    else:
        for table, rows in erasure.deleted.items():
            print(f"deleted  {table}  {rows}")
        print(f"cleared  payment_links.customer_email  {erasure.links_cleared}")
    if action is not None:
        print_recorded(action)
    return 0


def _print_erasure(erasure: PersonErasure) -> None:
    if erasure.is_empty:
        print("Nothing to erase.")
    for verb, counts in (("deleted", erasure.deleted), ("cleared", erasure.cleared)):
        for name, number in counts.items():
            print(f"{verb}  {name}  {number}")
    for kept in erasure.kept:
        print(f"kept  {kept.table}  {kept.rows}  {kept.reason}")
