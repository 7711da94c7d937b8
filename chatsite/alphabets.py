"""Guesses the encoding of a text by the letters of languages, and by their places in words.

A mail or a table of a few words holds a dozen characters besides ASCII. Two encodings differ then
in whether these are letters of one language, and in scripts of their own whether they are frequent.
"""

from __future__ import annotations

import codecs
import re
from collections import Counter
from typing import NamedTuple

# The guess looks at this many bytes, from the first on that isn't ASCII.
SEEN = 4 * 1024
# All control characters but those that texts have: tab, line ends, and escape (colours in logs).
NOT_IN_TEXT = re.compile("[\x00-\x07\x0e-\x1a\x1c-\x1f]")
# Bytes that an encoding doesn't use become these in Python.
UNUSED = re.compile("[\x7f-\x84\x86-\x9f]")
ISO_2022_JP = re.compile(rb"\x1b\$[@B][!-~]+\x1b\([BJ]")
_UTF8 = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
# Signs that texts of many languages have; words have only the first ones inside.
_IN_WORDS = frozenset("’·‘–—…\xad\xa0\u200c\u200d\u200e\u200f")
_SIGNS = _IN_WORDS | frozenset("€£§°«»¿¡“”„‚•©®™×½¼¾²³µ№ªº¢¥¦¬¯¶†‡‰‹›¸¨´±÷،؟؛")
_SIGNS |= frozenset(map(chr, (*range(0x3000, 0x3040), *range(0xFF00, 0xFF61))))
_AT_AN_END = frozenset("½¼¾®™²³ªº£")
# Letters that only end a word, and such that never begin one.
_LAST = frozenset("ςךםןףץ")
_NEVER_FIRST = frozenset("ьъыЬЪЫğĞ")
_LEAST = 0.55
# A writing's first encoding is by far the most frequent one.
_RARER = 0.025
# A few signs and letters are most often those of the West.
_WESTERN = 0.2


class Writing(NamedTuple):
    """`codecs` are Python's names. `letters` are in the order of their frequency where `ranked`.
    Writings of many characters list the frequent ones; `usual` are the first bytes of the others
    that one may expect."""

    codecs: tuple[str, ...]
    letters: str
    ranked: bool = False
    usual: range = range(0)

    def worth(self) -> dict[str, float]:
        """Weighs how well each letter speaks for this writing, with 1 at most."""
        fall = 0.6 / len(self.letters) if self.ranked else 0.0
        letters = {letter: 1 - fall * place for place, letter in enumerate(self.letters)}
        return dict.fromkeys(_SIGNS, 0.9) | letters


_KANA = "".join(map(chr, (*range(0x3041, 0x3097), *range(0x30A1, 0x30FD))))
_CHINESE = (
    "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所"
    "然家种事成方多经么去法学如都同现当没动面起看定天分还进好小部其些主样理心她本前开但因只从想实日者意无力它与长"
    "把机十民第公此已工使情明性知全三又关点正业外将两高间由问很最重并物手应向头文体政美相见被利什二等产或新己制身"
    "果加西月话合回特代内信表化老给世位次度门任常先海通教儿原东声提立及比员解水名真论处走义各入几口认条平系气题活"
    "更别打女变四总何电数安少报才结反受目太量再感建务做接必场件计管期市直资命山金指统区保至形社便空决治展科司五基"
    "非则听白光放难且思王完设式色路记南品住告类求据程北边张交规万取价格姓称号码型元百千单钱州广京這個們來為國說時"
    "會對於著過發後裡種經麼學現當沒動還進樣開從實無與長機關點業將兩間問並應頭體見產話內給門兒東聲員論處義幾認條氣"
    "題別變總電數報結務場計資統區決則聽難設記類據邊張規萬價稱號碼單錢臺灣您请請谢謝客户戶联聯订訂额額"
)
_KOREAN = (
    "이다의는에가을고하지로기사도한리어자시대나인아정일부전과라해스서보수것그제상주여구들국장위공만원등안세동요우경연"
    "오성조거모발통회신르면미계방학있었은름울김를니습합입문용생내적체소관선실분진중무개간비영행산으업조화드트"
)
_JAPANESE = (
    "日一国人年大十二本中長出三時行見月後前生五間上東四今金九入学高円子外八六下来気小七山話女北午百書先名川千水半男"
    "西電校語土木聞食車何南万毎白天母火右読友左休父雨都市価格田京県部社会事業者地方品番号住所員"
)

