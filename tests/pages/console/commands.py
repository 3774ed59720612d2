"""`tollhouse operator`, as the one who runs the house says it."""

from tests.command import Outcome, tollhouse
from tests.running import Service


async def operator(service: Service, *words: str, **environment: str) -> Outcome:
    """Run `tollhouse operator` with these words."""
    return await tollhouse(service, "operator", *words, **environment)
