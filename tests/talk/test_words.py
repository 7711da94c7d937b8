"""For whom what the bot posts may ring: nobody but who asked, and whom the question names."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsite.talk.text.words import rings, unringing

# How Nextcloud itself finds names in a comment (lib/private/Comments/Comment.php).
NEXTCLOUD = re.compile(
    r"""\B(?<![^a-z0-9_\-@.'\s])@(?P<name>"(guest|email)/[a-f\d]+"|"(?:federated_)?(?:group|team|user)/"""
    r"""[a-z0-9_\-@.' /:]+"|"[a-z0-9_\-@.' ]+"|[a-z0-9_\-@.']+)""",
    re.IGNORECASE | re.ASCII,
)


def found(text: str) -> list[str]:
    return [one["name"].strip('"') for one in NEXTCLOUD.finditer(text)]


@pytest.mark.parametrize("code", [False, True])
@pytest.mark.parametrize(
    "name",
    [
        *(
            "@all",
            "@@all",
            "-@-@all",
            "@-@all",
            '@"all"',
            '@"x @all"',
            "@.@all",
            "@'@ALL",
            "@@@all",
        ),
        *('@"all "', "@all.", '@bob @"-@all"', "@x@-@all", '@"eve @all'),
    ],
)
def test_everybody_is_never_called_in_code_neither(name: str, code: bool) -> None:
    text = f"`{name}`" if code else f"Ask {name}!"
    for about in ((), ("all",), ("eve @all", "x")):
        assert "all" not in [one.strip(" .").lower() for one in found(unringing(text, about=about))]


def test_who_asked_and_whom_they_name_stay_by_their_ids_alone() -> None:
    about = ("bob", "ada@harbour.example", "group/staff")
    kept = 'Ask @bob, @Bob. @"ada@harbour.example" and @"group/staff".'
    assert unringing(kept, about=about) == kept and not rings(kept, about=about)
    others = unringing('@bobby @"group/staff2" @"bob x" @harbour.example', about=about)
    assert not found(others)


def test_an_address_is_no_name() -> None:
    text = "Mail ada@harbour.example."
    assert unringing(text) == text and not rings(text, about=())


@given(st.text(alphabet="@alAxe-.'\"/_ \né", max_size=24))
def test_nobody_is_left_whom_nextcloud_would_find(text: str) -> None:
    once = unringing(text)
    assert not found(once) and not rings(once, about=())
    assert once.replace("\N{WORD JOINER}", "") == text
    assert unringing(once) == once
