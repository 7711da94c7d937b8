"""What a refusal says: that a prompt is too long, and by how much, or which fields aren't taken.

Servers have no common words for either. Only numbers and names of fields leave this module.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

# A body may repeat the whole request; what is wrong stands at its beginning.
_READ = 4_000
_GROUPED = re.compile(r"(?<=\d)[,_'’](?=\d{3}\b)")

# ---- too long ------------------------------------------------------------------------------------
_TOO_LONG = re.compile(
    r"context\w*(?:exceeded|too_?large)|exceed_context|context (?:length|size|window|limit)|n_ctx"
    r"|(?:prompt|input|conversation|message|request|text)s?(?: you (?:submitted|sent))?[ _]"
    r"(?:is |are |was )?too[ _](?:long|large)|tokens_limit_reached"
    r"|range of input length|maximum prompt length|max_prompt_tokens|too many (?:input )?tokens"
    r"|inputs?`? (?:tokens \+|must have less than)|messages\[\d+\]\.content\S*: string too long"
    r"|reduce the (?:length|size) of (?:the|your) (?:messages|prompt|input)"
)
# Words that say it unless the text is about something else that has a length.
_TOO_MUCH = re.compile(
    r"(?:prompt|input|tokens?|sequence)\b[^.;]{0,60}?"
    r"(?:too (?:long|large)|exceed|(?:longer|larger|greater|more) than| > |but the model"
    r"|over (?:the )?limit)"
    r"|(?:exceed|longer|larger|greater)[^.;]{0,40}?(?:tokens?|context|sequence|max_seq_len)\b"
    r"|超.{0,12}(?:长度|上下文|tokens?)|(?:长度|上下文|tokens?).{0,12}超|超长"
)
_OF_OTHERS = re.compile(
    r"(?:output|completion|new) tokens|max_\w*tokens|image|picture|audio|video|\bfile|body|bytes"
    r"|\d ?[mk]b\b|string|array|\bname|\btools?\b|function|schema"
    r"|second|minute|time"
)
# Limits of a minute or a day have nothing to do with the window.
_OF_A_TIME = re.compile(
    r"tokens? per (?:minute|min|day|hour)|\btp[md]\b|rate[_ ]limit|requests per|quota|throttl"
    r"|please wait|too many requests|daily|monthly|\bplan\b"
)
# Of a prompt that is too long by so much no size is known.
_BY = re.compile(r"\bby \d+")
_NUMBER = r"[`'\"(:=\s]*~?(\d{3,9})"
_SUM = re.compile(r"(\d+) \+ \d+ > (\d+)")
_LONGER = re.compile(r"(\d{3,}) tokens? > (\d{3,})")
_NEEDED = (
    re.compile(
        r"(\d+) (?:tokens )?(?:in|from|of|for) (?:the |your )?(?:messages|prompt|text input)"
    ),
    re.compile(r"(?:has|have|contains?) (?:at least |about )?(\d+) (?:input|prompt) tokens"),
    re.compile(
        r"(?:resulted in|contains?|contained|requested(?: about)?|received|given|passed|you sent"
        r"|has|have|was|got|token count(?: of)?|tokens?|length|input|prompt|request|n_keep|first"
        r"|too long|used|needs?|requires)"
        r"(?: at least| about)?[`'\"(:=\s]*(\d{3,9})"
        r"(?= ?(?:input |prompt )?tok| ?\)|,|\.|;|$| is| exceed| >)"
    ),
    re.compile(r"(\d{3,9}) (?:input |prompt )?tokens?,? (?:is|are|which|exceed|but|larger|longer)"),
)
_LIMIT = (
    re.compile(
        r"(?:maximum context length|maximum prompt length|token limit|maximum allowed"
        r"|allowed length|max(?:imum)? (?:input |total )?(?:length|size|tokens)|input limit"
        r"|context (?:length|size|window|limit)(?! exceeds)"
        r"|maximum (?:number of )?(?:input )?tokens?)[^\d.;]{0,40}?(\d{3,9})"
    ),
    re.compile(
        r"(?:limit of|limit is|limit:|cannot exceed|can't exceed|less than|must be <=|<=|at most"
        r"|no more than|up to|below|max:?|maximum:?|maximum of|maximum is|only)" + _NUMBER
    ),
    re.compile(r"(\d{3,9}) (?:tokens? )?(?:maximum|max\b|token limit)"),
    re.compile(r"\[\d+, ?(\d{3,9})\]"),
)
_ANY = re.compile(r"(?<![\w.-])\d{3,9}(?![\w-]|\.\d)")


@dataclass(frozen=True, slots=True)
class Sizes:
    """Of a refused prompt, in the server's own tokens, None where it doesn't say: what its model
    takes, and what the prompt would have taken."""

    limit: int | None = None
    needed: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerRefusal:
    """What a refusal says of the request: `sizes` where it was too long, or the `fields` that
    aren't taken."""

    sizes: Sizes = Sizes()
    fields: tuple[str, ...] = ()


