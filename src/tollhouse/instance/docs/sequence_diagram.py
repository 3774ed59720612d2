"""Sequence diagrams, written in Mermaid's language, as SVG: participants, messages, numbers and loops.

Lines and texts have the colour of the text around them, so that a diagram fits each theme.
"""

import re
from collections.abc import Iterator, Sequence
from html import escape
from itertools import pairwise

from msgspec import Struct

PARTICIPANT = re.compile(r"participant (\w+) as (.+)")
MESSAGE = re.compile(r"(\w+)-+>>(\w+): (.+)")
CHAR_PX, MARGIN, GAP_MIN, STEP, BOX_PX, HEAD = 6.6, 16, 150, 44, 34, 20
SELF_PX = 28


class Message(Struct, frozen=True):
    """An arrow from one participant to another, or to itself, by their places."""

    sender: int
    receiver: int
    text: str


class Loop(Struct, frozen=True):
    """The beginning of a frame around messages; without a text its end."""

    text: str


class Diagram(Struct, frozen=True):
    """The names of the participants, and what happens, in order."""

    names: tuple[str, ...]
    steps: tuple[Message | Loop, ...]


class DiagramError(ValueError):
    """A line of the source is of another language, or of a part of it that is not drawn."""


def svg_of(source: str) -> str:
    """The diagram as an SVG element. Raises `DiagramError`."""
    diagram = parse(source)
    centres = _centres(diagram)
    width = round(centres[-1] + _half(diagram.names[-1]) + MARGIN)
    body, height = _steps(diagram, centres, width)
    described = "; ".join(
        f"{diagram.names[step.sender]} to {diagram.names[step.receiver]}: {step.text}"
        for step in diagram.steps
        if isinstance(step, Message)
    )
    heads = "".join(_head(name, centre, height) for name, centre in zip(diagram.names, centres, strict=True))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'role="img" aria-label="{escape(described)}" font-size="12" fill="currentColor">{heads}{"".join(body)}</svg>'
    )


def parse(source: str) -> Diagram:
    """The diagram of a source. Raises `DiagramError`."""
    places, names, steps = dict[str, int](), list[str](), list[Message | Loop]()
    first, *lines = [line.strip() for line in source.splitlines() if line.strip()]
    if first != "sequenceDiagram":
        raise DiagramError(first)
    number = 0
    for line in lines:
        if participant := PARTICIPANT.fullmatch(line):
            places[participant[1]] = len(names)
            names.append(participant[2])
        elif (message := MESSAGE.fullmatch(line)) and {message[1], message[2]} <= places.keys():
            number += 1
            steps.append(Message(places[message[1]], places[message[2]], f"{number}. {message[3]}"))
        elif line.startswith("loop "):
            steps.append(Loop(line.removeprefix("loop ")))
        elif line == "end":
            steps.append(Loop(""))
        elif line != "autonumber":
            raise DiagramError(line)
    return Diagram(tuple(names), tuple(steps))


def _centres(diagram: Diagram) -> list[float]:
    """Where the lines of the participants are, so far from each other that the texts between them fit."""
    gaps = [max(GAP_MIN, _half(left) + _half(right) + MARGIN) for left, right in pairwise(diagram.names)]
    for message in sorted((step for step in diagram.steps if isinstance(step, Message)), key=_span):
        left, right = sorted((message.sender, message.receiver))
        needed = len(message.text) * CHAR_PX + 2 * MARGIN
        right, needed = (right + 1, needed + SELF_PX) if left == right else (right, needed)
        if right <= len(gaps) and (missing := needed - sum(gaps[left:right])) > 0:
            gaps[left:right] = [gap + missing / (right - left) for gap in gaps[left:right]]
    centres = [MARGIN + _half(diagram.names[0])]
    for gap in gaps:
        centres.append(centres[-1] + gap)
    return [round(centre) for centre in centres]


def _span(message: Message) -> int:
    return abs(message.sender - message.receiver)


def _half(name: str) -> float:
    return len(name) * CHAR_PX / 2 + MARGIN


def _head(name: str, centre: float, height: int) -> str:
    half = round(_half(name))
    return (
        f'<line x1="{centre}" y1="{HEAD + BOX_PX / 2}" x2="{centre}" y2="{height - MARGIN}" stroke="currentColor" '
        'stroke-opacity="0.35" stroke-dasharray="4 4"/>'
        f'<rect x="{centre - half}" y="{HEAD - BOX_PX / 2}" width="{2 * half}" height="{BOX_PX}" rx="6" fill="none" '
        'stroke="currentColor" stroke-opacity="0.6"/>'
        f'<text x="{centre}" y="{HEAD + 4}" text-anchor="middle" font-weight="600">{escape(name)}</text>'
    )


def _steps(diagram: Diagram, centres: Sequence[float], width: int) -> tuple[list[str], int]:
    """The elements of all steps, and the height of the diagram."""
    drawn, starts, y = list[str](), list[int](), HEAD + BOX_PX
    for step in diagram.steps:
        y += STEP
        if isinstance(step, Message):
            drawn += _message(step, centres, y)
        elif step.text:
            starts.append(y - STEP // 2)
            drawn.append(f'<text x="{MARGIN}" y="{y}" font-weight="600">{escape(step.text)}</text>')
        else:
            start, y = starts.pop(), y - STEP // 2
            drawn.append(
                f'<rect x="4" y="{start}" width="{width - 8}" height="{y - start}" rx="6" fill="none" stroke="currentColor" '
                'stroke-opacity="0.35"/>'
            )
    return drawn, y + STEP


def _message(message: Message, centres: Sequence[float], y: int) -> Iterator[str]:
    start, end = centres[message.sender], centres[message.receiver]
    if start == end:
        path = f"M{start} {y - 10}h{SELF_PX}v14h{4 - SELF_PX}"
        yield f'<path d="{path}" fill="none" stroke="currentColor"/>{_arrow(start, y + 4, -1)}'
        yield f'<text x="{start + SELF_PX + 8}" y="{y}">{escape(message.text)}</text>'
        return
    direction = 1 if end > start else -1
    yield f'<line x1="{start}" y1="{y}" x2="{end - 4 * direction}" y2="{y}" stroke="currentColor"/>'
    yield _arrow(end, y, direction)
    yield f'<text x="{(start + end) / 2}" y="{y - 7}" text-anchor="middle">{escape(message.text)}</text>'


def _arrow(x: float, y: float, direction: int) -> str:
    return f'<path d="M{x} {y}l{-8 * direction} -4v8z"/>'
