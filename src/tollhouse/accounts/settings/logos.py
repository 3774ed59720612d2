"""Uploading and removing the logo of an environment: it becomes the `logo_url` of its branding."""

import msgspec

from tollhouse.accounts.environments import logos_store, payment_settings
from tollhouse.accounts.environments.logos_model import Logo
from tollhouse.accounts.settings import actions
from tollhouse.http.services import Work
from tollhouse.kernel.environment import MerchantEnv


async def set_logo(work: Work, env: MerchantEnv, logo: Logo | None) -> None:
    """Show this logo at checkout, or none. Raises `SettingsChanged` if the settings are saved at the same time."""
    await logos_store.lock_merchant(work.tx, env.merchant_id)
    if logo is not None:
        await logos_store.insert(work.tx, env.merchant_id, logo, work.now)
    before = await payment_settings.of(work.tx, env)
    branding = msgspec.structs.replace(before.branding, logo_url=None if logo is None else logo.path)
    await actions.replace(work, env, before, msgspec.structs.replace(before, branding=branding))
