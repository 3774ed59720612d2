"""Reading and saving the settings of an environment, and its logo, which is the `logo_url` of its branding."""

from collections.abc import Mapping
from typing import Any

import msgspec

from tollhouse.accounts.audit import record
from tollhouse.accounts.audit.model import changes
from tollhouse.accounts.environments import payment_settings, settings_store
from tollhouse.accounts.environments.logos_model import Logo, digest_of, shown_url
from tollhouse.accounts.environments.payment_settings import MethodChoice, PaymentSettings
from tollhouse.accounts.settings.model import NewSettings, SettingsChanged, SettingsView
from tollhouse.http.services import Services, Work
from tollhouse.kernel import messages
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.catalogue.methods import Method
from tollhouse.kernel.clock import stamp_or_none
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import FieldError, ValidationFailed
from tollhouse.platform.database.pool import Pool, Tx


async def get(services: Services, env: MerchantEnv) -> SettingsView:
    """The current settings."""
    return await _view(services.db, env, await payment_settings.of(services.db, env), services)


async def save(work: Work, env: MerchantEnv, new: NewSettings) -> SettingsView:
    """Replace the settings. Raises `ValidationFailed`, and `SettingsChanged` for a stale version."""
    if field_errors := new.field_errors(env, work.services.catalogue, work.services.settings.base_url):
        raise ValidationFailed(*field_errors)
    before = await payment_settings.of(work.tx, env)
    saved = await replace(work, env, before, new.settings(work.services.settings.base_url))
    return await _view(work.tx, env, saved, work.services)


async def replace(work: Work, env: MerchantEnv, before: PaymentSettings, new: PaymentSettings) -> PaymentSettings:
    """Replace settings, and delete logos that become unused.

    Raises `SettingsChanged`, and `ValidationFailed` for a logo that the merchant has not uploaded.
    """
    is_other_logo = new.branding.logo_url != before.branding.logo_url
    if is_other_logo:
        await settings_store.lock_merchant(work.tx, env.merchant_id)
    saved = await payment_settings.save(work.tx, env, new, work.now)
    if saved is None:
        raise SettingsChanged((await payment_settings.of(work.tx, env)).version)
    if is_other_logo:
        digest = digest_of(new.branding.logo_url)
        if digest is not None and not await settings_store.owns_logo(work.tx, env.merchant_id, digest):
            raise ValidationFailed(FieldError("branding.logo_url", "unknown_logo", messages.AN_UPLOADED_LOGO))
        await settings_store.delete_unused_logos(work.tx, env.merchant_id)
    await record.event(
        work,
        env,
        "settings.payments_saved",
        changed=changes(
            _audited_fields(before, env, work.services.catalogue), _audited_fields(saved, env, work.services.catalogue)
        ),
    )
    return saved


async def _view(db: Pool | Tx, env: MerchantEnv, settings: PaymentSettings, services: Services) -> SettingsView:
    has_secret = await settings_store.has_signing_secret(db, env)
    methods = _methods_of(env, services.catalogue)
    logo_url = shown_url(settings.branding.logo_url, services.settings.base_url)
    shown: dict[str, Any] = msgspec.structs.asdict(settings) | {
        "payment_methods": [MethodChoice(method.method_id, settings.offers(method.method_id)) for method in methods],
        "branding": msgspec.structs.replace(settings.branding, logo_url=logo_url),
        "additional_currencies": list(settings.additional_currencies),
        "updated_at": stamp_or_none(settings.updated_at),
    }
    return SettingsView(
        **shown,
        supported_payment_methods=[method.method_id for method in methods],
        webhook_signing_secret_configured=has_secret,
        mode=env.mode,
        livemode=env.livemode,
    )


def _methods_of(env: MerchantEnv, catalogue: Catalogue) -> list[Method]:
    return [method for method in catalogue.methods.values() if method.mode == env.mode]


def _audited_fields(settings: PaymentSettings, env: MerchantEnv, catalogue: Catalogue) -> Mapping[str, object]:
    """The fields whose changes the audit log shows; the offered methods as one list."""
    fields = msgspec.structs.asdict(settings)
    offered = [method.method_id for method in _methods_of(env, catalogue) if settings.offers(method.method_id)]
    return {name: fields[name] for name in fields if name not in {"version", "updated_at"}} | {"payment_methods": offered}


async def set_logo(work: Work, env: MerchantEnv, logo: Logo | None) -> None:
    """Show this logo at checkout, or none. Raises `SettingsChanged` if the settings are saved at the same time."""
    await settings_store.lock_merchant(work.tx, env.merchant_id)
    if logo is not None:
        await settings_store.insert_logo(work.tx, env.merchant_id, logo, work.now)
    before = await payment_settings.of(work.tx, env)
    branding = msgspec.structs.replace(before.branding, logo_url=None if logo is None else logo.path)
    await replace(work, env, before, msgspec.structs.replace(before, branding=branding))
