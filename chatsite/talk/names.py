"""Who is who in a Talk room, where anybody may call themselves as they like. Pure.

Not Unicode's whole list: what isn't of a script that people's names are written in is never taken
for an ordinary name (`room_names`), so that only letters of those scripts are compared.

A name is shown alone where it is an ordinary one and only one person of the room bears it, or one
that looks like it. Every other comes with its bearer's id in parentheses, and no name has
parentheses or colons of its own. Further lines of a text are indented, all of them: only a new
message begins a line.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Mapping
from functools import lru_cache
from itertools import chain

# Default_Ignorable_Code_Point of Unicode, and what else has no picture.
_UNSEEN = frozenset(
    map(
        chr,
        chain(
            (0xAD, 0x34F, 0x61C, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFEFF, 0xFFA0),
            range(0x180B, 0x1810),
            range(0x200B, 0x2010),
            range(0x202A, 0x202F),
            range(0x2060, 0x2070),
            range(0xFE00, 0xFE10),
            range(0xFFF0, 0xFFF9),
            (0x13441, 0x13442, 0x16FE4, 0x1D159),
            range(0x1BCA0, 0x1BCA4),
            range(0x1D173, 0x1D17B),
            range(0xE0000, 0xE1000),
        ),
    )
)
# Those of other scripts, both cases, with the Latin ones that they look like.
_PAIRS = (
    # Cyrillic
    ("АВЕЅІЈКМНОРСТУХҮҺԌԚԜЬ", "abesijkmhopctyxyhgqwb"),
    ("авеѕіјкмнорстухүһԁԛԝӏгпиьѵѡөєґ", "abesijkmhopctyxyhdqwlrnubvwoer"),
    # Greek
    ("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹϺ", "abezhikmnoptyxcm"),
    ("αβγεηικνορςστυχωϲϳ", "abyenikvopcotuxwcj"),
    # Armenian
    ("ՕՍԼՏՀօսոհյցզ", "oslshounhjgq"),
    # Latin letters without a decomposition
    ("øØłŁđĐðÐħĦıŧŦŋŊəƏɑɡ", "oollddddhhittnneeag"),
    # Digits and letters of one script
    ("1iI|0", "llllo"),
    # Chinese and Japanese, Arabic and Persian
    ("ニカタロエトハーへ", "二力夕口工卜八一ヘ"),
    ("يىك", "ییک"),
)
LOOK_ALIKES = {
    ord(one): like
    for letters, likes in _PAIRS
    for one, like in zip(letters, likes.replace("i", "l"), strict=True)
}
# Of Latin, those that ordinary names have; all others are made for something else.
_LATIN = frozenset("æÆœŒßẞøØłŁđĐðÐþÞħĦıŧŦŋŊəƏ")
_CJK = frozenset(("CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "IDEOGRAPHIC"))


def is_seen(character: str) -> bool:
    return character not in _UNSEEN and unicodedata.category(character)[0] not in "CZ"


def script_of(character: str) -> str:
    """The script of a letter or of a mark on one, as its name begins; "" for a letter that is no
    ordinary one of it."""
    script = unicodedata.name(character, "").partition(" ")[0]
    if script in _CJK:
        return "CJK"
    if script != "LATIN" or character in _LATIN:
        return script
    base = unicodedata.normalize("NFKD", character)[0]
    return script if base.isascii() else ""


# Behind so many names, every name that is new comes with its id.
MOST_NAMES = 2_000
LONGEST_ID = 60
# What an ordinary name is: so many words and characters, of one of these scripts.
_MOST_WORDS, _MOST_CHARACTERS = 5, 60
_SCRIPTS = frozenset(
    (
        *("LATIN", "GREEK", "CYRILLIC", "ARMENIAN", "GEORGIAN", "HEBREW", "ARABIC"),
        *("ETHIOPIC", "DEVANAGARI", "BENGALI", "GURMUKHI", "GUJARATI", "ORIYA", "TAMIL"),
        *("TELUGU", "KANNADA", "MALAYALAM", "SINHALA", "THAI", "LAO", "TIBETAN", "MYANMAR"),
        *("KHMER", "HANGUL", "CJK"),
    )
)
_JOINTS = re.compile("[-'.\N{RIGHT SINGLE QUOTATION MARK}]")
# What a name may show besides letters, digits and pictures.
_SHOWN = frozenset("-'._+&,@!?/\N{RIGHT SINGLE QUOTATION MARK}")
_BRACKETS = {"Ps": "[", "Pe": "]", "Pi": "[", "Pf": "]"}
# Letters and signs that look like a colon without being called so.
_COLONS = frozenset("\u02d0\u02d1\u0903\u0983\u0a03\u0a83\u0b03\u0c03\u0c83\u0d03\ua4fd\U0001d108")
# What stands before the text of those who aren't in the room, and what might.
_RESERVED = (
    *("assistant", "user", "system", "developer", "tool", "function", "human", "model"),
    *("agent", "bot", "chatbot", "ai", "admin", "administrator", "moderator"),
    *("everyone", "everybody", "all", "you", "me", "file", "assistent", "benutzer"),
    *("nutzer", "assistante", "utilisateur", "asistente", "usuario", "assistente", "utente"),
)
_INDENT = "  "

# Whose names have been seen in a room: by a name's key, the actors who bear it.
Names = Mapping[str, list[str]]


# ---- who bears which name ----------------------------------------------------------------------
def with_name(names: Names, name: str, actor: str) -> Names:
    """The names with this one, if it is new and there is room; and with the id of a user, by which
    nobody else can be called then."""
    kind, _, id = actor.partition("/")
    keys = {name_key(name), name_key(id)} if kind == "users" else {name_key(name)}
    for key in sorted(keys):
        names = _with_key(names, key, actor)
    return names


def _with_key(names: Names, key: str, actor: str) -> Names:
    known = names.get(key, [])
    if actor in known or len(known) > 1 or (not known and len(names) >= MOST_NAMES):
        return names
    return {**names, key: [*known, actor]}


def in_todays_keys(names: Names) -> Names:
    """The names as they were stored, also by an earlier version, which compared them otherwise."""
    if all(key == name_key(key) for key in names):
        return names
    found: dict[str, list[str]] = {}
    for key, actors in names.items():
        known = found.setdefault(name_key(key), [])
        known += [one for one in actors if one not in known][: 2 - len(known)]
    return found


def shown_name(names: Names, name: str, actor: str) -> str:
    """The name, with the actor's id where somebody else could be meant."""
    if names.get(name_key(name)) == [actor] and _is_ordinary(name):
        return name
    return f"{_without_marks(name) or '?'} ({_shown_id(actor)})"


