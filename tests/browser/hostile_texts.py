"""Markdown that a parser takes long over, gives up at, or makes too much of."""

from __future__ import annotations

# Why it is shown as it was written, as the page says it.
DEEP = "it is nested too deeply to be formatted."
MANY = "it has too many parts to be formatted."
LONG = "it is too long to be formatted."
SLOW = "formatting it took too long."


def table(columns: int, rows: int) -> str:
    """Few characters that make `columns` times `rows` cells."""
    return "|a" * columns + "|\n" + "|-" * columns + "|\n" + "a\n" * rows


# What is too deep, too much or too long is counted in tests/page/blocks.test.js; what is too slow
# ends with a worker, which only a browser has.
PLAIN = [
    ("> - " * 10_000 + "x", DEEP),
    ("*a_" * 20_000, SLOW),
    ("a" * 120_000 + "@", SLOW),
    (table(2_000, 2_000), SLOW),
    ("- a\n" * 10_001, MANY),
    ("x" * 1_000_000, LONG),
    ("words " * 40_000, LONG),
]
# Formatted somehow, and quickly; most of them were slow in some version of some parser.
FORMATTED = [
    "*a_" * 600, "[" * 5_000, "[a](" * 1_200, "![" * 2_000, "[a][b" * 1_000, "`" * 5_000,
    "a`b " * 1_000,
    " ".join("`" * length for length in range(1, 90)), "~~a" * 1_500, "<" * 4_000, "<a " * 1_500,
    '<a b="' * 700, "<!--" * 1_000, "<![CDATA[" * 500, "<?" * 2_000, "<div>" * 900, "a@" * 1_500,
    "http://" * 600, "www." * 900, "&" * 4_000, "&#" * 2_000, "&#x1F600;" * 500, "\\" * 4_000,
    "|" * 4_000, "|\n|-|\n" * 600, "\n" * 4_000 + "x", " " * 4_000 + "x", "x" + " " * 4_000 + "x",
    "\t" * 4_000 + "x", "#" * 4_000, "# " + "#" * 4_000 + "x", "a\n=" * 1_000,
    "[a]: b\n" * 500 + "[a]",
    "[a]: b '" + "\n'" * 1_500, "- a\nb\n" * 500, "-\n\n" * 500, "[a](" + "(" * 4_000,
    "[a](<" + "<" * 3_000,
    "```\n" * 100, "```js\nunclosed", "**unclosed", "[unclosed](https://example.org", "<b",
    "> ```\nx",
    "***a" * 900, "a**b" * 900, "\x01\ufeff\u202e\u200b",
]  # fmt: skip
# highlight.js takes a quarter of a minute for the first of these.
CODE = [
    ("java", "$" * 59_000), ("ini", "0" * 59_000), ("typescript", "_" * 59_000),
    ("nothing", "<" * 9_000),
]  # fmt: skip
