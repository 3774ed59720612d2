"""Who is changed by what the contract tests ask for, and is as before when the next request is sent.

Erin's session ends, Mia's team changes, which Nils may join, and Pat has passkeys.
"""

from contextlib import AsyncExitStack
from typing import Any
from uuid import uuid4

from tests.accounts.merchants.authenticator import elsewhere
from tests.accounts.passkeys import soft_authenticator
from tests.accounts.team.invited import MAIL, id_of, invite
from tests.cast import PASSWORD, Actor, join, sign_up
from tests.payments.bank import refund, sell
from tests.running import Service
from tests.transfers.withdrawals.steps import asked, fund
from tollhouse.accounts.mail import links

Json = dict[str, Any]
JOINING = "accept_invitation"
OPERATIONS = {
    "erin": ("sign_out", "confirm_session", "switch_merchant", "end_all_sessions", "stop_everything"),
    "mia": (
        "change_member",
        "remove_member",
        "transfer_ownership",
        "invite_member",
        "resend_invitation",
        "cancel_invitation",
        "save_team_settings",
        "confirm_team_settings",
        "approve_withdrawal",
        "approve_refund",
    ),
    "nils": (JOINING,),
    "pat": ("add_passkey", "rename_passkey", "remove_passkey"),
    "pat's browser": ("sign_in_by_passkey",),
}
"""Who sends these, and nothing else."""
SENDERS = {operation_id: name for name, operation_ids in OPERATIONS.items() for operation_id in operation_ids}
SESSION = """
    SELECT public_id, id_hash, merchant_id FROM sessions WHERE user_id = (SELECT id FROM users WHERE email = $1)
"""
GO_ON = "UPDATE sessions SET id_hash = $2, merchant_id = $3, ended_at = NULL WHERE public_id = $1"
MEMBERS_AGAIN = """
    UPDATE members m SET role = CASE WHEN u.email = $2 THEN 'owner' ELSE 'support' END,
                         removed_at = CASE WHEN u.email = $2 OR $3 THEN NULL ELSE now() END
    FROM users u WHERE u.id = m.user_id AND m.merchant_id = $1::uuid
"""
FORGET_INVITATIONS = "DELETE FROM invitations WHERE merchant_id = $1::uuid AND NOT email = ANY ($2)"
INVITE_AGAIN = "UPDATE invitations SET ended_at = NULL, accepted_by = NULL WHERE merchant_id = $1::uuid"
FORGET_PASSKEYS = """
    DELETE FROM passkeys WHERE credential_id <> $2 AND holder_id = (SELECT id FROM users WHERE email = $1)
"""
SECONDED = """
    INSERT INTO second_member_rules (merchant_id, currency, above_minor, set_by, set_at)
    VALUES ($1::uuid, 'EUR', 0, $2, now())
"""
CHANGE_WAITS = """
    UPDATE second_member_rules SET change_by = $2, change_at = now(), change_above_minor = 100
    WHERE merchant_id = $1::uuid AND currency = 'EUR'
"""
MADE_BY = "UPDATE api_keys SET created_by = $2 WHERE merchant_id = $1::uuid"


