"""The operator's own money on a rail, such as coins for fees: an entry with a reason for what was added or taken."""

from tollhouse.accounts.approvals import record
from tollhouse.accounts.approvals.model import OperatorAction, OperatorContext, OperatorRefusedError
from tollhouse.http.services import Services, Work
from tollhouse.kernel.catalogue.currencies import Currency
from tollhouse.kernel.ids import new_id
from tollhouse.kernel.rails.chain import ChainNetwork
from tollhouse.kernel.text import Text
from tollhouse.ledger.books.model import JournalEntry, Posting, Source, equity, rail
from tollhouse.ledger.books.post import post_platform
from tollhouse.rails.balances import store
from tollhouse.rails.balances.measuring import MeasuredRail

SOURCE = "rail_float"


def ensure_measured(services: Services, rail_name: str, currency: str) -> None:
    """Raise `OperatorRefusedError` unless the rail is configured, is compared with the ledger, and has this currency."""
    found = services.rails.find(rail_name, "live")
    if not isinstance(found, MeasuredRail):
        raise OperatorRefusedError(Text("%(rail)s is no rail that is compared with the ledger.", rail=rail_name))
    carried = found.currencies if isinstance(found, ChainNetwork) else services.catalogue.currencies
    if currency not in carried:
        raise OperatorRefusedError(Text("%(rail)s does not carry %(currency)s.", rail=rail_name, currency=currency))


async def change(
    work: Work, rail_name: str, currency: Currency, amount_minor: int, context: OperatorContext
) -> OperatorAction:
    """Book money that the operator put on a rail, or took from it if the amount is negative, after `ensure_measured`."""
    subject_id = new_id()
    action = await record.record_action(
        work,
        context,
        "rail_float_changed",
        None,
        subject_id=subject_id,
        currency=currency.code,
        amount_minor=amount_minor,
    )
    await store.insert_float(work.tx, action.action_id, rail_name, "live", currency.code, amount_minor, context.at)
    on_rail, own = rail(rail_name), equity("rail_float")
    debit, credit = (on_rail, own) if amount_minor > 0 else (own, on_rail)
    posting = Posting("rail_float", currency.code, abs(amount_minor), debit, credit)
    await post_platform(work, [JournalEntry("live", "rail_float", Source(SOURCE, action.action_id), (posting,))])
    return action
