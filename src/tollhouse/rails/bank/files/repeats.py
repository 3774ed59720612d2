"""Equal entries of a statement with the same bank reference are one entry, unless its balances prove that they are more.

The pages of a statement are looked at together: the first has its opening balance and the last its closing balance.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from msgspec import structs

from tollhouse.kernel.text import Text
from tollhouse.rails.bank.files.statement import EntryHead, Repeat, Statement
from tollhouse.rails.bank.files.xml import UnreadableStatementError


def resolve(statements: Sequence[Statement], found: Sequence[Repeat]) -> tuple[list[Statement], list[Repeat]]:
    """The statements without the repeats that are no entries of their own, and these.

    Raises `UnreadableStatementError` if a statement does not add up either way.
    """
    by_statement = defaultdict[int, list[Repeat]](list)
    for one in found:
        by_statement[one.statement].append(one)
    resolved, dropped = list(statements), list[Repeat]()
    for numbers in pages(statements):
        here = [one for number in numbers for one in by_statement[number]]
        if _are_proven([statements[number] for number in numbers], here):
            continue
        dropped += here
        for number in numbers:
            gone = {one.head.identity for one in by_statement[number]}
            kept = tuple(head for head in statements[number].entries if head.identity not in gone)
            resolved[number] = structs.replace(statements[number], entries=kept)
    return resolved, dropped


def pages(statements: Sequence[Statement]) -> Iterator[list[int]]:
    """The numbers of the statements of a file, each with those of its further pages."""
    group = list[int]()
    for number, statement in enumerate(statements):
        if group and not _continues(statements[group[-1]], statement):
            yield group
            group = []
        group.append(number)
    if group:
        yield group


def has_balances(group: Sequence[Statement]) -> bool:
    """Whether the pages of a statement have its opening and its closing balance."""
    return group[0].opening_minor is not None and group[-1].closing_minor is not None


def _continues(page: Statement, following: Statement) -> bool:
    """Whether a statement is the next page of another one."""
    named = (page.iban, page.currency, page.statement_id), (following.iban, following.currency, following.statement_id)
    return named[0] == named[1] and page.closing_minor is None and following.opening_minor is None


def _are_proven(group: Sequence[Statement], found: Sequence[Repeat]) -> bool:
    """Whether the balances prove that repeated entries are entries of their own. Raises `UnreadableStatementError`."""
    opening, closing = group[0].opening_minor, group[-1].closing_minor
    if opening is None or closing is None:
        return False
    whole = opening + sum(_net(page.entries) for page in group)
    if whole - _net([one.head for one in found]) == closing:
        return False
    if whole == closing:
        return True
    raise UnreadableStatementError(
        Text(
            "Statement %(statement_id)s does not add up: the opening balance plus the entries is not the closing balance.",
            statement_id=group[0].statement_id,
        )
    )


def _net(entries: Sequence[EntryHead]) -> int:
    return sum(one.amount_minor if one.side == "credit" else -one.amount_minor for one in entries)
