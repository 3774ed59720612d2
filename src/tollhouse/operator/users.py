"""How operators come and go: invited at the command line by a link, on which they choose a password nobody else knows."""

from datetime import timedelta
from uuid import UUID

from tollhouse.callers import operators, operators_store, second_factor, second_factor_store
from tollhouse.callers.known_devices import remember_device
from tollhouse.callers.model import InvalidCredentials
from tollhouse.callers.people import email_faults, email_key, password_faults, prove
from tollhouse.callers.second_factor import SecondFactorRequired
from tollhouse.kernel import tokens
from tollhouse.kernel.ids import new_id
from tollhouse.kernel.limits import OPERATOR_LINK_S
from tollhouse.kernel.refusals import ValidationFailed
from tollhouse.operator import actions, users_store
from tollhouse.operator.model import Deed, Hand, LinkIsOver, OperatorRefusedError
from tollhouse.platform.db import Tx
from tollhouse.platform.passwords import OPERATORS, hash_password
from tollhouse.web.ask import Ask

LINK_LASTS = timedelta(seconds=OPERATOR_LINK_S)


async def invite(tx: Tx, email: str, hand: Hand) -> tuple[Deed, str]:
    """A new operator; the secret of the link on which the password is chosen."""
    if email_faults("email", email):
        raise OperatorRefusedError(f"{email} is no e-mail address.")
    secret = tokens.random_base62(tokens.BODY_CHARS)
    link_hash, expires_at = tokens.digest(secret), hand.at + LINK_LASTS
    invited = await users_store.invite(tx, new_id(), email, email_key(email), link_hash, expires_at, hand.at)
    if invited is None:
        raise OperatorRefusedError(f"{email} is an operator already. Another link: tollhouse operator users reset.")
    return await actions.keep(tx, hand, "operator_invited", None, subject_id=invited.operator_id), secret


async def invite_again(tx: Tx, email: str, hand: Hand) -> tuple[Deed, str]:
    """Take password and second factor away and end every session; the secret of a link on which another is chosen."""
    secret = tokens.random_base62(tokens.BODY_CHARS)
    invited = await users_store.invite_again(tx, email_key(email), tokens.digest(secret), hand.at + LINK_LASTS)
    if invited is None:
        raise OperatorRefusedError(f"{email} is no operator.")
    await operators_store.end_all(tx, invited.operator_id, hand.at)
    await second_factor_store.remove(tx, invited.operator_id)
    return await actions.keep(tx, hand, "operator_invited", None, subject_id=invited.operator_id), secret


async def close(tx: Tx, email: str, hand: Hand) -> Deed:
    """Take password and second factor away and end every session, for good."""
    closed = await users_store.close(tx, email_key(email), hand.at)
    if closed is None:
        raise OperatorRefusedError(f"{email} is no operator.")
    await operators_store.end_all(tx, closed.operator_id, hand.at)
    await second_factor_store.remove(tx, closed.operator_id)
    return await actions.keep(tx, hand, "operator_closed", None, subject_id=closed.operator_id)


async def invited_email(ask: Ask, secret: str) -> str:
    """Whose link this is. Raises `LinkIsOver`."""
    invited = await users_store.invited(ask.house.db, tokens.digest(secret), ask.now)
    if invited is None:
        raise LinkIsOver
    return invited.email


async def join(ask: Ask, secret: str, password: str) -> str:
    """Choose the password; the secret of a session. Raises `LinkIsOver` and `ValidationFailed`, which leaves the link."""
    await invited_email(ask, secret)
    if faults := password_faults("password", password):
        raise ValidationFailed(*faults)
    password_hash = await hash_password(password, OPERATORS, ask.house.settings.password_queue)

    async def deed(tx: Tx) -> str:
        joined = await users_store.join(tx, tokens.digest(secret), password_hash, ask.now)
        if joined is None:
            raise LinkIsOver
        await actions.keep(tx, Hand(joined.email, ask.now), "operator_joined", None, subject_id=joined.operator_id)
        return await operators.begin(tx, ask, joined.operator_id, password_hash)

    return await ask.house.db.transact(deed)


async def sign_in(ask: Ask, email: str, password: str) -> str:
    """The secret of a new session. Raises what `prove` does, and `SecondFactorRequired` where there is one."""
    row = await prove(ask, "operator sign-in", email, password, operators_store.by_email)
    if await second_factor.state(ask.house.db, row["id"]) is not None:
        raise SecondFactorRequired(row["id"])
    async with ask.house.db.transaction() as tx:
        secret = await operators.begin(tx, ask, row["id"], row["password_hash"])
    remember_device(ask, "operator sign-in", email_key(email))
    return secret


async def finish_sign_in(ask: Ask, operator_id: UUID, code: str) -> str:
    """The secret of a new session for one whose password was right. Raises what `second_factor.check` does.

    Who was reset or closed since is `InvalidCredentials`.
    """
    password_hash = await users_store.password_of(ask.house.db, operator_id)
    if password_hash is None:
        raise InvalidCredentials
    await second_factor.check(ask, operator_id, code)
    async with ask.house.db.transaction() as tx:
        secret = await operators.begin(tx, ask, operator_id, password_hash)
    remember_device(ask, "operator sign-in", await users_store.email_key_of(ask.house.db, operator_id))
    return secret
