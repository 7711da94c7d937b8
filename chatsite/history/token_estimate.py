"""An estimate of the tokens of a text, for where nobody counted them."""

from __future__ import annotations

import json
import re
import string

from chatsite.messages import Message, Modality

# The frame that chat formats put around a message: OpenAI's recipe has three, and one for the role.
TOKENS_PER_MESSAGE = 4

# Roughly what providers charge for a file of this kind; they don't count it for us beforehand.
TOKENS_PER_FILE: dict[Modality, int] = {
    "document": 1_500,
    "image": 1_200,
    "audio": 1_500,
    "video": 2_500,
}

# ---- an estimate ---------------------------------------------------------------------------------
# Costs in tokens, fitted to o200k_base, cl100k_base and the tokenizer of SmolLM2 (49,000 tokens,
# made for English, digits one by one) over a hundred kinds of text: prose in 45 languages, code,
# data, hexadecimal, base64, blanks, emoji. They are set to reach the highest of the three counts:
# too high an estimate costs some history, too low a one the whole answer.
# tests/data/token_counts.json has what was measured.
#
# Words that are one token in all three. Where there are many of them, so that a text is English or
# code, the letters of other words cost less: so many letters for each of them.
_KNOWN, _OTHER, _LETTER, _LETTERS_NEAR, _NEAR = 1.2, 0.62, 0.31, 6, 0.12
# "aB" within a word; two capitals; a blank before a digit.
_HUMP, _CAPITALS, _BLANK_DIGIT = 1.3, 0.6, 0.8
_DIGIT, _MARK, _LINE, _TAB = 1.1, 0.82, 0.65, 0.85
# A blank before what isn't ASCII is mostly a part of it.
_BEFORE_OTHERS = -0.5
# Characters that are estimated at a time: a text may be English in parts.
_PIECE = 8_000
# What goes on: blanks from the second on, dashes and the like from the fourth on.
_RUN, _RUN_BYTE = 1.1, 0.03
_RUNS = tuple(
    (one * most + one, re.compile(re.escape(one) * (most + 1) + re.escape(one) + b"*"), one * most)
    for one, most in (
        (b" ", 1),
        (b"\t", 1),
        (b"\n", 2),
        *((each, 3) for each in b"- = * . _ # ~".split()),
    )
)
# In UTF-8 the first byte of a character shows the script, and the second one the block: (first
# bytes, cost, what is added for these two bytes).
_Blocks = tuple[tuple[bytes, float], ...]
_SCRIPTS: tuple[tuple[bytes, float, _Blocks], ...] = (
    (b"\xc2\xc3", 1.55, ()),  # Latin with accents, signs
    (b"\xc4\xc5", 2.1, ()),
    (bytes(range(0xC6, 0xCC)), 2.3, ()),
    (b"\xcc\xcd", 2.12, ()),  # combining marks
    (b"\xce\xcf\xd0\xd1", 1.14, ()),  # Greek, Cyrillic
    (bytes(range(0xD2, 0xD6)), 2.44, ()),  # Armenian
    (b"\xd6\xd7", 1.46, ()),  # Hebrew
    (bytes(range(0xD8, 0xE0)), 1.66, ()),  # Arabic
    (
        b"\xe0",  # Indic; Devanagari, Bengali and Tamil, Thai and Lao
        3.23,
        (
            *((b"\xe0" + bytes((second,)), -1.7) for second in b"\xa4\xa5"),
            *((b"\xe0" + bytes((second,)), -0.93) for second in b"\xa6\xa7\xae\xaf"),
            *((b"\xe0" + bytes((second,)), -1.25) for second in b"\xb8\xb9\xba\xbb"),
        ),
    ),
    (b"\xe1", 2.35, ((b"\xe1\xba", -0.4), (b"\xe1\xbb", -0.4))),  # Georgian, Khmer; Vietnamese
    # Signs; dashes and quotation marks, lines of tables.
    (b"\xe2", 3.0, ((b"\xe2\x80", -1.9), (b"\xe2\x94", -2.0), (b"\xe2\x95", -2.0))),
    (b"\xe3", 1.67, ((b"\xe3\x80", 1.0),)),  # kana; marks
    (bytes(range(0xE4, 0xEA)), 1.9, ()),  # Chinese
    (bytes(range(0xEA, 0xEE)), 2.91, ()),  # Korean
    # The form of an emoji, full-width letters.
    (b"\xee\xef", 3.13, ((b"\xef\xb8", -2.5), (b"\xef\xbc", -1.5))),
    (bytes(range(0xF0, 0xF5)), 3.5, ()),  # emoji
)
_NOT_FIRST = bytes(range(0xC0))
_WORDS = bytes(
    c | 0x20 if chr(c) in string.ascii_letters else 0x20 for c in range(256)
)  # words in small letters, all else a blank
_CONTINUED = bytes(range(0x80, 0xC0))


def _class(c: int) -> str:
    """What a byte is to the costs above: small, capital, digit, mark, or not ASCII."""
    one = chr(c)
    if one in string.ascii_letters:
        return "A" if one in string.ascii_uppercase else "a"
    if one in string.digits:
        return "0"
    if one in "\n\r":
        return "\n"
    return "x" if c > 0x7F else one if one in " \t" else "p"


_CLASSES = "".join(map(_class, range(256))).encode()

