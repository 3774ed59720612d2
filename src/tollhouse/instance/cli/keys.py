"""`tollhouse keys`: create keys for the key ring, and rotate the secrets encrypted with older keys."""

import secrets
from typing import Annotated

import msgspec
from cyclopts import App, Parameter
from msgspec import Struct, field

from tollhouse.accounts.identity import key_rotation, second_factor
from tollhouse.http.services import Services
from tollhouse.instance import start_checks
from tollhouse.instance.cli.actions import run
from tollhouse.instance.cli.options import Json, stderr
from tollhouse.instance.supervisor import new_key
from tollhouse.kernel import clock
from tollhouse.kernel.clock import Timestamp, stamp
from tollhouse.oauth import signed_store
from tollhouse.platform.database import connections
from tollhouse.platform.failure import Failure
from tollhouse.webhooks.events import secrets as signing_secrets

app = App(name="keys", help="Create encryption keys and rotate them without downtime. See docs/keys.md.")

KeyId = Annotated[str | None, Parameter(name="--id", help="The key's ID. Default: today's date and four random digits.")]


class KeyUse(Struct, frozen=True):
    """What a key is needed for. `needed_until` is when the last connection or form signed with it expires."""

    key_id: str
    in_ring: bool
    in_use: bool
    needed: bool
    signing_secrets: int
    second_factors: int
    connections: int
    consent_forms: int
    needed_until: Timestamp | None


class Rotation(Struct, frozen=True):
    """The number of secrets rotated, and the status of every key, the one in use first."""

    rotated: int = field(name="resealed")
    keys: list[KeyUse]

    @property
    def still_needed(self) -> list[KeyUse]:
        """The older keys that cannot be removed yet."""
        return [key for key in self.keys if key.needed and not key.in_use]


class OtherRingsError(Failure):
    """Running processes encrypt with another key."""


@app.command
def new(*, key_id: KeyId = None) -> None:
    """Print a new key for TOLLHOUSE_SECRET_KEYS."""
    print(new_key(key_id or f"k{clock.now():%Y%m%d}-{secrets.token_hex(2)}"))


@app.command
def rotate(*, as_json: Json = False) -> int:
    """Re-encrypt all secrets with the first key of the ring. Exits 1 while an older key is still needed."""
    done = run(rotate_ring)
    if as_json:
        print(msgspec.json.encode(done).decode())
    else:
        for key in done.keys:
            print(_line(key))
    for key in done.still_needed:
        stderr.print(_reason(key), style="red", markup=False)
    if not done.still_needed:
        stderr.print("All older keys can be removed from the ring.")
    return 1 if done.still_needed else 0


@app.command
def forget(key_id: str) -> None:
    """Give up a lost key. The service starts without it, and the secrets encrypted with it stay unreadable."""
    run(lambda services: start_checks.give_up(services.db, key_id))


async def rotate_ring(services: Services) -> Rotation:
    """Re-encrypt the secrets of older keys and list the keys. Raises `OtherRingsError` before any change."""
    if others := await connections.count_other_key_connections(services.db, services.keys):
        raise OtherRingsError(
            f"{others} connections belong to processes that do not have {services.keys.in_use} first in their ring. "
            "Restart every process with the new ring, run RECONNECT in the console of the pooler if there is one, "
            "then run the command again."
        )
    rotated = 0
    for name, table in (("signing secrets", signing_secrets.ENCRYPTED), ("second factors", second_factor.ENCRYPTED)):
        rotated += await key_rotation.rotate(
            services.db, services.keys, table, lambda total, name=name: stderr.print(f"{total} {name} re-encrypted.")
        )
    return Rotation(rotated, await _uses(services))


async def _uses(services: Services) -> list[KeyUse]:
    """The keys of the ring in order, then those that are needed but missing."""
    now = clock.now()
    encrypted = await key_rotation.count_by_key(services.db, signing_secrets.ENCRYPTED)
    factors = await key_rotation.count_by_key(services.db, second_factor.ENCRYPTED)
    connections = await signed_store.connections_by_key(services.db, now)
    forms = await signed_store.forms_by_key(services.db, now)
    ring = [name for name, _ in services.settings.secret_keys]
    missing = sorted({*encrypted, *factors, *connections, *forms} - set(ring))
    uses: list[KeyUse] = []
    for place, name in enumerate([*ring, *missing]):
        in_use = name == services.keys.in_use
        # A connection signed with an older key may have refresh tokens signed with this one.
        signed = [connections[older] for older in ring[place:] if older in connections]
        ends = [count.last_expires_at for count in (*signed, *([forms[name]] if name in forms else []))]
        use = KeyUse(
            key_id=name,
            in_ring=name in ring,
            in_use=in_use,
            needed=in_use or name in missing or name in encrypted or name in factors or bool(ends),
            signing_secrets=encrypted.get(name, 0),
            second_factors=factors.get(name, 0),
            connections=connections[name].count if name in connections else 0,
            consent_forms=forms[name].count if name in forms else 0,
            needed_until=stamp(max(ends)) if ends and not in_use else None,
        )
        uses.append(use)
    return uses


def _line(key: KeyUse) -> str:
    if not key.in_ring:
        state = "missing"
    elif key.in_use:
        state = "in use"
    else:
        state = "still needed" if key.needed else "not needed"
    encrypted = f"{key.signing_secrets} signing secrets  {key.second_factors} second factors"
    counts = f"{encrypted}  {key.connections} connections  {key.consent_forms} consent forms"
    return f"{key.key_id}  {state}  {counts}" + (f"  until {key.needed_until}" if key.needed_until else "")


def _reason(key: KeyUse) -> str:
    if not key.in_ring:
        return f"{key.key_id} is needed but not in the ring. Add it at the end."
    if key.second_factors:
        return f"Keep {key.key_id}: {key.second_factors} second factors were not re-encrypted. Run the command again."
    if key.signing_secrets:
        return f"Keep {key.key_id}: {key.signing_secrets} signing secrets were not re-encrypted. Run the command again."
    return f"Keep {key.key_id} until {key.needed_until}, when the last value signed with it expires. Then run this again."