def is_too_long(words: str) -> bool:
    text = words[:_READ].lower()
    says_so = _TOO_LONG.search(text) or (_TOO_MUCH.search(text) and not _OF_OTHERS.search(text))
    return bool(says_so) and not _OF_A_TIME.search(text)


def is_of_a_time(words: str) -> bool:
    """Return whether the limit is one of a minute or a day."""
    return bool(_OF_A_TIME.search(words[:_READ].lower()))


def read_sizes(words: str) -> Sizes:
    """Return the sizes in the refusal of a prompt that is too long."""
    text = _BY.sub("", _GROUPED.sub("", words[:_READ].lower()))
    if found := _SUM.search(text) or _LONGER.search(text):
        return Sizes(limit=int(found[2]), needed=int(found[1]))
    limit, needed = _first(_LIMIT, text), _first(_NEEDED, text)
    if limit is None or needed is None or limit == needed:
        numbers = {int(number) for number in _ANY.findall(text)} - {400, 413, 422, 500}
        if len(numbers) == 2:
            return Sizes(limit=min(numbers), needed=max(numbers))
        if limit == needed:
            return Sizes(limit=limit)
    return Sizes(limit=limit, needed=needed)


def _first(patterns: tuple[re.Pattern[str], ...], text: str) -> int | None:
    return next((int(found[1]) for each in patterns if (found := each.search(text))), None)


# ---- fields --------------------------------------------------------------------------------------
# Without these words a name may be mentioned for any reason.
_REFUSES = re.compile(
    r"support|unknown|unrecogni[sz]ed|permitted|allowed|unexpected|\bextra|invalid|accept|available"
    r"|require|enable|disabled|deprecated|can(?:no|')t|implement|forbidden|additional propert"
    r"|not (?:a )?valid|no such|removed|use .{0,40}instead|must be|should be|range"
)
_CALLING = re.compile(r"\btools?\b(?![\[.]\w)|\btool[_ ]choice\b|\btool-call|\bfunction[ -]call")
# What is said of messages with calls and results doesn't mean the tools.
_OF_RESULTS = re.compile(r"tool_call_id|\btool messages?|\brole\W+tool|must be followed by")
# A list of what is taken, which may follow.
_TAKEN = re.compile(
    r"expected one of\b|(?<!not a )(?<!not )\b(?:supported|valid|allowed|available|accepted) "
    r"(?:param\w*|fields?|arguments?|keys|properties|options)(?: are| include)?:"
)
# Fields that go one by one: of such a pair these stay.
_ONE_OF = re.compile(
    r"\bboth\b|only (?:specify )?one\b|\beither\b|mutually exclusive|together|same time|tools with"
)
_STAY = frozenset({"temperature", "tools"})
_TOO_HIGH = re.compile(
    r"too (?:large|high|big)|at most|(?:less|greater) than|<=| > |valid range|exceed"
    r"|maximum (?:allowed|value)"
)
# One tool of a request, by its place or its name, whose schema isn't taken.
_OF_A_SCHEMA = re.compile(r"schema|parameters|function_declarations|\bproperties\b")
# English words too: as a name they stand in quotes, or beside a word for a field.
_WORDS = frozenset({"stop", "seed", "thinking", "temperature", "system", "user", "n"})
_ABOUT_FIELDS = r"(?:param(?:eter)?s?|fields?|arguments?|keys?|propert(?:y|ies)|options?|inputs?)"
_QUOTE = "[`'\"\u2018\u2019\u201c\u201d]"
# How a single tool of a request is called among its fields.
A_TOOL = "tools."
# The two names of the reply's bound; the words that tell a name from a value that is too high.
BOUNDS = ("max_tokens", "max_completion_tokens")
_NOT_A_NAME = re.compile(
    r"unsupported param|not supported|unsupported|unknown|unrecogni[sz]ed|permitted|unexpected"
    r"|extra|not allowed|does(?:n't| not) support|invalid (?:field|param|argument)|instead|no such"
    r"|additional propert|not a valid (?:field|param)|requires|found that support"
)
_ONLY_REQUEST = frozenset({400, 422})


