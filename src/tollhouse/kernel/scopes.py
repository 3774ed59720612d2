"""The permission table. The guard, the consent page, the metadata and the permissions list all read it.

A set of scopes is one integer, in the database too: what a token may do is `token & grant & client`. The bit of a scope is
stored in every grant and key: it stands beside the name here and in the table `scope_bits`, and is never used again.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Literal

from msgspec import Struct

Access = Literal["read", "write", "offline"]
"""What a scope gives access to.

read: Reads data.
write: Changes data or moves money.
offline: Issues refresh tokens.
"""


class Permission(Struct, frozen=True):
    """One scope: its stored bit, name, meaning, kind of access, and the title and consequence the consent page shows."""

    bit: int
    scope: str
    description: str
    access: Access
    title: str
    consequence: str = ""

    @property
    def default_selected(self) -> bool:
        """Write permissions and offline access start unticked."""
        return self.access == "read"


PERMISSIONS: tuple[Permission, ...] = (
    Permission(0, "account:read", "Read the authorized merchant account.", "read", "Read your account"),
    Permission(1, "projects:read", "Read approved projects and payment methods.", "read", "Read projects"),
    Permission(2, "payments:read", "Read payment links and transactions.", "read", "Read payments"),
    Permission(
        3,
        "payments:write",
        "Create and cancel payment links; refund eligible payments.",
        "write",
        "Create payment links and refunds",
        "It can refund payments from your balance.",
    ),
    Permission(4, "balances:read", "Read balances and ledger entries.", "read", "Read balances"),
    Permission(5, "balance-payments:read", "Read internal payments to this application.", "read", "Read balance payments"),
    Permission(
        6,
        "balance-payments:write",
        "Reserve funds, pay the application owner, refund internally.",
        "write",
        "Charge your balance",
        "It can move money from your balance to the owner of this application.",
    ),
    Permission(7, "withdrawals:read", "Read payout methods, quotes and withdrawals.", "read", "Read withdrawals"),
    Permission(
        8,
        "withdrawals:write",
        "Create and cancel withdrawals.",
        "write",
        "Withdraw funds",
        "It can withdraw your funds to an address it chooses.",
    ),
    Permission(9, "conversions:read", "Read pairs, quotes and conversions.", "read", "Read conversions"),
    Permission(
        10,
        "conversions:write",
        "Convert funds and manage conversion rules.",
        "write",
        "Convert funds",
        "It can convert your funds between currencies, once or by automatic rules.",
    ),
    Permission(11, "fulfillments:read", "Read in-game currency deliveries and statistics.", "read", "Read fulfillments"),
    Permission(
        12,
        "fulfillments:write",
        "Create deliveries using merchant funds.",
        "write",
        "Create fulfillments",
        "It can spend your balance on in-game currency.",
    ),
    Permission(13, "webhooks:read", "Read webhook configuration and delivery history.", "read", "Read webhooks"),
    Permission(
        14,
        "webhooks:write",
        "Manage configuration, test, rotate secrets, redeliver events.",
        "write",
        "Manage webhooks",
        "It can change where your events are sent and replace the signing secret.",
    ),
    Permission(15, "settings:read", "Read integration settings and supported payment methods.", "read", "Read settings"),
    Permission(
        16,
        "settings:write",
        "Update integration settings.",
        "write",
        "Change settings",
        "It can change how your checkout behaves.",
    ),
    Permission(17, "reports:read", "Read financial summary reports.", "read", "Read reports"),
    Permission(
        18,
        "offline_access",
        "Issue refresh tokens; requires at least one API permission.",
        "offline",
        "Stay connected when you are away",
        "Without this, its access ends after at most 15 minutes.",
    ),
)

_BIT = {permission.scope: 1 << permission.bit for permission in PERMISSIONS}


class Scopes(Struct, frozen=True):
    """A checked set of scopes. Only `parse` and the constants below make one from names."""

    mask: int

    def __and__(self, other: "Scopes") -> "Scopes":
        """What both sets hold."""
        return Scopes(self.mask & other.mask)

    def __or__(self, other: "Scopes") -> "Scopes":
        """What either set holds."""
        return Scopes(self.mask | other.mask)

    def __sub__(self, other: "Scopes") -> "Scopes":
        """What this set holds and the other does not."""
        return Scopes(self.mask & ~other.mask)

    def __bool__(self) -> bool:
        """Whether anything is in it."""
        return self.mask != 0

    def __iter__(self) -> Iterator[str]:
        """The names, in the order of the permission table."""
        return iter(_names(self.mask))

    def __contains__(self, name: str) -> bool:
        """Whether the scope of this exact, case-sensitive name is in the set."""
        return bool(self.mask & _BIT.get(name, 0))

    def within(self, other: "Scopes") -> bool:
        """Whether the other set holds all of this one."""
        return self.mask & ~other.mask == 0

    @property
    def has_api(self) -> bool:
        """Whether there is a permission beside offline access."""
        return bool(self.mask & API.mask)

    def names(self) -> list[str]:
        """The names as answers list them."""
        return list(self)

    def text(self) -> str:
        """The names separated by spaces, as token responses and challenges show them."""
        return " ".join(self)


@lru_cache(maxsize=4096)
def _names(mask: int) -> tuple[str, ...]:
    return tuple(name for name, bit in _BIT.items() if mask & bit)


def parse(names: Iterable[str]) -> Scopes | None:
    """The set of these names; None when one of them is no scope. Repeats count once."""
    mask = 0
    for name in names:
        bit = _BIT.get(name)
        if bit is None:
            return None
        mask |= bit
    return Scopes(mask)


def known(names: Iterable[str]) -> Scopes:
    """The set of those names that are scopes."""
    return Scopes(sum(_BIT[name] for name in {*names} & {*_BIT}))


ALL = Scopes(sum(_BIT.values()))
OFFLINE = Scopes(_BIT["offline_access"])
API = ALL - OFFLINE
"""Everything an API key may hold, and its default."""
WRITES = known(permission.scope for permission in PERMISSIONS if permission.access == "write")
"""What changes data or moves money."""
