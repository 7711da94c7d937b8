"""Hostile Markdown becomes harmless HTML, within time."""

from __future__ import annotations

import re
import time
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsite.markdown import html_of
from chatsite.shares.rendering import shown_html

ALLOWED = {
    "a": {"href", "title", "rel"},
    "code": {"class"},
    "div": {"class", "tabindex", "role", "aria-label"},
    "ol": {"start", "dir"},
    "pre": {"class"},
    **dict.fromkeys(("th", "td"), {"class", "dir"}),
    **dict.fromkeys(("p", "li", "ul", "blockquote", "table"), {"dir"}),
    **dict.fromkeys(("h3", "h4", "h5", "h6"), {"dir"}),
    **dict.fromkeys(("strong", "em", "s", "hr", "br", "thead", "tbody", "tr"), set()),
}
PIECES = [
    *("javascript:", "data:text/html,", "vbscript:", "JaVaScRiPt&#58;", "<script>", "<img src=x>"),
    *(
        "onerror=",
        '"',
        "'",
        "<",
        ">",
        "&",
        "\\",
        "`",
        "~~~",
        "[",
        "](",
        ")",
        "![",
        "|",
        "-|-",
        "\n",
    ),
    *(
        "\n\n",
        "# ",
        "> ",
        "- ",
        "1. ",
        "$",
        "$$",
        "\\(",
        "\\]",
        "http://a",
        "https://b.c/?q=",
        "\0",
    ),
    *(
        ' style="text-align:left"',
        '<a href="',
        "</td>",
        "<table",
        "*",
        "_",
        "\u202e",
        "é",
        "x",
        " ",
    ),
]
HOSTILE = st.lists(st.sampled_from(PIECES), max_size=60).map("".join)


class Read(HTMLParser):
    """Every tag with its attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


@given(HOSTILE)
def test_only_harmless_elements_and_addresses_come_out(text: str) -> None:
    for tag, attributes in Read(shown_html(text)).tags:
        assert tag in ALLOWED, tag
        assert set(attributes) <= ALLOWED[tag], attributes
        if tag == "a":
            assert re.match(r"(https?://|mailto:)", attributes["href"] or "", re.IGNORECASE)
            assert attributes["rel"] == "nofollow noopener noreferrer"


@pytest.mark.parametrize(
    "text",
    [
        *(piece * (30_000 // len(piece)) for piece in ("[", "![", "> ", "- ", "*a_", "`", "~")),
        *(piece * (30_000 // len(piece)) for piece in ("\\(", "$$", "$a", "<", "[a](", "|-", "#")),
        "|".join("a" * 3_000) + "\n" + "-|" * 3_000 + "\n" + "a\n" * 3_000,
        "\n".join(" " * depth + "- x" for depth in range(200)),
    ],
    ids=lambda text: text[:4],
)
def test_the_worst_texts_take_two_seconds_at_most(text: str) -> None:
    began = time.process_time()
    shown_html(text)
    assert time.process_time() - began < 2.0 * 2


def test_a_formula_stays_as_it_is_written_and_prices_are_no_formula() -> None:
    assert html_of(r"So \(x_1\) and $a*b*c$.") == (
        r"<p>So <code>\(x_1\)</code> and <code>$a*b*c$</code>.</p>"
    )
    assert html_of("It costs $5, or $6 with *cream*.") == (
        "<p>It costs $5, or $6 with <em>cream</em>.</p>"
    )


def test_headings_stand_below_those_of_the_page_and_blocks_have_their_direction() -> None:
    made = shown_html("# שלום\n\n| a | b |\n|:-:|--:|\n| 1 | 2 |")
    assert '<h3 dir="auto">' in made and '<th dir="auto" class="center">a</th>' in made
    assert "style=" not in made
