"""The body of PUT /disputes/{id}/evidence and its validation."""

from collections.abc import Iterator

import msgspec

from tollhouse.http.bodies import ValidationContext
from tollhouse.kernel import messages
from tollhouse.kernel.errors import FieldError
from tollhouse.kernel.names import LINE_FEEDS, is_readable
from tollhouse.kernel.rails.disputes import EVIDENCE_CHARS_MAX, EVIDENCE_CHARS_TOTAL_MAX, Evidence
from tollhouse.kernel.text import Text

MEMBERS = tuple(field.name for field in msgspec.structs.fields(Evidence))


class NewEvidence(Evidence, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The evidence to save. It replaces what was saved before."""

    def rule_errors(self, _context: ValidationContext) -> Iterator[FieldError]:
        """Every invalid field."""
        return self.field_errors()

    def field_errors(self) -> Iterator[FieldError]:
        """Every invalid field."""
        total = 0
        for name in MEMBERS:
            text = getattr(self, name)
            if text is None:
                continue
            total += len(text)
            if not 1 <= len(text) <= EVIDENCE_CHARS_MAX or not text.strip() or not is_readable(text, LINE_FEEDS):
                yield FieldError(name, "invalid_value", messages.plain_text(1, EVIDENCE_CHARS_MAX))
        if total > EVIDENCE_CHARS_TOTAL_MAX:
            too_long = Text(
                "This must be at most %(most)s characters long, all texts together.", most=EVIDENCE_CHARS_TOTAL_MAX
            )
            yield FieldError("evidence", "too_long", too_long)
