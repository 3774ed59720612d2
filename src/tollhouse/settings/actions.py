"""Reading and saving the settings of an environment."""

from datetime import datetime

from tollhouse.catalogue import payment_settings
from tollhouse.catalogue.methods import METHODS
from tollhouse.catalogue.payment_settings import MethodChoice, PaymentSettings
from tollhouse.events import secrets
from tollhouse.kernel.clock import stamp_or_none
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.refusals import ValidationFailed
from tollhouse.platform.db import Pool, Tx
from tollhouse.settings.model import NewSettings, SettingsChanged, SettingsView


async def present(db: Pool | Tx, env: MerchantEnv, now: datetime) -> SettingsView:
    """The settings as they are."""
    return await _view(db, env, await payment_settings.of(db, env), now)


async def save(tx: Tx, env: MerchantEnv, new: NewSettings, now: datetime) -> SettingsView:
    """Replace the settings. Raises `ValidationFailed` with every fault, and `SettingsChanged` for a stale version."""
    if faults := new.faults(env):
        raise ValidationFailed(*faults)
    saved = await payment_settings.save(tx, env, new.settings(), now)
    if saved is None:
        raise SettingsChanged((await payment_settings.of(tx, env)).version)
    return await _view(tx, env, saved, now)


async def _view(db: Pool | Tx, env: MerchantEnv, settings: PaymentSettings, now: datetime) -> SettingsView:
    signs = await secrets.state_of(db, env, now)
    ours = [method for method in METHODS.values() if (method.rail == "sandbox") != env.livemode]
    return SettingsView(
        default_currency=settings.default_currency,
        payment_methods=[MethodChoice(method.method_id, settings.offers(method.method_id)) for method in ours],
        link_expiry_minutes=settings.link_expiry_minutes,
        underpayment_tolerance_bps=settings.underpayment_tolerance_bps,
        overpayment=settings.overpayment,
        late_payments=settings.late_payments,
        late_monitoring_days=settings.late_monitoring_days,
        success_url=settings.success_url,
        cancel_url=settings.cancel_url,
        branding=settings.branding,
        confirmations=settings.confirmations,
        version=settings.version,
        updated_at=stamp_or_none(settings.updated_at),
        supported_payment_methods=[method.method_id for method in ours],
        webhook_signing_secret_configured=signs.has_secret,
        mode=env.mode,
        livemode=env.livemode,
    )
