"""The recipients of earlier withdrawals, to choose from in the form of a new one.

The form names the withdrawal, so that the page of the form never has a whole account number.
"""

from uuid import UUID

from msgspec import Struct

from tollhouse.catalogue.provider_fields import MEMBER
from tollhouse.catalogue.withdrawal_methods import ReceiverType, WithdrawalMethod
from tollhouse.http.paging import all_rows
from tollhouse.http.schema_fields import form_fields, to_values
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import NotFound
from tollhouse.platform.db import Pool
from tollhouse.withdrawals import store
from tollhouse.withdrawals.model import Withdrawal
from tollhouse.withdrawals.store import WithdrawalsQuery

SEARCHED, SHOWN_MAX = 50, 4
"""The latest withdrawals that are looked at, and the most recipients that are shown."""
OF_THE_TRANSFER = frozenset({f"{MEMBER}.reference"})
"""The fields of a method that describe one transfer and not its recipient."""
SPELLED_OUT, GROUP, END = 12, 4, 2
HIDDEN = "\N{BULLET}"


class Recipient(Struct, frozen=True):
    """The recipient of the withdrawal `withdrawal_id`: the values of the form's fields, and what is shown of them."""

    withdrawal_id: UUID
    name: str
    account: str
    values: dict[str, str]


async def list_recipients(db: Pool, env: MerchantEnv, method: WithdrawalMethod) -> list[Recipient]:
    """The latest recipients by this method, each once. Those that the provider did not recognize are left out."""
    latest = await store.list_withdrawals(db, env, WithdrawalsQuery(method_id=method.method_id), all_rows(SEARCHED))
    found: dict[str, Recipient] = {}
    for withdrawal in latest:
        if withdrawal.failure_code != "receiver_invalid":
            found.setdefault(_normalized(withdrawal.receiver), _recipient(withdrawal, method))
    return list(found.values())[:SHOWN_MAX]


async def get_recipient(db: Pool, env: MerchantEnv, method: WithdrawalMethod, withdrawal_id: UUID) -> Recipient:
    """The recipient of a withdrawal by this method. Raises `NotFound`."""
    withdrawal = await store.get(db, env, withdrawal_id)
    if withdrawal.method_id != method.method_id:
        raise NotFound
    return _recipient(withdrawal, method)


def mask(receiver: str, kind: ReceiverType) -> str:
    """`DE12 7605 0101 •••• •••• 42`; an address as `0x71C7…976F01`."""
    if kind == "sandbox":
        return receiver
    account = _normalized(receiver)
    if kind != "iban":
        return f"{account[:6]}…{account[-6:]}"
    shown = min(SPELLED_OUT, (len(account) - GROUP - END) // GROUP * GROUP)
    spelled = account[:shown] + HIDDEN * (len(account) - shown - END) + account[-END:]
    return " ".join(spelled[at : at + GROUP] for at in range(0, len(spelled), GROUP))


def _recipient(withdrawal: Withdrawal, method: WithdrawalMethod) -> Recipient:
    fields = [one for one in form_fields(method.provider_fields, MEMBER) if one.name not in OF_THE_TRANSFER]
    values = to_values(fields, withdrawal.provider_fields) | {"receiver": withdrawal.receiver}
    name = values.get(f"{MEMBER}.account_holder_name", "")
    return Recipient(withdrawal.id, name, mask(withdrawal.receiver, method.receiver_type), values)


def _normalized(receiver: str) -> str:
    return "".join(receiver.split())
