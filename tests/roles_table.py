"""What each role may do, as the table of `docs/teams.md`, made from `kernel/roles.py`."""

from pathlib import Path

from tollhouse.kernel.roles import MEANINGS, NAMES, Permission, Role, may

PAGE = Path(__file__).parent.parent / "docs" / "teams.md"
BEGIN, END = "<!-- roles: made by `just records` -->\n", "<!-- end of roles -->\n"
MARKS = {(True, True): "yes", (False, True): "in test mode", (False, False): ""}


def page(text: str) -> str:
    """The page with the present table."""
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n{table()}\n{END}{rest.partition(END)[2]}"


def table() -> str:
    """A row for each permission, a column for each role."""
    head = f"| Permission | {' | '.join(NAMES.values())} |\n|---|{'---|' * len(NAMES)}\n"
    return head + "".join(f"| `{name}`: {meaning} | {_marks(name)} |\n" for name, meaning in MEANINGS.items())


def _marks(permission: Permission) -> str:
    return " | ".join(MARKS[may(role, permission, "live"), may(role, permission, "test")] for role in NAMES)


def read(text: str) -> dict[tuple[Role, str], str]:
    """What the page says: the mark by role and permission."""
    rows = [
        line.strip("| \n").split(" | ") for line in text.split(BEGIN)[1].split(END, maxsplit=1)[0].strip().splitlines()[2:]
    ]
    cells = {row[0].split("`")[1]: [cell.strip() for cell in row[1:]] for row in rows}
    return {
        (role, name): (marks + [""] * len(NAMES))[place] for name, marks in cells.items() for place, role in enumerate(NAMES)
    }
