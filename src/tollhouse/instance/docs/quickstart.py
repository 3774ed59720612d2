"""The quickstart of a person who has an account here: a test key is in every command, and what is done is left out."""

import re
from functools import cache
from html import escape

from msgspec import structs

from tollhouse.instance.docs import book
from tollhouse.instance.docs.book import Chapter

NAME = "quickstart"
DONE = ("Start the service", "Create a merchant account")
"""Sections that this server and the account of the person make needless."""
MAKE_KEY, YOUR_KEY = "Create an API key", "Your test key"
PLACEHOLDER = "th_test_YOUR_KEY"
"""Stands for the key until it is shown: a rendered page is kept, and a key is not."""
SECTION = re.compile(r"^## ", re.MULTILINE)
HELPERS = re.compile(r"^BASE=.*\n^field\(\) .*\n", re.MULTILINE)
OPENING = """\
# Quickstart

In this tutorial you accept a test payment on this server and receive a verified webhook. It takes about five minutes.

You need Python 3.11 or newer and `curl`. Run the commands in order, in one shell. No real money moves.

"""
KEY_SECTION = """\
Your key works only in the test environment. Check it:

```sh
{helpers}curl -fsS "$BASE/api/v2/integration/account" -H "X-API-Key: $KEY"
```

"""


def with_key(chapter: Chapter, api_key: str) -> Chapter:
    """The quickstart with this key. `chapter` has the address of the server already."""
    rendered = _with_placeholder(chapter)
    return structs.replace(rendered, html=rendered.html.replace(PLACEHOLDER, escape(api_key)))


@cache
def _with_placeholder(chapter: Chapter) -> Chapter:
    _, *sections = SECTION.split(chapter.markdown)
    [helpers] = HELPERS.findall(chapter.markdown)
    titled = [section.partition("\n") for section in sections]
    kept = [
        (YOUR_KEY, KEY_SECTION.format(helpers=helpers)) if title == MAKE_KEY else (title, text.lstrip("\n"))
        for title, _, text in titled
        if title not in DONE
    ]
    text = OPENING + "".join(f"## {title}\n\n{text}" for title, text in kept)
    return book.read(NAME, chapter.about, text.replace("$KEY", PLACEHOLDER))
