"""Conversion rules as the Integration API offers them."""

from datetime import datetime
from uuid import UUID

from msgspec import Struct

from tollhouse.conversions import rules, rules_store
from tollhouse.conversions.errors import RuleChanged, RuleConflict
from tollhouse.conversions.model import CreatedBy
from tollhouse.conversions.rules import ChangedRule, NewRule
from tollhouse.conversions.views import RuleView, rule_view
from tollhouse.http.lists import ListPart
from tollhouse.http.operations import INTEGRATION, Operations
from tollhouse.http.services import Services
from tollhouse.identity.guards import scope
from tollhouse.identity.model import Caller
from tollhouse.kernel.errors import NotFound, ValidationFailed
from tollhouse.orders.errors import CurrencyNotSupported
from tollhouse.platform.db import Pool, Tx

OPERATIONS = Operations(INTEGRATION)


class RulesAnswer(Struct, frozen=True):
    """A page of rules."""

    conversion_rules: list[RuleView]
    has_more: bool
    next_cursor: str | None


@OPERATIONS.add("GET", "/conversion-rules", guard=scope("conversions:read"))
async def list_rules(caller: Caller, part: ListPart, db: Pool) -> RulesAnswer:
    """List conversion rules, newest first."""
    found, more, cursor = part.cut(await rules_store.listed(db, caller.env, part.window))
    return RulesAnswer([rule_view(one) for one in found], more, cursor)


@OPERATIONS.add(
    "POST",
    "/conversion-rules",
    guard=scope("conversions:write"),
    status=201,
    idempotency="honoured",
    errors=(ValidationFailed, CurrencyNotSupported, RuleConflict),
)
async def make_rule(caller: Caller, body: NewRule, tx: Tx, now: datetime, services: Services) -> RuleView:
    """Convert by itself from now on: a share of each payment, or of the balance when it reaches a threshold."""
    created_by = CreatedBy("api_key") if caller.client_id is None else CreatedBy("oauth", caller.client_id)
    return rule_view(await rules.make(tx, caller.env, created_by, body, services, now))


@OPERATIONS.add("GET", "/conversion-rules/{rule_id}", guard=scope("conversions:read"), errors=(NotFound,))
async def read_rule(caller: Caller, rule_id: UUID, db: Pool) -> RuleView:
    """Read a conversion rule."""
    found = await rules_store.one(db, caller.env, rule_id)
    if found is None:
        raise NotFound
    return rule_view(found)


@OPERATIONS.add(
    "PUT",
    "/conversion-rules/{rule_id}",
    guard=scope("conversions:write"),
    errors=(NotFound, ValidationFailed, CurrencyNotSupported, RuleChanged, RuleConflict),
)
async def change_rule(
    caller: Caller, rule_id: UUID, body: ChangedRule, tx: Tx, now: datetime, services: Services
) -> RuleView:
    """Replace a conversion rule."""
    return rule_view(await rules.change(tx, caller.env, rule_id, body, services, now))


@OPERATIONS.add("DELETE", "/conversion-rules/{rule_id}", guard=scope("conversions:write"), errors=(NotFound,))
async def end_rule(caller: Caller, rule_id: UUID, tx: Tx, now: datetime) -> RuleView:
    """Delete a conversion rule; what it converted stays."""
    return rule_view(await rules.end(tx, caller.env, rule_id, now))
