"""Whether a mail is from whom it says, as our own mail server has checked it (RFC 8601)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from chatsite.mail.incoming.reading import MailHead, lowered

LONGEST_HEADER = 20_000
_TOKEN = re.compile(r'"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<mark>[;=])|(?P<atom>[^\s;="]+)', re.DOTALL)
_BY = re.compile(r"\s*(?:from\s+\S+\s+)?by\s+([^\s;]+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """One result of a header: `method` was checked with `result`; what it was checked on."""

    method: str
    result: str
    properties: Mapping[str, str]


def passes(mail: MailHead, *, authserv_id: str) -> bool:
    """Whether DMARC passed for From's domain. Where it has no verdict, whether DKIM or SPF passed
    for exactly this domain: who holds a subdomain isn't its owner."""
    domain = mail.sender.rpartition("@")[2]
    own = own_results(mail, authserv_id)
    if not domain or not own:
        return False
    # The domain's owner asked for more than alignment, and the mail doesn't have it. Separate
    # filters write a header each; a forged failure harms its sender alone.
    if any(one.method == "dmarc" and one.result == "fail" for said in own for one in said):
        return False
    # A server has one verdict: who sent the mail wrote the other one into what it quotes.
    if sum(one.method == "dmarc" for one in own[0]) > 1:
        return False
    # Whoever sent the mail may have written the lower ones, under the same name.
    passed = [one for one in own[0] if one.result == "pass"]
    by_dmarc = [one for one in passed if one.method == "dmarc"]
    return any(_vouches(one, domain) for one in by_dmarc or passed)


def _vouches(one: Checked, domain: str) -> bool:
    said = one.properties
    if one.method == "dmarc":
        return _domain(said.get("header.from", "")) == domain
    if one.method == "dkim":
        signer = said.get("header.d") or said.get("header.i", "")
        return _domain(signer) == domain
    if one.method == "spf":
        return _domain(said.get("smtp.mailfrom", "")) == domain
    return False


def own_results(mail: MailHead, authserv_id: str) -> tuple[tuple[Checked, ...], ...]:
    """The results of each header that our own server may have written, the topmost first: those
    down to the first Received of another server. Nothing where the topmost can't be read, since
    text of the sender's may be what broke it."""
    found: list[tuple[Checked, ...]] = []
    for name, value in mail.traces:
        if name == "received":
            # Above the topmost one stand servers that handed the mail on within the house.
            if found and _by_another(value, authserv_id):
                break
        elif (parsed := parse_results(value)) is not None:
            if lowered(parsed[0]) == lowered(authserv_id):
                found.append(parsed[1])
        elif lowered(authserv_id) in lowered(value) and not found:
            return ()
    return tuple(found)


def _by_another(received: str, authserv_id: str) -> bool:
    """Whether a server outside of our own one's domain wrote it. Not where it can't be read: a
    sender's words in it may be what broke it, and mustn't hide a failure below."""
    said = _BY.match(_without_comments(received[:LONGEST_HEADER]) or "")
    if said is None:
        return False
    host, own = lowered(said[1]), lowered(authserv_id)
    house = own.partition(".")[2] if own.count(".") > 1 else own
    return host not in (own, house) and not host.endswith(f".{house}")


def parse_results(header: str) -> tuple[str, tuple[Checked, ...]] | None:
    """Who checked, and the results; None where the header is broken."""
    if len(header) > LONGEST_HEADER:
        return None
    plain = _without_comments(header)
    tokens = list(_tokens(plain)) if plain is not None else []
    if not tokens or None in tokens:
        return None
    parts: list[list[tuple[str, str]]] = [[]]
    for token in tokens:
        assert token is not None
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
    """`method=result` and then `name=value`; None for `none`, or where it is written otherwise."""
    pairs: list[tuple[str, str]] = []
    name, waits = "", False
    for kind, text in part:
        if waits and kind != "mark":
            pairs.append((name.lower(), text))
            name, waits = "", False
        elif kind == "mark":
            if waits or not name:
                return None
            waits = True
        elif kind == "quoted":
            return None
        else:
            name += text  # blanks may stand around the dot of a name
    if waits or name or not pairs:
        return None
    method, result = pairs[0]
    said: dict[str, str] = {}
    for key, value in pairs[1:]:
        if key in said:
            return None
        said[key] = value
    return Checked(method=method.partition("/")[0], result=result.lower(), properties=said)


def _tokens(text: str) -> Iterator[tuple[str, str] | None]:
    """None in between: what can't be read."""
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
        elif found := _TOKEN.match(text, at):
            kind = found.lastgroup or ""
            said = found[kind]
            yield kind, re.sub(r"\\(.)", r"\1", said) if kind == "quoted" else said
            at = found.end()
        else:
            yield None
            return


def _without_comments(text: str) -> str | None:
    """Comments may be nested; in a quoted string a bracket is one. None: one never ends."""
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


def _domain(value: str) -> str:
    """That of `a@example.org`, `@example.org` or `example.org`."""
    return lowered(value.rpartition("@")[2])
