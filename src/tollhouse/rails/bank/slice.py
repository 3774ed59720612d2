"""What this package registers: see `http.slice`."""

from tollhouse.http.slice import CONTINUOUS_S, HOURLY_S, Job, Slice
from tollhouse.platform.settings.config import Settings
from tollhouse.rails.bank import channel, imports
from tollhouse.rails.bank.files.transfer import BankTransfer, bank_account
from tollhouse.rails.bank.invariants_store import INVARIANTS
from tollhouse.rails.rail import Rail

CHANNEL_S = 5
"""How often the folders of the channel to the bank are looked at, and exported batches sent."""

SLICE = Slice(
    jobs=(
        Job(CONTINUOUS_S, imports.import_waiting),
        Job(CHANNEL_S, channel.fetch),
        Job(CHANNEL_S, channel.send_batches),
        Job(HOURLY_S, imports.delete_old_announcements),
    ),
    invariants=INVARIANTS,
)


def bank_rail(settings: Settings) -> BankTransfer | None:
    """The bank, if the settings have its account."""
    account = bank_account(settings)
    return None if account is None else BankTransfer(account)


RAIL = Rail(slice=SLICE, built_in=bank_rail)
