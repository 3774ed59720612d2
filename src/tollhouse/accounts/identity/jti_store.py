"""SQL of the ids of signed tokens that may be used once. Of several requests with the same one, at once or not, one wins."""

from datetime import datetime

from tollhouse.kernel.tokens import digest
from tollhouse.platform.database.pool import Pool

USE = "INSERT INTO used_jtis (jti_hash, expires_at) VALUES ($1, $2) ON CONFLICT (jti_hash) DO NOTHING"
DELETE_EXPIRED = """
    DELETE FROM used_jtis WHERE jti_hash IN (
        SELECT jti_hash FROM used_jtis WHERE expires_at <= $1 LIMIT $2 FOR UPDATE SKIP LOCKED)
"""


async def use(db: Pool, kind: str, signer: str, jti: str, expires_at: datetime) -> bool:
    """Use the id of a token, which expires then; False if this signer has used it in a token of this kind."""
    return await db.execute(USE, digest(f"{kind}\0{signer}\0{jti}"), expires_at) == 1
