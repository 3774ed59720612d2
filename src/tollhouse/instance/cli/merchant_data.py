"""`tollhouse merchant`: export everything of a merchant, or close and erase it. See docs/personal-data.md."""

from pathlib import Path
from typing import Annotated

import msgspec
from cyclopts import App, Parameter

from tollhouse.accounts.approvals.model import OperatorAction, OperatorContext
from tollhouse.http.services import Services
from tollhouse.instance.cli.actions import By, MerchantArgument, OptionalReason, Reason, can_confirm, print_recorded, run_as
from tollhouse.instance.cli.options import Json, Yes, stderr
from tollhouse.instance.personal_data.merchant_erasure import ensure_erasable, erase_merchant
from tollhouse.instance.personal_data.merchant_export import ExportContents, export_merchant
from tollhouse.instance.personal_data.model import MerchantErasure
from tollhouse.kernel.actor import OPERATOR
from tollhouse.kernel.ids import MerchantId

app = App(name="merchant", help="Export or erase a merchant. Every export and erasure is recorded.")
Output = Annotated[Path, Parameter(help="The ZIP file to write. Only its owner can read it; an existing file is kept.")]


@app.command
def export(
    merchant_id: MerchantArgument,
    /,
    *,
    output: Output,
    reason: OptionalReason = None,
    by: By = None,
    as_json: Json = False,
) -> int:
    """Write everything of a merchant to a ZIP of JSON Lines, one file for each table, without secrets."""
    with stderr.status("Exporting") as status:

        def show(name: str, rows: int) -> None:
            status.update(f"{name}: {rows:,} rows")

        async def write(services: Services, context: OperatorContext) -> tuple[OperatorAction, ExportContents]:
            return await export_merchant(services, merchant_id, output, context, show)

        done = run_as(write, reason, by)
    if isinstance(done, int):
        return done
    action, contents = done
    print(msgspec.json.encode(contents).decode() if as_json else output)
    print_recorded(action, f" {sum(contents.rows.values()):,} rows.")
    return 0


@app.command
def erase(
    merchant_id: MerchantArgument,
    /,
    *,
    reason: Reason,
    dry_run: Annotated[bool, Parameter(negative=(), help="Only say whether the merchant can be erased.")] = False,
    yes: Yes = False,
    by: By = None,
    as_json: Json = False,
) -> int:
    """Close a suspended merchant for good and erase its people, name and customers' addresses. Its books stay.

    Refused while there is a balance, or anything is unfinished, in live mode. If it is interrupted, run it again.
    """
    if not (dry_run or yes) and (status := _confirm(str(merchant_id))):
        return status

    async def change(services: Services, context: OperatorContext) -> tuple[OperatorAction | None, MerchantErasure | None]:
        if dry_run:
            await services.transact(lambda work: ensure_erasable(work, MerchantId(merchant_id)), context.at, OPERATOR)
            return None, None
        return await erase_merchant(services, merchant_id, context)

    done = run_as(change, reason, by)
    if isinstance(done, int):
        return done
    action, erasure = done
    if erasure is None:
        print("The merchant can be erased.")
    elif as_json:
        print(msgspec.json.encode(erasure).decode())
    else:
        _print(erasure)
    if action is not None:
        print_recorded(action)
    return 0


def _confirm(merchant_id: str) -> int:
    """Let a person type the ID. Returns 0 if it is confirmed, else the exit status."""
    if not can_confirm():
        return 2
    return 0 if input("A merchant that was erased cannot be opened again. Type its ID: ") == merchant_id else 1


def _print(erasure: MerchantErasure) -> None:
    for table, rows in erasure.deleted.items():
        print(f"deleted  {table}  {rows}")
    print(f"cleared  payment_links.customer_email  {erasure.links_cleared}")
