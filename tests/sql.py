"""Print the SQL statements of a package, ready for psql: `just sql payment_links`."""

import sys
import textwrap

from tests.tables import statements

WIDTH = 120


def printed(package: str) -> str:
    """Every statement of a package with its name."""
    found = [(name, sql) for name, sql in statements() if name.startswith(f"tollhouse.{package}.")]
    return "\n\n".join(f"-- {name.removeprefix('tollhouse.')}\n{_wrapped(sql)};" for name, sql in found)


def _wrapped(sql: str) -> str:
    lines = textwrap.dedent(sql).strip().splitlines()
    return "\n".join(part for line in lines for part in textwrap.wrap(line, WIDTH, subsequent_indent=" " * 7) or [line])


if __name__ == "__main__":
    sys.stdout.write("\n\n".join(printed(package) for package in sys.argv[1:]) + "\n")