_COMMON = frozenset(
    b"""
the of and to for that you with or it we can at from was not this have int your their they comp
dis all imp will which more other man but out one if so were also part comm them up who into pre
these its some how self ind when his our may time under col there than diff cons over acc know
people like act year such rel been use help new what would need through work any import def spec
gen had off most mod develop many rem add used only first child system inst between two ret inf
learn where sub trans could health should well val different every high world even water just
make exp years ref set call then result those way each because effect while process during found
long pat dec after ext loc return dist prog read ent using cur lead rep fact test life very
being fun own she find understand right resp person back dep both follow important does grow
much main conf mon before information level great end start children good might within class
often around made said pop too power research design again small mem less example down take day
support human treat now individual state called point number build play though prof body did
must plan pos const inc common want ident including three cell pass let don social govern char
method known real conn without environment public still change better hand another material
report place present project ben product feel light development sym become open mean few keep
others include direct various history create top perform home proper stand move among something
mark look things large think desc function against law group means rest dev here provide
particular several significant based area family potential due enc old current try program beg
early cal together focus access turn struct risk success making print opt avail possible low
impact certain period run case since specific local head post along order occur discuss
government text following across why addition cost times cause able problem systems major course
else prevent arg intern press hard line tool relations special available consider community
natural complex experience language role until second country works always suggest exist levels
problems put mar step today technology given strong little character results range treatment age
ways business book next far percent flow four represent similar short working essential past
space amount free concept later author conditions says needs words net give init kind mind
improve resources having field begin parent expect cells question knowledge changes appear
issues story upon require relationship difficult whether log types ask enough likely record
usually days address makes away norm sum questions further protect ever going dig individuals
left path higher growth big collect full super increase connect sure stat science never exc
physical side however term especially groups above event least maintain throughout contain
subject sound near personal modern affect population neg really rather became effects reason
quality practice loss associated pattern building cases detail size hold someone lower general
factors million comes meet already global doc word simple regard city abs members themselves
materials source towards production respect either once seen thought deep job according done
interact team file cut required helps created activity analysis fail products engine online live
fall methods lot management needed action idea sent evidence quick reduce target necessary break
surface popular color ensure red writing rights sun actually parts mess seem values lives port
sometimes yet entire share increased rate came approach response friends effective provides dest
clear below image whole national subst developed meaning arch services context ability taken
increasing continue avoid related instead states taking considered tell micro allows ann review
article cannot five training white reading check position tools behavior traditional except
doing everyone clean itself computer published sense week critical remain weight condition
measure offer content accept matter black draw bring took cat feed instance regular parents
green terms conduct implement express identify previous attention structure stories etc produce
region multiple select months provided face forms practices unit designed company elements
positive creating consist hours reflect almost shows half yourself bar service particularly
doesn recent claim dog involved programs thing temperature sources simply commit original close
sleep easy extra spread built aware started issue historical longer performance greater stop
written outside models believe points decl slow movement fire behind progress assert leading
media books communication code ones user remember standard uses custom adapt takes safety stay
caused normal write numbers getting inside six includes causes policy basic answer safe complete
primary features input late looking talk efforts exact achieve shape overall div visit average
cross compared damage shown decision strategies beyond requires force patterns processes network
poll series warm bill lack scientific quite town probably theory attempt quickly international
cover
""".split()
)


def estimate(text: str) -> int:
    """Tokens of `text`, rounded up, as the tokenizer that makes most of it would count.

    Some 15 ns a character of English, 40 of other scripts.
    """
    if not text:
        return 0
    return int(sum(_tokens(text[at : at + _PIECE]) for at in range(0, len(text), _PIECE))) + 1


def _tokens(text: str) -> float:
    data = text.encode("utf-8", "replace")
    tokens = 0.0
    for begins, run, kept in _RUNS:
        if begins in data:
            size = len(data)
            data, runs = run.subn(kept, data)
            tokens += _RUN * runs + _RUN_BYTE * (size - len(data))
    if not text.isascii():
        tokens += _beyond_ascii(data)
    words = data.translate(_WORDS).split()
    others = [word for word in words if word not in _COMMON]
    known, letters = len(words) - len(others), sum(map(len, others))
    tokens += _KNOWN * known + _OTHER * len(others)
    near = min(letters, _LETTERS_NEAR * known)
    tokens += _NEAR * near + _LETTER * (letters - near)
    count = data.translate(_CLASSES, _CONTINUED).count
    tokens += _HUMP * count(b"aA") + _CAPITALS * count(b"AA") + _BLANK_DIGIT * count(b" 0")
    tokens += (
        _BEFORE_OTHERS * count(b" x")
        + _DIGIT * count(b"0")
        + _MARK * count(b"p")
        + _LINE * count(b"\n")
        + _TAB * count(b"\t")
    )
    return tokens


def _beyond_ascii(data: bytes) -> float:
    first = data.translate(None, _NOT_FIRST)
    size, tokens = len(first), 0.0
    for starts, cost, blocks in _SCRIPTS:
        if found := size - len(first.translate(None, starts)):
            tokens += found * cost + sum(data.count(both) * more for both, more in blocks)
    return tokens


def estimate_message(message: Message) -> int:
    """Tokens of a whole message: text, reasoning, calls and files; never 0."""
    called = "".join(
        call.name + json.dumps(dict(call.arguments), ensure_ascii=False, default=str)
        for call in message.calls
    )
    files = sum(
        TOKENS_PER_FILE[file.modality] + estimate(file.name) for file in message.attachments
    )
    texts = (message.as_read().content, message.reasoning, called)
    return TOKENS_PER_MESSAGE + files + sum(estimate(text) for text in texts if text)


def tokens_of(message: Message) -> int:
    """The count that the message carries, else an estimate."""
    return message.tokens.count if message.tokens else estimate_message(message)
