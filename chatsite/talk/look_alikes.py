"""Characters that look like others, or like nothing. Pure.

Not Unicode's whole list: what isn't of a script that people's names are written in is never taken
for an ordinary name (`room_names`), so that only letters of those scripts are compared.
"""

from __future__ import annotations

import unicodedata
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
