"""The roles of the members of a merchant, and what each may do: guards, pages and `docs/teams.md` read this table.

Each operation of a session names the permission that it needs. The Integration API has scopes instead; who gives a scope to
a key or an application must be allowed to do what it allows.
"""

from collections.abc import Mapping
from typing import Literal, get_args

from tollhouse.kernel import scopes
from tollhouse.kernel.ids import Mode
from tollhouse.kernel.scopes import PERMISSIONS as SCOPES
from tollhouse.kernel.scopes import Scopes

Role = Literal["owner", "administrator", "finance", "support", "developer", "read_only"]
"""What a member may do.

owner: Everything.
administrator: Everything but ownership, closing the account, and administrators.
finance: Money in and out, and reports.
support: Payments, customers, and refunds up to a limit that an owner sets.
developer: Test mode, webhooks, logs, keys and applications, without scopes that write in live mode.
read_only: Reads.
"""
Permission = Literal[
    "own", "read", "payments", "refunds", "proposals", "money", "developers", "connections", "settings", "team", "ownership"
]
MEANINGS: Mapping[Permission, str] = {
    "own": "the own sign-in, notifications and saved filters",
    "read": "everything but secrets; exports and reports",
    "payments": "payment links, payments, disputes, receipts, customers",
    "refunds": "refunds of payments",
    "proposals": "decide on a proposal, if the role may do what it proposes",
    "money": "withdrawals, recipients, conversions, fulfillments, balance payments",
    "developers": "webhooks, API keys, applications",
    "connections": "connect and disconnect applications",
    "settings": "business, projects, payment settings",
    "team": "invite, change and remove members",
    "ownership": "administrators and owners, limits of the team, closing the account",
}
EVERYTHING: frozenset[Permission] = frozenset(MEANINGS)
ALLOWED: Mapping[Role, frozenset[Permission]] = {
    "owner": EVERYTHING,
    "administrator": EVERYTHING - {"ownership"},
    "finance": frozenset({"own", "read", "payments", "refunds", "proposals", "money", "connections"}),
    "support": frozenset({"own", "read", "payments", "refunds", "proposals"}),
    "developer": frozenset({"own", "read", "developers", "connections"}),
    "read_only": frozenset({"own", "read"}),
}
IN_TEST_MODE: Mapping[Role, frozenset[Permission]] = {
    "developer": frozenset({"payments", "refunds", "proposals", "money", "settings"}),
}
"""What a role may do in test mode only."""
ROLES: tuple[Role, ...] = get_args(Role)
NAMES: Mapping[Role, str] = {
    "owner": "Owner",
    "administrator": "Administrator",
    "finance": "Finance",
    "support": "Support",
    "developer": "Developer",
    "read_only": "Read only",
}
"""Titles of the roles, in English."""
READING = scopes.known(scope.scope for scope in SCOPES if scope.access != "write")
"""Scopes that write nothing, and `offline_access`."""
NEEDED: Mapping[str, frozenset[Permission]] = {
    "payments:write": frozenset({"payments", "refunds"}),
    "balance-payments:write": frozenset({"money"}),
    "withdrawals:write": frozenset({"money"}),
    "conversions:write": frozenset({"money"}),
    "fulfillments:write": frozenset({"money"}),
    "webhooks:write": frozenset({"developers"}),
    "settings:write": frozenset({"settings"}),
}
"""What a role may do that gives a scope that writes."""
MANAGED_BY: Mapping[Role, frozenset[Role]] = {
    "owner": frozenset(ROLES),
    "administrator": frozenset(ROLES) - {"owner", "administrator"},
    "finance": frozenset(),
    "support": frozenset(),
    "developer": frozenset(),
    "read_only": frozenset(),
}
"""Whom a member may invite, remove, and change from and to: the roles below the own one; an owner all."""


def may(role: Role, permission: Permission, mode: Mode | None = "live") -> bool:
    """Whether a role may do this in a mode; None: in any mode."""
    return permission in ALLOWED[role] or (mode != "live" and permission in IN_TEST_MODE.get(role, ()))


def who_may(permission: Permission, mode: Mode | None = "live") -> list[Role]:
    """The roles that may do this in a mode."""
    return [role for role in ROLES if may(role, permission, mode)]


def grantable(role: Role, mode: Mode) -> Scopes:
    """The scopes that a role may give to a key or an application: a developer's never write in live mode."""
    if role == "developer" and mode == "live":
        return READING
    writing = (scope for scope, needed in NEEDED.items() if all(may(role, each, mode) for each in needed))
    return READING | scopes.known(writing)