_WEST = ("cp1252", "iso8859_15", "cp850", "mac_roman")
_CENTRAL = ("cp1250", "iso8859_2", "cp852")
_CYRILLIC = ("cp1251", "koi8_r", "cp866", "iso8859_5", "mac_cyrillic")

_WRITINGS = (
    Writing(("cp932",), _JAPANESE + _KANA, usual=range(0x88, 0xA0)),
    Writing(("euc_jp",), _JAPANESE + _KANA, usual=range(0xB0, 0xD0)),
    Writing(("cp949",), _KOREAN, usual=range(0xB0, 0xC9)),
    Writing(("gb18030",), _CHINESE, usual=range(0xB0, 0xD8)),
    Writing(("big5",), _CHINESE, usual=range(0xA4, 0xC7)),
    Writing(_WEST, "äöüß"),
    Writing(_WEST, "éèàçêùôîâûëïüœÿ"),
    Writing(_WEST, "áéíñóúü"),
    Writing(_WEST, "ãçáéõíóêâôàúü"),
    Writing(_WEST, "àèéìòù"),
    Writing(_WEST, "åäöéü"),
    Writing(_WEST, "æøåéü"),
    Writing(_WEST, "àçéèíïòóúü"),
    Writing(("cp1254", "iso8859_9"), "ışğüçöİ"),
    Writing(("cp1252", "iso8859_15"), "áðéíóúýþæö"),
    Writing(_CENTRAL, "łóążęćśńź"),
    Writing(_CENTRAL, "áíéřčžýěšůúťňóďöü"),
    Writing(_CENTRAL, "áíčéžšýľťúňďôóä"),
    Writing(_CENTRAL, "áéíóöőúüű"),
    Writing(_CENTRAL, "čćđšž"),
    Writing(_CENTRAL, "ăâîşţ"),
    Writing(("iso8859_16",), "ăâîșț"),
    Writing(("cp1257", "iso8859_13"), "ąčęėįšųūž"),
    Writing(("cp1257", "iso8859_13"), "āčēģīķļņšūž"),
    Writing(("cp1257", "iso8859_13"), "äõöüšž"),
    Writing(("cp1258",), "đơưăâêôàáèéíóùúý\u0300\u0301\u0303\u0309\u0323"),
    Writing(_CYRILLIC, "оеаинтсрвлкмдпуяыьгзбчйхжшюцщэфъё", ranked=True),
    Writing(("cp1251", "koi8_u", "iso8859_5"), "оанівиертскулдмпзяьбгйчхцжюєїшщфґ", ranked=True),
    Writing(("cp1251", "iso8859_5"), "аоиенрстјувкдмплгзбчшцњжљћхђфџ", ranked=True),
    Writing(("cp1253", "iso8859_7"), "αοιετσνηςρπυκμλόίάωδέήγθύχώφβξζψϊϋΐΰ", ranked=True),
    Writing(("cp1255", "iso8859_8"), "יולהאתרמבשנםעדחקפגכסזטצןךףץ־׳״", ranked=True),
    Writing(("cp1256", "iso8859_6"), "اليمنتروبةهعدسفكقحجشصأىطخذءثئضزغإظآؤ", ranked=True),
    Writing(("cp1256",), "ایرندوتمهبسلکشزفگعخقجپحصآطچضغظذثژء", ranked=True),
    Writing(("cp874",), "านรอกเงมยลวดทสตะปบคหแจพชขใไโผธณศซถภษญฟฐ่้ีิั์ื็ุูำ๊๋ๆ", ranked=True),
)
_WORTHS = tuple((writing, writing.worth()) for writing in _WRITINGS)

# Of each character besides ASCII, how often it stands in the text, and the sum of its faults.
_Signs = dict[str, tuple[int, float]]