def refuses(words: str) -> bool:
    """Return whether the words say that something isn't taken."""
    return bool(_NOT_A_NAME.search(words[:_READ].lower()))


def refused_fields(status: int, words: str, *, sent: Collection[str]) -> tuple[str, ...]:
    """Return which of the optional fields that were `sent` the refusal names. With another status
    than 400 and 422 the words have to say that they aren't taken. A bound of the reply that is too
    high is left out under both its names."""
    text = _TAKEN.split(words[:_READ].lower(), maxsplit=1)[0]
    refusing = bool(_REFUSES.search(text))
    if status not in _ONLY_REQUEST and not (refusing and refuses(text)):
        return ()
    if faulty := _faulty_tools(text, [name for name in sent if name.startswith(A_TOOL)]):
        return faulty
    named = [
        name
        for name in sent
        if not name.startswith(A_TOOL) and _is_named(name, text, refuses=refusing)
    ]
    calling = not {"tools", "tool_choice"} & set(named) and bool(_CALLING.search(text))
    if "tools" in sent and refusing and calling and not _OF_RESULTS.search(text):
        named.append("tools")
    if set(BOUNDS) & set(named) and not refuses(text):
        others = [name for name in named if name not in BOUNDS]
        named = [*others, *(BOUNDS if _TOO_HIGH.search(text) else ())]
    if _ONE_OF.search(text):
        return tuple(name for name in named if name not in _STAY) or tuple(named)
    return tuple(named)


def _faulty_tools(text: str, tools: Sequence[str]) -> tuple[str, ...]:
    """The tools whose schemas are refused; one such schema costs the whole request."""
    if not _OF_A_SCHEMA.search(text):
        return ()
    return tuple(
        tool
        for number, tool in enumerate(tools)
        if re.search(
            rf"(?:function|tool)s?\W{{1,4}}{re.escape(tool.removeprefix(A_TOOL).lower())}(?!\w)"
            rf"|(?:\btools|function_?declarations)(?:\[{number}\]|\.{number}\b)(?!\.function_d)",
            text,
        )
    )


def _is_named(name: str, text: str, *, refuses: bool) -> bool:
    """As a whole word; of the tools, not as the beginning of a path into one of them."""
    whole = rf"(?<!\w){name.replace('_', '_?')}(?!\w)"
    if "_" in name:
        return bool(re.search(whole, text))
    if not refuses:
        return False
    if name not in _WORDS:
        return bool(re.search(rf"{whole}(?!\[\d|\.\w)", text))
    beside = (
        rf"{_QUOTE}{name}{_QUOTE}|{_ABOUT_FIELDS}(?: supplied)?:? {name}\b|\b{name} {_ABOUT_FIELDS}"
        rf"|[#/.]/?{name}\b|^\W*{name}\b|\b{name} (?:is|are) (?:not|un)|\b{name}:|: {name}\b"
    )
    return bool(re.search(beside, text))
