"""The decimals of a currency, held for ever from the first start with it: what is stored is counted in them."""

from tollhouse.catalogue import scales_store
from tollhouse.catalogue.currencies import CURRENCIES
from tollhouse.platform.config import SettingsRefusedError
from tollhouse.platform.db import Pool


async def hold(db: Pool) -> None:
    """Keep the decimals of every currency. Raises `SettingsRefusedError` where the database counts otherwise."""
    scales = {code: currency.decimals for code, currency in CURRENCIES.items()}
    if changed := await scales_store.changed(db, scales):
        raise SettingsRefusedError(
            [
                f"TOLLHOUSE_CATALOGUE_FILE currencies.{row['code']}: this database counts it in {row['decimals']} decimals, "
                "so it must stay so; switch its operations off to end its use"
                for row in changed
            ]
        )
    await scales_store.hold(db, scales)
