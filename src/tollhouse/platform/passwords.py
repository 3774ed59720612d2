"""Passwords: argon2id, two at a time in threads of their own, so that sign-ins cannot starve the token path."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

HASHER = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1)
NOBODY = HASHER.hash("nobody has this password")
_THREADS = ThreadPoolExecutor(max_workers=2, thread_name_prefix="argon2")


async def hash_password(password: str) -> str:
    """The argon2id hash to keep."""
    return await asyncio.get_running_loop().run_in_executor(_THREADS, HASHER.hash, password)


async def verify_password(password: str, kept: str | None) -> bool:
    """Whether this is the password of the kept hash. Takes the same time when there is no such account (`None`)."""
    return await asyncio.get_running_loop().run_in_executor(_THREADS, _verify, password, kept)


def _verify(password: str, kept: str | None) -> bool:
    try:
        return HASHER.verify(kept or NOBODY, password) and kept is not None
    except (VerificationError, InvalidHashError):
        return False
