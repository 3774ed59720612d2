"""Keeps the decimals of a currency fixed once amounts are stored in it."""

from tollhouse.instance.catalogue import scales_store
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.platform.database.pool import Pool
from tollhouse.platform.settings.config import InvalidSettingsError


async def verify_scales(db: Pool, catalogue: Catalogue) -> None:
    """Store the decimals of new currencies. Raises `InvalidSettingsError` if those of a stored one changed."""
    scales = {code: currency.decimals for code, currency in catalogue.currencies.items()}
    if changed := await scales_store.list_changed(db, scales):
        raise InvalidSettingsError(
            [
                f"TOLLHOUSE_CATALOGUE_FILE currencies.{row['code']}: amounts in the database have {row['decimals']} "
                "decimals, which cannot change. To stop using the currency, turn off its operations."
                for row in changed
            ]
        )
    await scales_store.insert_new(db, scales)
