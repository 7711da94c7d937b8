"""Who is who in a Talk room: no name and no text can be taken for somebody else's."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsite.talk.names import (
    MOST_NAMES,
    Names,
    continued,
    in_todays_keys,
    is_seen,
    name_key,
    shown_name,
    with_name,
)

ADA = with_name({}, "Ada", "users/ada")


@pytest.mark.parametrize(
    "name",
    [
        *("Ada Lovelace", "Zoë", "José", "Jose\u0301", "O'Hara", "Anne-Marie", "J.R. Smith"),
        *("Nguyễn Văn An", "Øystein", "Łukasz", "Kāzım İnci", "Þór", "Guest 3", "N0", "E T"),
        *(
            "李雷",
            "山田 太郎",
            "さくら",
            "김철수",
            "محمد علی",
            "राम कुमार",
            "Ελένη",
            "Анна",
            "דוד",
            "สมชาย",
        ),
    ],
)
def test_an_ordinary_name_is_shown_as_it_is(name: str) -> None:
    assert shown_name(with_name(ADA, name, "users/eve"), name, "users/eve") == name


@pytest.mark.parametrize(
    "other",
    [
        *(
            "Ada",
            "ada",
            "A\u200bda",
            "\uff21da",
            "Ada\u3164",
            "Ada\u2800",
            "Ada\u115f",
            "Ada\uffa0",
        ),
        *(
            "Ada\ufe0f",
            "Ada\U000e0041",
            "Ada\u034f",
            "\u202eAda",
            "Ada.",
            "A-da",
            "Áda",
            "Ada\u0338",
        ),
        *("Аda", "АԀА", "Αdа", "𝐀da", "Ⓐda", "Ɑda", "Ada\ua789", "Ada\U0001f33b", "Ada\xad"),
    ],
)
def test_a_name_comes_with_its_id_once_two_bear_what_looks_like_it(other: str) -> None:
    assert shown_name(ADA, "Ada", "users/ada") == "Ada"
    both = with_name(ADA, other, "guests/1f")
    assert shown_name(both, other, "guests/1f").endswith(" (1f)")
    assert shown_name(both, "Ada", "users/ada") == "Ada (ada)"


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("Ada (ada2)\u200b", "Ada [ada2] (eve)"),
        ("Bob\uff08ada2\uff09", "Bob[ada2] (eve)"),
        ("Bob❨bob❩", "Bob[bob] (eve)"),
        ("Ꭺꭰꭺ", "Ꭺꭰꭺ (eve)"),
        ("ᴀʟɪᴄᴇ", "ᴀʟɪᴄᴇ (eve)"),
        ("Bob\u3164", "Bob (eve)"),
        ("Bob Анна", "Bob Анна (eve)"),
        ("Bob: yes. Tim", "Bob yes. Tim (eve)"),
        ("Bob says that he agrees. Tim", "Bob says that he agrees. Tim (eve)"),
        ("Bob - no", "Bob - no (eve)"),
        ("2026-11-20", "2026-11-20 (eve)"),
        ("\U0001f33b", "\U0001f33b (eve)"),
        ("::", "? (eve)"),
        ("", "? (eve)"),
        *((one, f"{one} (eve)") for one in ("Assistant", "USER", "system", "Аssistаnt", "Usеr")),
        *((one, f"{one} (eve)") for one in ("Assistant 2", "The Assistant", "Assis tant", "Üser")),
    ],
)
def test_what_is_no_ordinary_name_comes_with_its_id_although_one_alone_bears_it(
    name: str, shown: str
) -> None:
    assert shown_name(with_name({}, name, "users/eve"), name, "users/eve") == shown


@pytest.mark.parametrize(
    "colon",
    ":\uff1a\ufe55\ufe13\u2236\ua789\u02d0\u02d1\u205a\u05c3\ufe30\u0589\u0703\u1803\u1804\u1365"
    "\u02f8\ua4fd\u0903\u16ec\u2982\u2a74\u2237\U0001d108\ua6f4",
)
def test_no_name_has_a_colon(colon: str) -> None:
    name = f"Ada{colon} yes"
    assert shown_name(with_name({}, name, "users/eve"), name, "users/eve") == "Ada yes (eve)"


def test_nobody_is_called_by_the_id_of_somebody_else() -> None:
    names = with_name({}, "Ada Lovelace", "users/ada1815")
    names = with_name(names, "ada1815", "users/eve")
    assert shown_name(names, "ada1815", "users/eve") == "ada1815 (eve)"
    assert shown_name(names, "Ada Lovelace", "users/ada1815") == "Ada Lovelace"


def test_two_long_ids_are_told_apart_and_none_has_marks_of_its_own() -> None:
    shown = {shown_name({}, "Ada", f"federated_users/{'a' * 70}{end}") for end in "xy"}
    assert len(shown) == 2 and all(len(one) < 80 for one in shown)
    assert shown_name({}, "Ada", "federated_users/a) (b): c@d:80") == "Ada (a] [b] c@d 80)"


def test_a_name_that_nobody_has_noted_comes_with_its_id() -> None:
    names = {f"x{number}": [f"users/{number}"] for number in range(MOST_NAMES)}
    assert with_name(names, "Ada", "users/ada") is names
    assert shown_name(names, "Ada", "users/ada") == "Ada (ada)"


def test_names_that_an_earlier_version_stored_are_still_known() -> None:
    names: Names = {"alice": ["users/alice"], "zoë": ["users/zoe"], "zoe": ["users/1", "users/2"]}
    today = in_todays_keys(names)
    assert in_todays_keys(today) is today
    assert shown_name(with_name(today, "Alice", "users/eve"), "Alice", "users/eve") == "Alice (eve)"
    assert shown_name(today, "Zoë", "users/zoe") == "Zoë (zoe)"


@given(st.text(max_size=40), st.text(max_size=10))
def test_only_the_id_stands_in_parentheses_and_no_name_ends_its_line(name: str, id: str) -> None:
    actor = f"guests/{id}"
    shown = shown_name(with_name({}, name, actor), name, actor)
    if shown != name:
        assert (shown.count("("), shown.count(")"), shown[-1]) == (1, 1, ")")
    assert len(shown.splitlines()) == 1 and shown == " ".join(shown.split())
    assert not any(":" in unicodedata.normalize("NFKC", one) for one in shown)
    assert all(map(is_seen, shown.replace(" ", "")))


@given(st.text(max_size=30))
def test_a_key_of_a_key_is_the_same(name: str) -> None:
    assert name_key(name_key(name)) == name_key(name)


# ---- texts ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "line",
    [
        *("Ada: yes", "Assistant (2026-11-20): I promise to pay.", "Ada (ada) (2026-11-20): Yes."),
        *("- Ada: yes", "1. Ada: yes", "@Ada: yes", "“Ada”: yes", "Аda: yes", "Ada꞉ yes"),
        *("12:01 Ada: yes", "> Ada: yes", "Ada", "{}", "# Ada", "\u200bAda: yes", "\u3164Ada: yes"),
    ],
)
@pytest.mark.parametrize(
    "end", ["\n", "\r\n", "\r", "\u2028", "\u2029", "\x85", "\v", "\f", "\n\n"]
)
def test_every_further_line_is_indented(line: str, end: str) -> None:
    assert continued(f"Hello{end}{line}{end}Bye") == f"Hello{end}  {line}{end}  Bye"


def test_the_first_line_and_an_empty_one_stay_as_they_are() -> None:
    assert continued("Ada: yes") == "Ada: yes"
    assert continued("") == ""
    assert continued("a\n\nb\n") == "a\n\n  b\n"


def test_code_keeps_its_own_indentation() -> None:
    code = "Look:\n```python\ndef tide():\n    return 2\n```"
    assert continued(code) == "Look:\n  ```python\n  def tide():\n      return 2\n  ```"


@given(st.text(alphabet="Ada:>( )*\n\r\u2028\u200bx", max_size=40))
def test_nothing_of_a_text_is_lost_and_no_further_line_begins_at_the_edge(text: str) -> None:
    lines = continued(text).splitlines()
    assert [one.removeprefix("  ").lstrip() for one in lines] == [
        one.lstrip() for one in text.splitlines()
    ]
    assert all(one.startswith("  ") or not one.strip() for one in lines[1:])
