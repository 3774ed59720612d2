"""Parsing XML of strangers: entities are not resolved, nothing is fetched; the library limits depth, text and expansion."""

from lxml import etree

Element = etree._Element  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - the library has no other name for it


def parse_xml(raw: bytes, encoding: str | None = None) -> Element:
    """The root of a document, without comments and processing instructions. `encoding` replaces the declared one.

    Raises `XMLSyntaxError`, and `ValueError` if the declared encoding does not match.
    """
    parser = etree.XMLParser(
        encoding=encoding,
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )
    return etree.fromstring(raw, parser)