def likely_encodings(data: bytes, declared: str = "") -> list[str]:
    """Lists Python's names of the encodings that the text may be in, the most plausible one first;
    none if no language explains the text. `declared` is the encoding that the text claims."""
    sample = first_beyond_ascii(data)
    if is_mostly_utf8(sample):
        return []
    readings: dict[str, _Signs | None] = {}
    found: list[tuple[float, str]] = []
    for writing, worth in _WORTHS:
        for rank, codec in enumerate(writing.codecs):
            if codec not in readings:
                readings[codec] = _read_signs(sample, codec, writing)
            if signs := readings[codec]:
                score = _measure_score(signs, codec, writing, worth) - _RARER * rank
                found += [(score, codec)] if score >= _LEAST else []
    # A tie goes to the first: so does what several languages have, such as "ö".
    found.sort(key=lambda one: (one[0], one[1] == declared), reverse=True)
    return list(dict.fromkeys(codec for _, codec in found))


def first_beyond_ascii(data: bytes) -> bytes:
    """Cuts a sample that begins just before the first byte beyond ASCII; empty if there is none."""
    found = re.search(b"[\x80-\xff]", data)
    if not found:
        return b""
    start = max(data.rfind(b"\n", 0, found.start()) + 1, found.start() - 200)
    return data[start : start + SEEN]


def is_mostly_utf8(sample: bytes) -> bool:
    """Tells whether most of what isn't ASCII is UTF-8: another reading would be garbage."""
    rest, right = _UTF8.subn(b"", sample)
    wrong = sum(byte > 0x7F for byte in rest)
    return right >= 2 and right > 3 * wrong


def _read_signs(sample: bytes, codec: str, writing: Writing) -> _Signs | None:
    """Counts the characters of a reading with their faults; None if some byte has no meaning in
    this encoding. The other writings in the encoding are of the same kind."""
    try:
        # The sample may end within a character.
        text = codecs.getincrementaldecoder(codec)().decode(sample)
    except UnicodeDecodeError:
        return None
    if NOT_IN_TEXT.search(text) or UNUSED.search(text):
        return None
    signs: _Signs = {}
    places = Counter(zip(f" {text}", text, f"{text[1:]} ", strict=False))
    for (before, sign, after), times in places.items():
        if sign > "\x7f":
            seen, faults = signs.get(sign, (0, 0.0))
            signs[sign] = (
                seen + times,
                faults + times * _measure_fault(before, sign, after, writing),
            )
    return signs


def _measure_score(signs: _Signs, codec: str, writing: Writing, worth: dict[str, float]) -> float:
    """Measures how well the language explains what isn't ASCII, from 1 for entirely downwards."""
    total = _WESTERN if codec == "cp1252" and writing.codecs == _WEST else 0.0
    for sign, (times, faults) in signs.items():
        value = worth.get(sign, worth.get(sign.lower()))
        if value is None and (writing.ranked or not sign.isalpha()):
            value = -1.5
        elif value is None and writing.usual:
            value = 0.6 if sign.encode(codec)[0] in writing.usual else -0.5
        elif value is None:
            value = 0.3  # of another language, as names are
        total += value * times - faults
    return total / sum(times for times, _ in signs.values())


def _measure_fault(before: str, sign: str, after: str, writing: Writing) -> float:
    """Measures how unlikely the character is in this place of a word."""
    if sign in _SIGNS:
        inside = after.isalpha() and (before.isalpha() or sign in _AT_AN_END)
        if writing.usual or not (inside or before > "\x7f" < after):
            return 0.0
        return -0.1 if sign in _IN_WORDS else 1.9
    fault = 1.0 if before.islower() and sign.isupper() else 0.0
    fault += 0.5 if before.isupper() and sign.isupper() and after.islower() else 0.0
    fault += 1.0 if sign in _LAST and after.isalpha() else 0.0
    fault += 1.0 if sign in _NEVER_FIRST and not before.isalpha() else 0.0
    if writing.ranked or writing.usual:  # It isn't mixed with ASCII's letters.
        return fault + any(one.isascii() and one.isalpha() for one in (before, after)) / 2
    fault += 0.1 if not (before.isalpha() or after.isalpha()) else 0.0
    # Latin words consist of those. Portuguese has "õe" alone; in Hungarian the byte is "ő".
    fault += 0.5 if before > "\x7f" and after > "\x7f" else 0.0
    return fault + (0.5 if sign in "õÕ" and after not in "eE" and writing.codecs == _WEST else 0.0)