def _shown_id(actor: str) -> str:
    id = actor.partition("/")[2]
    shown = _without_marks(id) or "?"
    if len(shown) <= LONGEST_ID:
        return shown
    # Another one may begin as long with the same.
    return f"{shown[: LONGEST_ID - 10]}+{hashlib.sha256(id.encode()).hexdigest()[:8]}"


# ---- what a name is ----------------------------------------------------------------------------
@lru_cache(maxsize=2 * MOST_NAMES)
def name_key(name: str) -> str:
    """The same for names that look the same: of their letters and digits, without what isn't seen,
    what stands between them, accents, and the differences between look-alikes."""
    once = unicodedata.normalize("NFKD", name).translate(LOOK_ALIKES).casefold()
    plain = unicodedata.normalize("NFKD", once).translate(LOOK_ALIKES)
    seen = "".join(one for one in plain if _is_of_a_word(one))
    return seen.replace("rn", "m").replace("vv", "w")


def _is_of_a_word(character: str) -> bool:
    kind = unicodedata.category(character)
    return is_seen(character) and (kind[0] in "LN" or kind == "Mc")


def _is_ordinary(name: str) -> bool:
    """Words of letters of one script and plain digits, as people are called; nothing that stands
    before others' texts."""
    plain = unicodedata.normalize("NFC", name)
    words = plain.split(" ")
    if len(plain) > _MOST_CHARACTERS or len(words) > _MOST_WORDS:
        return False
    if plain != unicodedata.normalize("NFKC", name) or not all(map(_is_word, words)):
        return False
    letters = [one for one in plain if unicodedata.category(one)[0] in "LM"]
    scripts = {script_of(one) for one in letters}
    called = {name_key(re.sub(r"\d", "", word)) for word in [*words, plain]}
    return len(scripts) == 1 and scripts <= _SCRIPTS and not called & _reserved()


def _is_word(word: str) -> bool:
    """ "Ada", "O'Hara", "Anne-Marie", "J.R.", and a number alone."""
    if word.isascii() and word.isdigit():
        return True
    parts = _JOINTS.split(word.removesuffix("."))
    return all(part and _is_letter(part[0]) and all(map(_is_plain, part)) for part in parts)


def _is_letter(character: str) -> bool:
    return unicodedata.category(character) in ("Lu", "Ll", "Lo", "Lt")


def _is_plain(character: str) -> bool:
    digit = character.isascii() and character.isdigit()
    seen = is_seen(character) and character not in _COLONS
    return digit or (seen and unicodedata.category(character)[0] in "LM")


@lru_cache(maxsize=1)
def _reserved() -> frozenset[str]:
    return frozenset(map(name_key, _RESERVED))


def _without_marks(name: str) -> str:
    """The name without what isn't seen, and without marks that could end it."""
    return " ".join("".join(map(_as_shown, name)).split())


def _as_shown(character: str) -> str:
    if not is_seen(character):
        return " " if character.isspace() else ""
    if _is_colon(character):
        return " "
    kind = unicodedata.category(character)
    if character in _SHOWN or kind[0] in "LMN" or kind == "So":
        return character
    return _BRACKETS.get(kind, " ")


def _is_colon(character: str) -> bool:
    called = unicodedata.name(character, "")
    return (
        character in _COLONS
        or ":" in unicodedata.normalize("NFKC", character)
        or "COLON" in called.split()
    )


# ---- texts -------------------------------------------------------------------------------------
def continued(text: str) -> str:
    """The text with every line behind the first one indented: the first stands behind the name of
    who wrote it, and none can be taken for somebody else's. Two blanks leave Markdown as it is."""
    first, *others = text.splitlines(keepends=True) or [""]
    return first + "".join(f"{_INDENT}{line}" if line.strip() else line for line in others)
