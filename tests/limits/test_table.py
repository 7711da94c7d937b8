"""The table of limits names every route and every command, and SECURITY.md shows it."""

from __future__ import annotations

import re

import pytest

from chatsite.environment import BASE_DIR
from chatsite.limits import table
from chatsite.limits.table import COMMANDS, KIB, ROUTES, Most, Rate
from chatsite.live.commands import OWN_WORDS
from chatsite.messages import MAX_ATTACHMENT_BYTES
from tests.routes import own_routes

RATES = {name: value for name, value in vars(table).items() if isinstance(value, Rate)}
MOSTS = [value for value in vars(table).values() if isinstance(value, Most)]
SECURITY = (BASE_DIR / "SECURITY.md").read_text()


def test_every_route_has_a_row_and_no_row_is_without_a_route() -> None:
    assert sorted(ROUTES) == sorted(name for name, _ in own_routes())


def test_every_command_has_a_row() -> None:
    known = re.findall(r"[a-z]+(?=,| or|$)", OWN_WORDS["union_tag_invalid"].split("must be ")[1])
    assert sorted(COMMANDS) == sorted(known) and all(COMMANDS.values())


def test_every_rate_is_used() -> None:
    used = {rate for rates in COMMANDS.values() for rate in rates}
    used |= {route.rate for route in ROUTES.values()}
    source = "\n".join(path.read_text() for path in (BASE_DIR / "chatsite").rglob("*.py"))
    for name, rate in RATES.items():
        assert rate in used or len(re.findall(rf"\b{name}\b", source)) > 1, name


def test_a_file_may_be_as_large_as_the_page_says() -> None:
    assert ROUTES["files"].body == MAX_ATTACHMENT_BYTES


def row(rate: Rate) -> str:
    return f"| {shown_name(rate)} | {rate.burst:,} | {rate.a_minute:,} |"


def shown_name(rate: Rate) -> str:
    return f"{rate.what} *" if rate.shared else rate.what


@pytest.mark.parametrize("rate", RATES.values(), ids=RATES.keys())
def test_security_md_shows_every_rate(rate: Rate) -> None:
    assert row(rate) in SECURITY


def test_security_md_shows_what_may_be_there_at_the_same_time() -> None:
    for most in MOSTS:
        assert f"| {most.what} | {most.most:,} | {most.in_all:,} |" in SECURITY


def test_security_md_shows_nothing_else() -> None:
    shown = re.findall(r"^\| ([^|]+) \| [\d,]+ \| [\d,]+ \|$", SECURITY, flags=re.MULTILINE)
    known = [shown_name(rate) for rate in RATES.values()] + [most.what for most in MOSTS]
    assert sorted(shown) == sorted(known)


def test_security_md_shows_the_largest_bodies() -> None:
    for name, route in ROUTES.items():
        if route.body >= KIB * KIB:
            assert f"{route.body // KIB // KIB} MB" in SECURITY, name
