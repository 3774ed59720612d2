"""Stop everything: one action ends all API keys and connections of a mode, when somebody else may have them.

It is one transaction, so it ends all or none. Those who make a key or consent hold a lock shared that it takes alone: what
was begun before is waited for and ended, and nothing begins meanwhile. Codes are deleted before grants are revoked, so a
code that is exchanged at the same time has either been deleted, or its grant is seen. What waits as a proposal ends with its
connection or key. It asks for no password, as nothing that only stops does.
"""

from tollhouse.accounts.audit import record
from tollhouse.accounts.audit.model import changes
from tollhouse.accounts.identity import store as identity_store
from tollhouse.accounts.identity import users_store
from tollhouse.accounts.identity.model import Person
from tollhouse.accounts.mail import store as outbox
from tollhouse.accounts.mail.model import Email, mail_name
from tollhouse.accounts.merchants import store
from tollhouse.accounts.merchants.model import Stopped
from tollhouse.http.local_formats import Formats
from tollhouse.http.services import Work
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import Mode


async def stop_everything(work: Work, person: Person, mode: Mode) -> Stopped:
    """End every API key and connection of this mode; how many there were."""
    env = MerchantEnv(person.merchant_id, mode)
    tx, merchant_id = work.tx, person.merchant_id
    await identity_store.let_no_credential_begin(tx, env)
    waiting = (await store.count_credentials(tx, env, work.now)).proposals
    keys = await identity_store.revoke_api_keys(tx, merchant_id, work.now, env.mode)
    grants = await users_store.revoke_grants(tx, merchant_id, "stopped_by_merchant", work.now, env.mode)
    if keys or grants:
        before = {"api_keys": len(keys), "connections": len(grants)}
        changed = changes(before, dict.fromkeys(before, 0))
        await record.event(work, env, "account.everything_stopped", changed=changed)
        await work.services.connection_webhooks.announce(work, "connection.ended", grants, "merchant")
        await _send_emails(work, env, person, before)
    return Stopped(env.mode, env.livemode, len(keys), len(grants), waiting)


async def _send_emails(work: Work, env: MerchantEnv, by: Person, ended: dict[str, int]) -> None:
    if not env.livemode:
        return
    emails: list[Email] = []
    for user in await users_store.list_of_merchant(work.tx, env.merchant_id):
        facts = {name: Formats(user["language"]).number(number) for name, number in ended.items()}
        facts["by"] = mail_name(by.email)
        emails.append(Email("everything_stopped", user["email"], user["language"], user["id"], facts))
    await outbox.enqueue_all(work.tx, emails, work.now)
