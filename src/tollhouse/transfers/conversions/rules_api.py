"""Conversion rules in the Integration API."""

from uuid import UUID

from msgspec import Struct

from tollhouse.accounts.identity.guards import scope
from tollhouse.accounts.identity.model import Caller
from tollhouse.http.lists import ListPageRequest
from tollhouse.http.operations import INTEGRATION, Operations
from tollhouse.http.services import Work
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.errors import NotFound, ValidationFailed
from tollhouse.platform.database.pool import Pool
from tollhouse.transfers.conversions import rules, rules_store
from tollhouse.transfers.conversions.errors import RuleChanged, RuleConflict
from tollhouse.transfers.conversions.model import RuleCreator
from tollhouse.transfers.conversions.rules import ConversionRuleUpdate, NewConversionRule
from tollhouse.transfers.conversions.views import ConversionRuleView
from tollhouse.transfers.orders.errors import CurrencyNotSupported

OPERATIONS = Operations(INTEGRATION)


class ConversionRuleList(Struct, frozen=True):
    """A page of rules."""

    conversion_rules: list[ConversionRuleView]
    has_more: bool
    next_cursor: str | None


@OPERATIONS.add("GET", "/conversion-rules", guard=scope("conversions:read"))
async def list_rules(caller: Caller, page: ListPageRequest, db: Pool, catalogue: Catalogue) -> ConversionRuleList:
    """List conversion rules. Newest first."""
    found, more, cursor = page.cut(await rules_store.list_rules(db, caller.env, page.window))
    return ConversionRuleList([ConversionRuleView.of(one, catalogue) for one in found], more, cursor)


@OPERATIONS.add(
    "POST",
    "/conversion-rules",
    guard=scope("conversions:write"),
    status=201,
    idempotency="honoured",
    errors=(ValidationFailed, CurrencyNotSupported, RuleConflict),
)
async def make_rule(caller: Caller, body: NewConversionRule, work: Work) -> ConversionRuleView:
    """Create a conversion rule. It converts a share of each payment, or of the balance when it reaches a threshold."""
    created_by = RuleCreator("api_key") if caller.client_id is None else RuleCreator("oauth", caller.client_id)
    return ConversionRuleView.of(await rules.create(work, caller.env, created_by, body), work.services.catalogue)


@OPERATIONS.add("GET", "/conversion-rules/{rule_id}", guard=scope("conversions:read"), errors=(NotFound,))
async def read_rule(caller: Caller, rule_id: UUID, db: Pool, catalogue: Catalogue) -> ConversionRuleView:
    """Retrieve a conversion rule."""
    return ConversionRuleView.of(await rules_store.get(db, caller.env, rule_id), catalogue)


@OPERATIONS.add(
    "PUT",
    "/conversion-rules/{rule_id}",
    guard=scope("conversions:write"),
    errors=(NotFound, ValidationFailed, CurrencyNotSupported, RuleChanged, RuleConflict),
)
async def change_rule(caller: Caller, rule_id: UUID, body: ConversionRuleUpdate, work: Work) -> ConversionRuleView:
    """Update a conversion rule. Send all members."""
    return ConversionRuleView.of(await rules.update(work, caller.env, rule_id, body), work.services.catalogue)


@OPERATIONS.add("DELETE", "/conversion-rules/{rule_id}", guard=scope("conversions:write"), errors=(NotFound,))
async def end_rule(caller: Caller, rule_id: UUID, work: Work) -> ConversionRuleView:
    """Delete a conversion rule. Its conversions are kept."""
    return ConversionRuleView.of(await rules.delete(work, caller.env, rule_id), work.services.catalogue)
