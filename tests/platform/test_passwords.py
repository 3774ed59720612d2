"""How passwords are kept."""

from argon2 import Type, extract_parameters

from tollhouse.platform.passwords import NOBODY, hash_password, verify_password

KIB = 1024


def test_a_guess_is_dear() -> None:
    """As much as OWASP asks for at least; tests hash cheaply, but this one was made when the module was."""
    cost = extract_parameters(NOBODY)
    assert (cost.type, cost.time_cost, cost.memory_cost, cost.parallelism) == (Type.ID, 2, 19 * KIB, 1)


async def test_only_the_password_fits() -> None:
    kept = await hash_password("correct horse")
    assert kept != await hash_password("correct horse")
    assert await verify_password("correct horse", kept)
    assert not await verify_password("correct horse ", kept)
    assert not await verify_password("nobody has this password", None)
    assert not await verify_password("correct horse", "no hash at all")
