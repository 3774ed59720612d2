"""The choice of a time zone: places by part of the world, each with its UTC offset now."""

from collections.abc import Iterator
from datetime import datetime
from itertools import groupby

from tollhouse.http.local_formats import utc_offset
from tollhouse.kernel import clock
from tollhouse.kernel.text import Text, Translatable

REGIONS = {
    "Africa": Text("Africa"),
    "America": Text("America"),
    "Antarctica": Text("Antarctica"),
    "Arctic": Text("Arctic"),
    "Asia": Text("Asia"),
    "Atlantic": Text("Atlantic Ocean"),
    "Australia": Text("Australia"),
    "Europe": Text("Europe"),
    "Indian": Text("Indian Ocean"),
    "Pacific": Text("Pacific Ocean"),
}


def zone_choices(selected: str, now: datetime) -> Iterator[tuple[Translatable, list[tuple[str, str]]]]:
    """Groups of zones and their labels: `Berlin (UTC+1)`. A selected zone that is unknown is a choice too, by its name."""
    known = clock.zone_names()
    if selected not in known:
        yield _region(selected), [(selected, selected)]
    for region, names in groupby(known, _region):
        yield region, [(name, _label(name, now)) for name in names]


def _region(name: str) -> Translatable:
    region = name.partition("/")[0]
    return REGIONS.get(region, region)


def _label(name: str, now: datetime) -> str:
    place = (name.partition("/")[2] or name).replace("_", " ").replace("/", ", ")
    offset = utc_offset(now.astimezone(clock.zone_of(name)))
    return place if place == offset else f"{place} ({offset})"
