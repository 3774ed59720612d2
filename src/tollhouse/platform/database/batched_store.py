"""SQL that reads the rows of many keys by one statement: see `BatchedQuery`.

`OFFSET 0` keeps the plan of one. The sub-selects hide the number of keys from the planner, for which a plan for these would
otherwise look cheaper than the generic one: each batch would be planned again.
"""

import re

PARAMETER = re.compile(r"\$(\d+)")
FOR_EACH = """unnest({arrays}) WITH ORDINALITY AS asked ({names}, position)
    CROSS JOIN LATERAL ({one} OFFSET 0) AS found
"""


def for_many(sql: str, *types: str) -> str:
    """A SELECT of at most one row, for many keys: its first parameters, of these types, become arrays.

    Each row has the `position` of its keys, from 1.
    """
    numbers = range(1, len(types) + 1)
    arrays = (f"(SELECT ${number}::{key_type}[])" for number, key_type in zip(numbers, types, strict=True))
    single = PARAMETER.sub(lambda match: f"asked.key_{match[1]}" if int(match[1]) <= len(types) else match[0], sql)
    names = ", ".join(f"key_{number}" for number in numbers)
    return "SELECT asked.position, found.* FROM " + FOR_EACH.format(arrays=", ".join(arrays), names=names, one=single)