class People:
    """Erin, Mia, Nils and Pat."""

    def __init__(self, service: Service, stack: AsyncExitStack) -> None:
        self._service = service
        self._stack = stack

    async def move_in(self) -> None:
        """Sign up, invite, add a passkey."""
        come = self._stack.enter_async_context
        self._erin: Actor = await come(sign_up(self._service, "erin", "Erin's Eggs"))
        self._mia: Actor = await come(sign_up(self._service, "mia", "Mia's Mill"))
        self._nils: Actor = await come(sign_up(self._service, "nils", "Nils's Nuts"))
        pat: Actor = await come(sign_up(self._service, "pat", "Pat's Pies"))
        self._senders = {"erin": self._erin, "mia": self._mia, "nils": self._nils, "pat": pat}
        self._sessions = [(await actor.sql(SESSION, actor.email))[0] for actor in (self._erin, self._nils)]
        self._invited = [self._nils.email, "olga@example.com"]
        ids = [(await invite(self._mia, email)).ok(201).body["invitation_id"] for email in self._invited]
        [invitation] = await self._mia.sql(MAIL, self._nils.email)
        self._secret = links.link_secret(self._service.create_services().keys, "invitation", invitation["mail_id"])
        await join(self._nils, self._mia, "support")
        self.ids: Json = {"user_id": await id_of(self._mia, self._nils.email), "invitation_id": ids[1]}
        await self._service.sql(SECONDED, self._mia.merchant_id, self.ids["user_id"])
        self._passkey = await soft_authenticator.added(pat)
        self._senders["pat's browser"] = await come(elsewhere(pat))

    async def sender(self, operation_id: str) -> Actor | None:
        """Who sends it, with everything as it was at first; None for what changes none of these people."""
        name = SENDERS.get(operation_id)
        if name is None:
            return None
        if name in {"mia", "nils"}:
            await self._be_a_team(joined=name != "nils")
        for session in self._sessions:
            await self._service.sql(GO_ON, *session)
        return self._senders[name]

    async def path_values(self, operation_id: str) -> Json:
        """Ids of what is there."""
        if operation_id in {"approve_withdrawal", "approve_refund"}:
            return await self._unsent(operation_id)
        if operation_id not in {"rename_passkey", "remove_passkey"}:
            return self.ids
        pat = await self._with_one_passkey()
        spare = (await soft_authenticator.add(pat)).ok(201)
        return {"passkey_id": spare.body["passkey_id"]}

    async def body(self, operation_id: str) -> Json | None:
        """A body that is accepted; None where there is nothing to say."""
        if operation_id == "add_passkey":
            return await self._new_passkey()
        if operation_id == "sign_in_by_passkey":
            return await self._assertion()
        said: dict[str, Json] = {
            "confirm_session": {"password": PASSWORD},
            "switch_merchant": {"merchant_id": self._erin.merchant_id},
            "stop_everything": {"mode": "test"},
            "change_member": {"role": "finance"},
            "invite_member": {"email": f"{uuid4()}@example.com", "role": "support"},
            "confirm_team_settings": {"currency": "EUR", "amount": "1.00"},
            "save_team_settings": {"support_refunds": [{"currency": "EUR", "amount": "50.00"}]},
            JOINING: {"invitation": self._secret},
            "rename_passkey": {"name": "Phone"},
        }
        return said.get(operation_id)

    async def _unsent(self, operation_id: str) -> Json:
        """What waits for a second member, created by a key of Nils."""
        mia = self._mia
        await mia.key("test")
        await self._service.sql(MADE_BY, mia.merchant_id, self.ids["user_id"])
        if operation_id == "approve_withdrawal":
            await fund(mia)
            return {"withdrawal_id": (await asked(mia))["id"]}
        paid = await sell(mia)
        return {"refund_id": (await refund(mia, paid, receiver="Nils's account")).ok(201).body["id"]}

    async def _be_a_team(self, *, joined: bool) -> None:
        mia, sql = self._mia, self._service.sql
        await sql(MEMBERS_AGAIN, mia.merchant_id, mia.email, joined)
        await sql(FORGET_INVITATIONS, mia.merchant_id, self._invited)
        await sql(INVITE_AGAIN, mia.merchant_id)
        await sql(CHANGE_WAITS, mia.merchant_id, self.ids["user_id"])

    async def _with_one_passkey(self) -> Actor:
        pat = self._senders["pat"]
        await pat.sql(FORGET_PASSKEYS, pat.email, self._passkey.credential_id)
        return pat

    async def _new_passkey(self) -> Json:
        pat = await self._with_one_passkey()
        credential = soft_authenticator.new_passkey(pat).create(await soft_authenticator.creation_options(pat))
        return {"name": "Phone", "credential": credential}

    async def _assertion(self) -> Json:
        options = (await self._senders["pat's browser"].dashboard("POST", "/login/passkey/options")).ok().body
        return {"assertion": self._passkey.get(options)}
