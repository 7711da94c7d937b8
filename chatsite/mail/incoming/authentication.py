"""Tells whether a mail is from whom it says: our own mail server has checked that (RFC 8601)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from chatsite.mail.incoming.reading import MailHead, lowered

LONGEST_HEADER = 20_000
# A quote that never ends takes the rest.
_TOKEN = re.compile(
    r'"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<mark>[;=])|(?P<atom>[^\s;="]+)|(?P<broken>".*)', re.DOTALL
)
# Where a method's result names the domain.
_PROPERTIES: Mapping[str, Sequence[str]] = {
    "dmarc": ("header.from",),
    "dkim": ("header.d", "header.i"),
    "spf": ("smtp.mailfrom",),
}
_BY = re.compile(r"\s*(?:from\s+\S+\s+)?by\s+([^\s;]+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """One result of a header: the check by `method` ended with `result`; `properties` say what it
    was that the server checked."""

    method: str
    result: str
    properties: Mapping[str, str]


def passes(mail: MailHead, *, authserv_id: str) -> bool:
    """Tells whether DMARC passed for From's domain. Where DMARC has no verdict, DKIM or SPF must
    have passed for exactly this domain: who holds a subdomain isn't the domain's owner."""
    domain = mail.sender.rpartition("@")[2]
    headers = own_results(mail, authserv_id)
    if not domain or not headers:
        return False
    # The domain's owner asked for more than alignment, and the mail doesn't have it. Separate
    # filters write a header each; a forged failure harms its sender alone.
    if any(one.method == "dmarc" and one.result == "fail" for one in chain(*headers)):
        return False
    # A server gives one verdict: the sender wrote the other one into a text that the server quotes.
    if sum(one.method == "dmarc" for one in headers[0]) > 1:
        return False
    # The sender may have written the lower headers, under the same name.
    passed = [one for one in headers[0] if one.result == "pass"]
    by_dmarc = [one for one in passed if one.method == "dmarc"]
    return any(_vouches(one, domain) for one in by_dmarc or passed)


def _vouches(one: Checked, domain: str) -> bool:
    """Tells whether the server checked this domain. An empty property names none."""
    properties = _PROPERTIES.get(one.method, ())
    named = next(filter(None, (one.properties.get(name) for name in properties)), "")
    # `a@example.org`, `@example.org` or `example.org`.
    return lowered(named.rpartition("@")[2]) == domain


def own_results(mail: MailHead, authserv_id: str) -> tuple[tuple[Checked, ...], ...]:
    """Gives the results of each header that our own server may have written, the topmost first: the
    headers down to the first Received of another server. Where the topmost is broken there are
    none, since the sender's text may have broken it."""
    found: list[tuple[Checked, ...]] = []
    for name, value in mail.traces:
        if name == "received":
            # Servers of our own domain that handed the mail on stand above the topmost one.
            if found and _by_another(value, authserv_id):
                break
        elif (parsed := parse_results(value)) is not None:
            if lowered(parsed[0]) == lowered(authserv_id):
                found.append(parsed[1])
        elif lowered(authserv_id) in lowered(value) and not found:
            return ()
    return tuple(found)


def _by_another(received: str, authserv_id: str) -> bool:
    """Tells whether a server outside our own one's domain wrote a Received. A broken one counts as
    ours: the sender's words may have broken it, and mustn't hide a failure below."""
    by = _BY.match(_without_comments(received[:LONGEST_HEADER]) or "")
    if by is None:
        return False
    host, own = lowered(by[1]), lowered(authserv_id)
    house = own.partition(".")[2] if own.count(".") > 1 else own
    return host not in (own, house) and not host.endswith(f".{house}")


def parse_results(header: str) -> tuple[str, tuple[Checked, ...]] | None:
    """Reads who checked, and the results; None stands for a broken header."""
    if len(header) > LONGEST_HEADER:
        return None
    plain = _without_comments(header)
    tokens = _tokens(plain or "")
    if any(kind == "broken" for kind, _ in tokens):
        return None
    parts: list[list[tuple[str, str]]] = [[]]
    for token in tokens:
        if token == ("mark", ";"):
            parts.append([])
        else:
            parts[-1].append(token)
    # A version may stand behind the name.
    if not parts[0] or parts[0][0][0] == "mark" or len(parts[0]) > 2:
        return None
    results = tuple(one for part in parts[1:] if (one := _result(part)) is not None)
    return parts[0][0][1], results


def _result(part: list[tuple[str, str]]) -> Checked | None:
    """Reads `method=result` with the `name=value` behind it; None stands for `none` and for
    anything else."""
    pairs: list[tuple[str, str]] = []
    name, is_value = "", False
    for kind, text in part:
        if is_value and kind != "mark":
            pairs.append((name.lower(), text))
            name, is_value = "", False
        elif kind == "mark":
            if is_value or not name:
                return None
            is_value = True
        elif kind == "quoted":
            return None
        else:
            name += text  # blanks may stand around the dot of a name
    if is_value or name or not pairs:
        return None
    method, result = pairs[0]
    properties = dict(pairs[1:])
    if len(properties) < len(pairs) - 1:
        return None
    return Checked(method=method.partition("/")[0], result=result.lower(), properties=properties)


def _tokens(text: str) -> list[tuple[str, str]]:
    """Splits a text without comments into tokens, each with the name of its group in `_TOKEN`."""
    kinds = (
        (found.lastgroup or "", found[found.lastgroup or 0]) for found in _TOKEN.finditer(text)
    )
    return [
        (kind, re.sub(r"\\(.)", r"\1", token) if kind == "quoted" else token)
        for kind, token in kinds
    ]


def _without_comments(text: str) -> str | None:
    """Takes the comments away, also nested ones. A bracket in a quoted string begins no comment.
    None stands for a comment or a string that never ends."""
    kept: list[str] = []
    depth, quoted, escaped = 0, False, False
    for character in text:
        if escaped:
            escaped = False
        elif character == "\\" and (depth or quoted):
            escaped = True
        elif character == '"' and not depth:
            quoted = not quoted
        elif not quoted and character == "(":
            depth += 1
        elif not quoted and character == ")":
            if not depth:
                return None
            depth -= 1
            kept.append(" ")
            continue
        if not depth:
            kept.append(character)
    return None if depth or quoted else "".join(kept)
