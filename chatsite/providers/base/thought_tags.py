"""The tags between which models write their thoughts, cut anywhere."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

_NAMES = (
    *("think", "thinking", "thought", "thoughts", "reason", "reasoning", "seed:think", "mm:think"),
    *("antthinking", "antml:thinking", "reasoning_scratchpad"),
)
_FINAL = "<|channel|>final<|message|>"
_FINALS = (f"<|end|><|start|>assistant{_FINAL}", f"<|start|>assistant{_FINAL}", f"<|end|>{_FINAL}")
# What begins a thought, and what may end it, in lower case: first the tags of many models, then
# those of Mistral, Kimi, Command, OpenThinker, Apertus, Gemma, MedGemma and gpt-oss.
TAGS: Mapping[str, tuple[str, ...]] = {
    **{f"<{name}>": (f"</{name}>",) for name in _NAMES},
    "[think]": ("[/think]",),
    "◁think▷": ("◁/think▷",),
    "<|start_thinking|>": ("<|end_thinking|>",),
    "<|begin_of_thought|>": ("<|end_of_thought|>",),
    "<|inner_prefix|>": ("<|inner_suffix|>",),
    "<|channel>thought\n": ("<channel|>",),
    "<unused94>thought\n": ("<unused95>",),
    "<|channel|>analysis<|message|>": (*_FINALS, _FINAL),
    "<|start|>assistant<|channel|>analysis<|message|>": (*_FINALS, _FINAL),
}
_ENDS = tuple(dict.fromkeys(end for ends in TAGS.values() for end in ends))
LONGEST = max(map(len, (*TAGS, *_ENDS)))


def _pattern(tags: Iterable[str], *, behind: str = "") -> re.Pattern[str]:
    """For one of the tags, with blanks where models write some: between its parts, and before its
    end."""
    parts = [re.fullmatch(r"(.*?)(/>|.)", tag, re.S) for tag in tags]
    every = [
        r"\s*<\|".join(map(re.escape, part[1].split("<|"))) + r"\s*" + re.escape(part[2])
        for part in parts
        if part
    ]
    return re.compile(f"(?:{'|'.join(every)}){behind}", re.IGNORECASE | re.ASCII)


BEGINS = {begin: _pattern([begin]) for begin in TAGS}
ENDS_OF = {ends: _pattern(ends) for ends in TAGS.values()}
_ANY_BEGIN = _pattern(TAGS)
# An end without a beginning, on a line's end: some templates write the beginning into the prompt.
_LONE = _pattern(_ENDS, behind=r"(?=[ \t]*\r?\n)")
_LINE_END = re.compile(r"[>\]▷][ \t]*\r?\n")
# The same, or an empty thought, at the answer's beginning: no word about the tag may follow.
_NONE = (*_ENDS, *(f"<{name}/>" for name in _NAMES))
SKIPPED = _pattern(_NONE, behind=r"(?=[ \t]*\r?\n|[a-z0-9\u00c0-\u1fff\u3040-\uffff])")
_MAYBE_SKIPPED = _pattern(_NONE, behind=r"[ \t]*\r?\Z")
BLANKS = re.compile(r"[\s\ufeff\u200b]*")
_INNER_BLANKS = re.compile(r"\s+(?=[<>/\]]|\Z)")
# gpt-oss at servers that leave its marks out: the names of its channels alone are left.
_UNMARKED = re.compile(
    r"analysis(?=[^\sa-z:,.])(.+?)assistant(?:commentary.*assistant)?final(.+)", re.S
)
# Hunyuan, Ernie, Granite, OpenThinker and Command also put their answer between tags.
_WRAPPED = re.compile(
    r"<(answer|response|output)>(.*)</\1>|<\|begin_of_solution\|>(.*)<\|end_of_solution\|>"
    r"|<\|start_response\|>(.*)<\|end_response\|>",
    re.S | re.IGNORECASE,
)
QUOTES = frozenset("`\"'“‘«")
# Blanks are held back until what follows them is known, but no more of them than this.
MOST_BLANKS = 256


def may_begin(head: str) -> bool:
    """Whether a tag may still come of it."""
    if not head:
        return True
    if head[0] not in "<[◁" or len(head) == 2 * LONGEST:
        return False
    low = _INNER_BLANKS.sub("", head.lower())
    return bool(_MAYBE_SKIPPED.match(head)) or any(tag.startswith(low) for tag in (*TAGS, *_NONE))


def held_back(text: str, ends: Sequence[str]) -> int:
    """How many characters at the end of a thought may belong to what ends it: a part of the tag,
    a quoted one, and the blanks before."""
    first, least = ends[0][0], max(len(text) - 2 * LONGEST, 0)
    place = text.find(first, least)
    while place >= 0:
        low = _INNER_BLANKS.sub("", text[place:].lower())
        if any(end.startswith(low) for end in ends):
            break
        place = text.find(first, place + 1)
    part = len(text) - place if place >= 0 else 0
    if text[len(text) - part - 1 : len(text) - part] in QUOTES:
        part += 1
    head = text[: len(text) - part]
    blanks = len(head) - len(head.rstrip())
    return part + (blanks if blanks < MOST_BLANKS else 0)


def unwrapped(found: tuple[str, str]) -> tuple[str, str] | None:
    match = _WRAPPED.fullmatch(found[1].strip())
    text = match and next(filter(None, match.groups()[1:]), "")
    return (found[0], text.strip()) if text else None


def divided_at_names(raw: str) -> tuple[str, str] | None:
    match = _UNMARKED.fullmatch(raw.strip())
    return (match[1].strip(), match[2].strip()) if match else None


def divided_at_lone_end(raw: str) -> tuple[str, str] | None:
    """Thought and answer on both sides of the only tag in the text. None where it is in code or in
    quotes, or where one side is empty."""
    if not _LINE_END.search(raw):  # nearly always, and ten times as fast as the tags
        return None
    found = list(_LONE.finditer(raw))
    if len(found) != 1 or _ANY_BEGIN.search(raw):
        return None
    thought, text = raw[: found[0].start()], raw[found[0].end() :].lstrip()
    in_code = thought.count("`") % 2 or thought[-1:] in QUOTES
    if in_code or not thought.strip() or not text:
        return None
    return thought.strip(), text
