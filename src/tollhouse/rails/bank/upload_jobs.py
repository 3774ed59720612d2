"""What the worker does about the bank: it imports the files that operators have uploaded."""

from datetime import timedelta

from tollhouse.http.services import Services
from tollhouse.kernel import clock
from tollhouse.rails.bank import channel, imports, messages_store
from tollhouse.rails.bank.files.transfer import bank_account
from tollhouse.rails.bank.operator_ports import BANK_PORTS

ANNOUNCED_FOR = timedelta(days=30)


async def delete_old_announcements(services: Services) -> None:
    """Delete announced transfers that no page shows any more."""
    await messages_store.delete_announced_before(services.db, clock.now() - ANNOUNCED_FOR)


async def import_statements(services: Services) -> None:
    """Import all files that wait, one after the other."""
    account = bank_account(services.settings)
    while await imports.advance(account, BANK_PORTS, services):
        pass


async def fetch_from_bank(services: Services) -> None:
    """Fetch and import files by the channel to the bank, if there is one."""
    await channel.fetch(services, BANK_PORTS)


async def send_to_bank(services: Services) -> None:
    """Send exported batches by the channel to the bank, if there is one."""
    await channel.send_batches(services)
