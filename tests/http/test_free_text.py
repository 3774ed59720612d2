"""Free text of others holds what its reader sees, in every field; what is stored already is shown with escapes."""

from collections.abc import Iterator
from typing import Any

import pytest
from msgspec import inspect as types

from tests.cast import Actor
from tests.forms import post, wrong
from tests.payments.shop import COFFEE
from tollhouse.http.bodies import MULTILINE, SECRETS, decode_body
from tollhouse.http.operations import DASHBOARD, INTEGRATION
from tollhouse.instance.api import OPERATIONS
from tollhouse.kernel.errors import ValidationFailed
from tollhouse.kernel.ids import new_id_text
from tollhouse.platform.decoding import bare, type_of

OVERRIDE, WITH_ZERO_WIDTH, WITH_BELL = "Ali\u202ece", "Ali\u200bce", "Ali\u0007ce"
BODIES = sorted(
    {
        operation.accepts
        for operation in OPERATIONS
        if operation.accepts is not None and operation.surface in (INTEGRATION, DASHBOARD)
    },
    key=repr,
)


def texts(kind: types.Type, steps: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The paths of members of a body that can be a text."""
    kind = bare(kind)
    if isinstance(kind, types.StrType | types.AnyType):
        yield steps
    elif isinstance(kind, types.UnionType):
        for type_ in kind.types:
            yield from texts(type_, steps)
    elif isinstance(kind, types.StructType):
        for field in kind.fields:
            yield from texts(field.type, (*steps, field.encode_name))
    elif isinstance(kind, types.DictType):
        yield from texts(kind.value_type, (*steps, "any"))
    elif isinstance(kind, types.ListType | types.VarTupleType):
        yield from texts(kind.item_type, (*steps, "0"))


def body_with(steps: tuple[str, ...], text: str) -> Any:
    """A body that has this text at these steps, and nothing else."""
    if not steps:
        return text
    inner = body_with(steps[1:], text)
    return [inner] if steps[0] == "0" else {steps[0]: inner}


def refused(kind: Any, steps: tuple[str, ...], text: str) -> bool:
    try:
        decode_body(body_with(steps, text), kind)
    except ValidationFailed as error:
        path = ".".join(steps)
        return any(
            field_error.field == path or path.startswith(f"{field_error.field}.") for field_error in error.field_errors
        )
    return False


@pytest.mark.parametrize("kind", BODIES, ids=lambda kind: kind.__name__)
def test_every_text_of_every_body_has_the_rule(kind: Any) -> None:
    for steps in {steps for steps in texts(type_of(kind)) if steps}:
        secret = not SECRETS.isdisjoint(steps)
        for text in (OVERRIDE, WITH_ZERO_WIDTH, WITH_BELL, "Ali\rce"):
            assert refused(kind, steps, text) != secret, (steps, text)
        if not secret and MULTILINE.isdisjoint(steps):
            assert refused(kind, steps, "Ali\nce"), steps


async def test_the_rule_names_the_field_and_stores_nothing(alice: Actor) -> None:
    for text in (OVERRIDE, WITH_ZERO_WIDTH, WITH_BELL):
        link = COFFEE | {"metadata": {"note": text}, "external_id": text, "display_name": text}
        answer = await alice.post("/payment-links", link)
        assert answer.field_errors().keys() == {"metadata.note", "external_id", "display_name"}
        withdrawal = {"method_id": "sandbox:EUR", "amount": "5.00", "receiver": text, "provider_fields": {"holder": text}}
        assert {"receiver", "provider_fields.holder"} <= (
            await alice.post("/withdrawals", withdrawal, key=new_id_text())
        ).field_errors().keys()
    lines = COFFEE | {"description": "One\nTwo", "metadata": {"note": "One\nTwo"}}
    assert (await alice.post("/payment-links", lines)).ok(201).body["description"] == "One\nTwo"


async def test_forms_have_the_rule_at_their_fields(alice: Actor) -> None:
    page = await post(alice, "/test/projects/new", 422, name=OVERRIDE, description=WITH_BELL, key="")
    assert wrong(page).keys() == {"name", "description"}


async def test_what_was_stored_before_is_readable_and_shown_with_escapes(alice: Actor) -> None:
    await alice.sql("UPDATE projects SET name = $2 WHERE merchant_id = $1::uuid", alice.merchant_id, "Gold\u202e3202")
    assert (await alice.get("/projects")).ok().body["projects"][0]["name"] == "Gold\u202e3202"
    shown = (await alice.send("GET", "/test/projects")).ok().text
    assert "Gold\\u202e3202" in shown
    assert "\u202e" not in shown
