"""What an owner does with an application. Each action is one transaction's worth."""

from datetime import datetime

import msgspec

from tollhouse.kernel import tokens
from tollhouse.kernel.ids import ClientId, MerchantId
from tollhouse.kernel.tokens import public_name
from tollhouse.oauth import clients_store
from tollhouse.oauth.clients_store import NewSecret
from tollhouse.oauth.model import ClientView
from tollhouse.oauth.settings import ClientSettings
from tollhouse.platform.db import Tx

HINT_CHARS = 4


async def register(tx: Tx, owner: MerchantId, settings: ClientSettings, now: datetime) -> ClientView:
    """Make an application. The record holds the secret of a confidential one, this once."""
    client_id = ClientId(public_name("thc"))
    secret = tokens.mint("thcs") if settings.client_type == "confidential" else None
    await clients_store.insert(tx, owner, client_id, settings, kept(secret) if secret else None, now)
    made = await clients_store.owned_one(tx, owner, client_id, now)
    if made is None:
        raise AssertionError("what was inserted in this transaction is there")
    return msgspec.structs.replace(made, client_secret=secret) if secret else made


def kept(secret: str) -> NewSecret:
    """What we keep of a client secret."""
    return NewSecret(tokens.digest(secret), secret[-HINT_CHARS:])
