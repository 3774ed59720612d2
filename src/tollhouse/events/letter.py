"""What is sent: the address, the stored bytes, and the headers that say and prove whose they are."""

from datetime import datetime
from uuid import UUID

from msgspec import Struct

from tollhouse.events import secrets
from tollhouse.events.schedule import Trigger
from tollhouse.events.signing import signature, standard_headers
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId, Mode
from tollhouse.platform.db import Row
from tollhouse.platform.encryption import DecryptionError, Encrypted, KeyRing

USER_AGENT = "Tollhouse-Webhooks/2"


class Claim(Struct, frozen=True):
    """One attempt that is ours to make, until the lease ends."""

    event_id: UUID
    token: UUID
    lane: int
    destination_key: int
    mode: Mode
    trigger: Trigger
    held: bool
    tries: int
    lost: int
    started_at: datetime


class Letter(Struct, frozen=True):
    """One request, ready to be made."""

    url: str
    body: bytes
    headers: dict[str, str]


def claim_of(row: Row, token: UUID) -> Claim:
    """The claim that a leased row stands for."""
    return Claim(
        event_id=row["event_id"],
        token=token,
        lane=row["lane"],
        destination_key=row["destination_key"],
        mode=row["mode"],
        trigger=row["sending"],
        held=row["held"],
        tries=row["tries"],
        lost=row["lost"],
        started_at=row["started_at"],
    )


def address(claim: Claim, row: Row, *, deprecated_webhooks: bool) -> str | None:
    """Where it goes now; None when it goes nowhere any more.

    A saved address counts only while compatibility lasts; a redelivery goes to the present one. What no secret came for in
    time goes nowhere.
    """
    if row["disabled"] or (claim.held and row["version"] is None):
        return None
    if row["destination_source"] in {"request", "test"}:
        return row["destination_url"]
    if not deprecated_webhooks:
        return None
    return row["saved_url"] if claim.trigger == "manual" else row["destination_url"]


def write(keys: KeyRing, claim: Claim, row: Row, url: str) -> Letter:
    """Sign the stored bytes. Raises `DecryptionError` when there is nothing to sign with: nothing is ever sent unsigned."""
    if row["version"] is None:
        raise DecryptionError("no active secret")
    env = MerchantEnv(MerchantId(row["merchant_id"]), row["mode"])
    secret = secrets.reveal(keys, env, row["version"], Encrypted(row["key_id"], row["nonce"], row["ciphertext"]))
    body: bytes = row["body"]
    headers = {
        "Content-Type": "application/json; charset=utf-8",
        "User-Agent": USER_AGENT,
        "X-Service-Event-Id": str(claim.event_id),
        "X-Service-Event-Type": row["type"],
        "X-Service-Mode": claim.mode,
        "X-Service-Attempt": str(row["attempts"] + 1),
        "X-Service-Signature": signature(secret, body),
        **standard_headers(secret, claim.event_id, int(claim.started_at.timestamp()), body),
    }
    return Letter(url, body, headers)
