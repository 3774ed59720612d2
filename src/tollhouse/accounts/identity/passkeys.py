"""The passkeys of an account: adding, renaming and removing them, each recorded and announced by email."""

from collections.abc import Iterable
from typing import Annotated, Literal, Self
from uuid import UUID

from msgspec import UNSET, Struct, UnsetType, structs

from tollhouse.accounts.audit import record
from tollhouse.accounts.audit.event_types import AuditEventType
from tollhouse.accounts.identity import assertions, operators_store, second_factor_store, sessions, sessions_store
from tollhouse.accounts.identity import passkeys_store as store
from tollhouse.accounts.identity import webauthn_model as webauthn
from tollhouse.accounts.identity.assertions import Holder
from tollhouse.accounts.identity.passkeys_store import Passkey
from tollhouse.accounts.identity.second_factor import lock_factors, replace_backup_codes
from tollhouse.accounts.identity.stepup import require_recent
from tollhouse.accounts.identity.webauthn_model import (
    CreationOptions,
    PasskeyRegistration,
    RelyingParty,
    RelyingPartyEntity,
    UserEntity,
)
from tollhouse.accounts.mail import store as outbox
from tollhouse.accounts.mail.model import Email, EmailKind, mail_name
from tollhouse.http.bodies import ValidationContext
from tollhouse.http.request import Request
from tollhouse.http.services import Work
from tollhouse.kernel import base64url, messages
from tollhouse.kernel.clock import Timestamp, stamp, stamp_or_none
from tollhouse.kernel.errors import ApiError, AuthenticationRequired, FieldError, NotFound, ValidationFailed
from tollhouse.kernel.examples import example
from tollhouse.kernel.ids import new_id
from tollhouse.kernel.limits import PASSKEY_NAME_CHARS_MAX, PASSKEYS_MAX
from tollhouse.kernel.names import is_readable
from tollhouse.kernel.text import Text

NAME = example("Work laptop")
SITE = "Tollhouse"


class PasskeyName(Struct, frozen=True, forbid_unknown_fields=True):
    """A new name of a passkey."""

    name: Annotated[str, NAME]
    """What you call it."""

    def rule_errors(self, _context: ValidationContext) -> Iterable[FieldError]:
        """The errors of the name."""
        return name_errors(self.name)


class NewPasskey(PasskeyName, frozen=True, forbid_unknown_fields=True):
    """The body of a new passkey."""

    credential: PasskeyRegistration
    """What `navigator.credentials.create()` returned, by `toJSON()`."""


class PasskeyView(Struct, frozen=True, kw_only=True):
    """A passkey."""

    passkey_id: UUID
    name: Annotated[str, NAME]
    """What the owner calls it."""
    created_at: Timestamp
    last_used_at: Timestamp | None
    """When it was last used; null if never."""
    backed_up: bool
    """Whether its owner has it on several devices, as their password manager says."""
    works_here: bool
    """Whether it works at the current address of the server; one that was created at another host does not."""

    @classmethod
    def of(cls, passkey: Passkey, party: RelyingParty | None) -> Self:
        """The view of a passkey."""
        return cls(
            passkey_id=passkey.id,
            name=passkey.name,
            created_at=stamp(passkey.created_at),
            last_used_at=stamp_or_none(passkey.last_used_at),
            backed_up=passkey.backed_up,
            works_here=party is not None and passkey.rp_id == party.id,
        )


class NewPasskeyView(PasskeyView, frozen=True, kw_only=True):
    """A new passkey. `backup_codes` are there if it turned two-factor authentication on."""

    backup_codes: Annotated[list[str] | UnsetType, example(["ab23-cd45-ef67-gh89"])] = UNSET
    """Codes to sign in with, beside the password, without the passkey; each works once. They are not shown again."""


class PasskeyList(Struct, frozen=True):
    """The passkeys of the user, oldest first."""

    passkeys: list[PasskeyView]


class TooManyPasskeys(ApiError):
    """409: the account has as many passkeys as it may."""

    code, status = "too_many_passkeys", 409
    message = Text("You have %(most)s passkeys, which is the maximum. Remove one first.", most=PASSKEYS_MAX)
    solution = "Remove a passkey that is not used."


class PasskeyExists(ApiError):
    """409: this credential is registered."""

    code, status = "passkey_exists", 409
    message = "This passkey was added already. Use another device or password manager."
    solution = "Request new options, which name the passkeys that exist."


def name_errors(name: str) -> list[FieldError]:
    """The errors of the name of a passkey."""
    if 1 <= len(name.strip()) <= PASSKEY_NAME_CHARS_MAX and is_readable(name):
        return []
    return [FieldError("name", "invalid_value", messages.plain_text(1, PASSKEY_NAME_CHARS_MAX))]


async def list_of(request: Request, holder_id: UUID) -> list[PasskeyView]:
    """The passkeys of an account."""
    party = RelyingParty.of(request.services.settings)
    return [PasskeyView.of(passkey, party) for passkey in await store.list_of(request.services.db, holder_id)]


