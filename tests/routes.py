"""Every address of the program's own, those of its features among them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from django.urls import URLPattern, URLResolver, get_resolver


def own_routes(
    entries: Sequence[URLPattern | URLResolver] | None = None, above: str = ""
) -> Iterator[tuple[str, str]]:
    """Name and pattern of each but the administration's: `export`,
    `conversations/<uuid:id>/export`."""
    for entry in get_resolver().url_patterns if entries is None else entries:
        if isinstance(entry, URLPattern):
            yield str(entry.name), f"{above}{entry.pattern}"
        elif entry.namespace != "admin":
            yield from own_routes(entry.url_patterns, f"{above}{entry.pattern}")
