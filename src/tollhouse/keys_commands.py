"""`tollhouse keys`: a new key for the ring, and the rotation that makes the older ones superfluous."""

from typing import Annotated

import msgspec
from cyclopts import App, Parameter
from msgspec import Struct
from rich.console import Console

from tollhouse import key_checks
from tollhouse.http.services import Services
from tollhouse.identity import second_factor_keys
from tollhouse.kernel import clock
from tollhouse.kernel.clock import Timestamp, stamp
from tollhouse.oauth import mac_keys_store
from tollhouse.platform import connections
from tollhouse.short_commands import NoDatabaseError, in_house
from tollhouse.supervisor import new_key
from tollhouse.webhooks import rotation

talk = Console(stderr=True, highlight=False)
app = App(name="keys", help="Make a key for the ring, and rotate the ring without downtime. See docs/keys.md.")

Json = Annotated[bool, Parameter(name="--json", negative=(), help="Print JSON.")]
Name = Annotated[str | None, Parameter(name="--id", help="Its id; left out, one from today's date.")]


class KeyUse(Struct, frozen=True):
    """What a key is needed for. `needed_until` is when the last of what it vouched for is over by itself."""

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
    """What a rotation did, and how every key stands after it, the one in use first."""

    rotated: int
    keys: list[KeyUse]

    @property
    def in_the_way(self) -> list[KeyUse]:
        """The keys that keep it from being over."""
        return [key for key in self.keys if key.needed and not key.in_use]


class OtherRingsError(Exception):
    """Processes are running that seal with another key."""


@app.command
def new(*, key_id: Name = None) -> None:
    """Print a new key, to be put into TOLLHOUSE_SECRET_KEYS."""
    print(new_key(key_id or f"k{clock.now():%Y%m%d}"))


@app.command
def rotate(*, as_json: Json = False) -> int:
    """Seal everything under the first key of the ring; exit 1 while an older key is still needed."""
    try:
        done = in_house(rotate_ring)
    except (NoDatabaseError, OtherRingsError) as fault:
        talk.print(str(fault), style="red", markup=False)
        return 1
    if as_json:
        print(msgspec.json.encode(done).decode())
    else:
        for key in done.keys:
            print(_line(key))
    for key in done.in_the_way:
        talk.print(_reason(key), style="red", markup=False)
    if not done.in_the_way:
        talk.print("Every older key may be taken out of the ring.")
    return 1 if done.in_the_way else 0


@app.command
def forget(key_id: str) -> int:
    """Give up a key that is lost for good: the service starts without it, what it encrypted stays unreadable."""
    try:
        in_house(lambda services: key_checks.give_up(services.db, key_id))
    except NoDatabaseError as fault:
        talk.print(str(fault), style="red", markup=False)
        return 1
    return 0


async def rotate_ring(services: Services) -> Rotation:
    """Seal anew what is under an older key, and see what is left. Raises `OtherRingsError`, having done nothing."""
    if others := await connections.others(services.db, services.keys):
        raise OtherRingsError(
            f"{others} connections belong to processes that do not have {services.keys.in_use} first in their ring. "
            "Start every process with the new ring, then run this again."
        )
    rotated = await rotation.rotate(
        services.db, services.keys, lambda total: talk.print(f"{total} signing secrets sealed anew.")
    )
    rotated += await second_factor_keys.rotate(
        services.db, services.keys, lambda total: talk.print(f"{total} second factors sealed anew.")
    )
    return Rotation(rotated, await _uses(services))


async def _uses(services: Services) -> list[KeyUse]:
    """Every key of the ring in its order, then those that are needed and missing."""
    now = clock.now()
    encrypted = await rotation.encrypted_by_key(services.db)
    factors = await second_factor_keys.encrypted_by_key(services.db)
    connections = await mac_keys_store.connections_by_key(services.db, now)
    forms = await mac_keys_store.forms_by_key(services.db, now)
    ring = [name for name, _ in services.settings.secret_keys]
    missing = sorted({*encrypted, *factors, *connections, *forms} - set(ring))
    uses: list[KeyUse] = []
    for place, name in enumerate([*ring, *missing]):
        in_use = name == services.keys.in_use
        # A connection that began under an older key may have had refresh tokens of this one since.
        vouched = [connections[older] for older in ring[place:] if older in connections]
        ends = [need.until for need in (*vouched, *([forms[name]] if name in forms else []))]
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
        return f"{key.key_id} is needed and not in the ring: put it back at its end."
    if key.second_factors:
        return f"Keep {key.key_id}: {key.second_factors} second factors were not sealed anew. Run this again."
    if key.signing_secrets:
        return f"Keep {key.key_id}: {key.signing_secrets} signing secrets were not sealed anew. Run this again."
    return f"Keep {key.key_id}: what it vouched for is over at {key.needed_until} at the latest. Run this again then."