async def creation_options(request: Request, holder: Holder) -> CreationOptions:
    """What the browser creates a passkey from. Raises `PasskeysUnavailable`."""
    party = assertions.relying_party(request)
    existing = await store.list_of(request.services.db, holder.holder_id)
    return CreationOptions(
        RelyingPartyEntity(party.id, SITE),
        UserEntity(base64url.encode(holder.holder_id.bytes), holder.email, holder.email),
        assertions.new_challenge(request, "webauthn.create", holder.kind, holder.session_hash),
        assertions.descriptors(existing, party),
    )


async def add(request: Request, holder: Holder, new: NewPasskey) -> NewPasskeyView:
    """Add a passkey. The first factor of an account turns two-factor authentication on, with new backup codes.

    Raises `ValidationFailed`, `WrongOrigin`, `ChallengeExpired`, `UserVerificationRequired`, `TooManyPasskeys`,
    `PasskeyExists`, and `AuthenticationRequired` if the session has ended.
    """
    party, response = assertions.relying_party(request), new.credential.response
    if errors := name_errors(new.name):
        raise ValidationFailed(*errors)
    client = webauthn.read_client_data(response.client_data_json, "webauthn.create", party)
    await assertions.use_challenge(request, "webauthn.create", holder.kind, holder.session_hash, client.challenge)
    made = webauthn.verify_registration(response, party)
    passkey_id, name = new_id(), new.name.strip()

    async def action(work: Work) -> list[str]:
        count = await store.lock_holder(work.tx, holder.kind, holder.holder_id)
        lock = sessions_store.lock if holder.kind == "person" else operators_store.lock
        if count is None or not await lock(work.tx, holder.session_hash):
            raise AuthenticationRequired
        if count >= PASSKEYS_MAX:
            raise TooManyPasskeys
        is_first = count == 0 and await second_factor_store.state(work.tx, holder.holder_id) is None
        if not await store.insert(work.tx, passkey_id, holder.holder_id, holder.kind, party.id, name, made, work.now):
            raise PasskeyExists
        # Nothing below this line may refuse.
        codes = await replace_backup_codes(work, holder.holder_id) if is_first else []
        if is_first and holder.person is not None:
            await sessions.revoke_other_sessions(work, holder.person)
        await _record_event(work, holder, "passkey.added", passkey_id, name)
        facts = {"name": mail_name(name)} | ({"first": "yes"} if is_first else {})
        await outbox.enqueue(work.tx, _email(holder, "passkey_added", facts), work.now)
        return codes

    codes = await request.transact(action)
    passkey = Passkey(
        passkey_id, holder.holder_id, party.id, *structs.astuple(made), name=name, created_at=request.now, last_used_at=None
    )
    shown = structs.asdict(PasskeyView.of(passkey, party))
    return NewPasskeyView(**shown, backup_codes=codes or UNSET)


async def rename(work: Work, holder: Holder, passkey_id: UUID, name: str) -> PasskeyView:
    """Rename a passkey. Raises `ValidationFailed` and `NotFound`."""
    if errors := name_errors(name):
        raise ValidationFailed(*errors)
    passkey = await store.rename(work.tx, holder.holder_id, passkey_id, name.strip())
    if passkey is None:
        raise NotFound
    await _record_event(work, holder, "passkey.renamed", passkey_id, passkey.name)
    return PasskeyView.of(passkey, RelyingParty.of(work.services.settings))


async def remove(work: Work, holder: Holder, passkey_id: UUID) -> None:
    """Remove a passkey; the last factor turns two-factor authentication off.

    Raises `NotFound`, `LastSecondFactor`, and `RecentAuthenticationRequired`, which is of no use where the factor stays.
    """
    error = await lock_factors(work, holder)
    name = await store.delete(work.tx, holder.holder_id, passkey_id)
    if name is None:
        raise NotFound
    is_off = not await second_factor_store.has_any(work.tx, holder.holder_id)
    if is_off and error is not None:
        raise error
    if holder.person is not None:
        require_recent(holder.person, work.now)
    # Nothing below this line may refuse.
    await second_factor_store.delete_unprotected_codes(work.tx, holder.holder_id)
    await _record_event(work, holder, "passkey.removed", passkey_id, name)
    facts = {"name": mail_name(name)} | ({"last": "yes"} if is_off else {})
    await outbox.enqueue(work.tx, _email(holder, "passkey_removed", facts), work.now)


async def announce_factor(work: Work, holder: Holder, event: Literal["factor_on", "factor_off"]) -> None:
    """Announce by email that an authenticator was added or removed; the first factor ends the other sessions."""
    state = await second_factor_store.state(work.tx, holder.holder_id)
    facts = {"passkeys": str(state["passkeys"])} if state is not None and state["passkeys"] else {}
    if event == "factor_on" and holder.person is not None:
        await sessions.revoke_other_sessions(work, holder.person)
    await outbox.enqueue(work.tx, _email(holder, event, facts), work.now)


async def _record_event(work: Work, holder: Holder, event: AuditEventType, passkey_id: UUID, name: str) -> None:
    """Operators belong to no merchant: nothing is recorded for them."""
    if holder.person is not None:
        await record.event(work, holder.person.merchant_id, event, subject=passkey_id, name=name)


def _email(holder: Holder, kind: EmailKind, facts: dict[str, str]) -> Email:
    user_id = None if holder.person is None else holder.holder_id
    return Email(kind, holder.email, holder.language, user_id, facts)
