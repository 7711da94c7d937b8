"""Headers as mail servers in the field write them, and what forgers make of them."""

from __future__ import annotations

from itertools import product

import pytest

from chatsite.mail.incoming.authentication import passes
from chatsite.mail.incoming.reading import read_head

OWN = "mx.harbour.example"
HANDED_ON = "Received: from mx.harbour.example by imap.harbour.example with LMTP id 1; now"
OURS = "Received: from out.bank.example (out.bank.example [192.0.2.7]) by mx.harbour.example; now"
THEIRS = "Received: from desk (unknown [10.0.0.2])\r\n\tby out.bank.example with ESMTPSA id 9; now"


def believed(*lines: str, sender: str = "Ada <ada@bank.example>") -> bool:
    head = "\r\n".join([*lines, f"From: {sender}", "Subject: Hello", "", "Hello"])
    return passes(read_head(head.encode()), authserv_id=OWN)


def verdict(text: str, name: str = OWN) -> str:
    return f"Authentication-Results: {name};{text}"


# As OpenDMARC, rspamd, Exim, Gmail, Fastmail, Stalwart, Haraka, OpenDKIM, amavis, policyd-spf,
# Mailcow, Proton, Zoho, Yandex, and others write what they found for ada@bank.example.
TRUE = [
    " dmarc=pass (p=none dis=none) header.from=bank.example",
    "\r\n\tdkim=pass (2048-bit key; unprotected) header.d=bank.example header.i=@bank.example "
    'header.b="qN1AbC+/="; dkim-atps=neutral',
    "\r\n\tdkim=pass header.d=bank.example header.s=key1 header.b=Zx8/kQ1b;\r\n\tspf=pass (mx."
    "harbour.example: domain of ada@bank.example designates 192.0.2.7 as permitted sender) "
    "smtp.mailfrom=ada@bank.example;\r\n\tdmarc=pass (policy=reject) header.from=bank.example",
    " iprev=pass (out.bank.example) smtp.remote-ip=192.0.2.7;\r\n\tspf=pass smtp.mailfrom="
    "bank.example;\r\n\tdkim=pass header.d=bank.example header.s=s1 header.a=rsa-sha256;\r\n\t"
    "dmarc=pass header.from=bank.example",
    "\r\n       dkim=pass header.i=@bank.example header.s=20230601 header.b=Ab12Cd34;\r\n       "
    "arc=pass (i=1 spf=pass spfdomain=bank.example dkim=pass dkdomain=bank.example);\r\n       "
    "spf=pass (mx: domain of ada@bank.example designates 2001:db8::7 as permitted sender) "
    "smtp.mailfrom=ada@bank.example;\r\n       dmarc=pass (p=REJECT sp=REJECT dis=NONE) "
    "header.from=bank.example",
    "\r\n    arc=none (no signatures found);\r\n    bimi=skipped (DMARC Policy is not at "
    "enforcement);\r\n    dkim=pass (2048-bit rsa key sha256) header.d=bank.example "
    "header.i=@bank.example header.b=gA1 header.a=rsa-sha256 header.s=x;\r\n dmarc=pass "
    "policy.published-domain-policy=none policy.applied-disposition=none "
    "(p=none,d=none,d.eval=none) policy.policy-from=p header.from=bank.example;\r\n    iprev=pass "
    "smtp.remote-ip=192.0.2.7 (out.bank.example);\r\n    spf=pass smtp.mailfrom=ada@bank.example "
    "smtp.helo=out.bank.example;\r\n    x-tls=pass smtp.version=TLSv1.3 smtp.bits=256/256",
    " dkim=pass reason=\"1024-bit key; unprotected key\" header.d=bank.example",
    " spf=pass (sender SPF authorized) smtp.mailfrom=bank.example (client-ip=192.0.2.7; "
    "helo=out.bank.example; envelope-from=ada@bank.example; receiver=<UNKNOWN>)",
    " auth=pass smtp.auth=ada smtp.mailfrom=ada@bank.example; dkim=pass header.d=bank.example",
    "\r\n\tdkim=pass (good signature) header.d=bank.example header.b=1; dkim=fail (bad hash) "
    "header.d=list.example",
    " dmarc=pass action=none header.from=bank.example; dkim=none; spf=none smtp.mailfrom=\"\"",
    " dmarc=pass header.from=bank.example policy.dmarc=quarantine",
    " arc=none smtp.remote-ip=192.0.2.7; dmarc=pass (Used From Domain Record) header.from="
    "bank.example policy.dmarc=none",
    " dkim=pass (Address match from author domain) header.d=bank.example; spf=softfail "
    "smtp.mailfrom=x@bounce.example",
    " spf=pass smtp.helo=out.bank.example; spf=pass smtp.mailfrom=ada@bank.example",
]  # fmt: skip
UNTRUE = [
    " none",
    " dmarc=none (no policy) header.from=bank.example",
    " dmarc=fail (p=reject dis=reject) header.from=bank.example",
    " dmarc=fail action=none header.from=bank.example; spf=pass smtp.mailfrom=ada@bank.example",
    " dmarc=permerror header.from=bank.example; dkim=pass header.d=evil.example",
    " dmarc=temperror header.from=bank.example; spf=pass smtp.mailfrom=x@evil.bank.example",
    " dkim=pass header.d=bulk.example header.i=@bulk.example header.b=1; spf=pass "
    "smtp.mailfrom=bounces@bulk.example; dmarc=none header.from=bank.example",
    " dkim=neutral (body hash did not verify) header.d=bank.example",
    " dkim=policy (weak key) header.d=bank.example; spf=neutral smtp.mailfrom=bank.example",
    " spf=pass smtp.helo=bank.example; spf=none smtp.mailfrom=\"\"",
    " iprev=pass policy.iprev=192.0.2.7 (bank.example)",
    " x-ptr=pass smtp.helo=bank.example policy.ptr=bank.example",
    " arc=pass (i=1 dmarc=pass fromdomain=bank.example); dmarc=none header.from=bank.example",
    " dkim=pass header.d=bank.example.; dmarc=none header.from=bank.example",
    " dkim=pass header.d=.bank.example; spf=pass smtp.mailfrom=ada@bank.example.",
]  # fmt: skip


@pytest.mark.parametrize("text", TRUE)
def test_a_real_servers_pass_is_believed_wherever_the_server_puts_it(text: str) -> None:
    assert believed(verdict(text), OURS, THEIRS)
    assert believed(HANDED_ON, verdict(text), OURS, THEIRS)
    assert believed(HANDED_ON, OURS, "Return-Path: <ada@bank.example>", verdict(text), THEIRS)


@pytest.mark.parametrize("text", UNTRUE)
def test_a_real_servers_doubt_is_heard(text: str) -> None:
    assert not believed(HANDED_ON, verdict(text), OURS, THEIRS)


def test_what_an_earlier_journey_brought_is_neither_believed_nor_held_against_a_mail() -> None:
    """A mail that went out by our server and came back by a list may bear our name below."""
    true, failed = verdict(TRUE[0]), verdict(UNTRUE[2])
    assert believed(true, OURS, THEIRS, failed)
    assert not believed(true, OURS, failed, THEIRS)
    assert not believed(true, "Received: from by by mx.harbour.example; now", failed)
    assert not believed(true, "Received: from (( by evil.example; now", failed)


# What a forger writes as the result of our own server, ...
CLAIMS = [
    " dmarc=pass header.from=bank.example",
    " dkim=pass header.d=bank.example",
    " dkim=pass header.i=@bank.example; spf=pass smtp.mailfrom=ada@bank.example",
    " spf=pass smtp.mailfrom=ada@bank.example",
    '\r\n\tdmarc=pass (p=reject) header.from="bank.example"',
]
# ... and under whose name and in which clothes.
CLOTHES = [
    lambda claim: verdict(claim, "mx.harbour.example.evil.example"),
    lambda claim: verdict(claim, "evil mx.harbour.example"),
    lambda claim: verdict(claim, "mx.harbour.example evil more"),
    lambda claim: verdict(claim, "mx.harbour.example\x00"),
    lambda claim: verdict(claim, "mx.harbour\u3002example"),
    lambda claim: verdict(claim, "mx.harbour.exam\u0440le"),
    lambda claim: verdict(claim, "(mx.harbour.example) evil.example"),
    lambda claim: f"Authentication-Results : {OWN};{claim}",
    lambda claim: f"ARC-Authentication-Results: i=1; {OWN};{claim}",
    lambda claim: f"X-Authentication-Results: {OWN};{claim}",
    lambda claim: f"Authentication-Results-Original: {OWN};{claim}",
    lambda claim: f"Received-SPF: pass\r\n Authentication-Results: {OWN};{claim}",
    lambda claim: verdict(f" spf=fail ({claim} ) smtp.mailfrom=x@evil.example"),
    lambda claim: verdict(f' spf=fail reason="{claim.replace(chr(34), "")}"'),
    lambda claim: verdict(f" dmarc=fail header.from=bank.example;{claim}"),
    lambda claim: verdict(f" spf=fail smtp.mailfrom=a)b@evil.example;{claim}"),
    lambda claim: verdict(f' x="{claim.replace(chr(34), "")}'),
    lambda claim: verdict(claim.replace("=pass", "=pa\\ss")),
    lambda claim: verdict(claim.replace("=pass", "=passed")),
    lambda claim: verdict(claim.replace("bank.example", "bank.example.evil.example")),
    lambda claim: verdict(claim.replace("bank.example", "evilbank.example")),
    lambda claim: verdict(claim.replace("bank.example", "evil.bank.example")),
    lambda claim: verdict(claim.replace("bank.example", "example")),
]
# Where it stands: our server wrote nothing, or wrote that it doesn't know; above it or below.
DOUBT = verdict(" spf=fail smtp.mailfrom=x@evil.example; dmarc=none header.from=bank.example")
PLACES = [
    lambda forged: (HANDED_ON, OURS, forged),
    lambda forged: (HANDED_ON, DOUBT, OURS, forged),
    lambda forged: (HANDED_ON, OURS, DOUBT, forged, THEIRS),
]
FORGED = [
    (*place(clothes(claim)),)
    for place, clothes, claim in product(PLACES, CLOTHES, CLAIMS)
]  # fmt: skip
# The very name and words of our server: harmless where our server's own verdict stands above.
FORGED += [place(verdict(claim)) for place, claim in product(PLACES[1:], CLAIMS)]
SENDERS = [
    "ada@bank.example, eve@evil.example",
    "ada@bank.example <eve@evil.example>",
    "ada@BAN\u212a.example",
    "ada@bank.example\r\nFrom: eve@evil.example",
    "ada@[192.0.2.7]",
    "=?utf-8?q?ada=40bank.example?=",
    "ada@bank.example.",
    "ada(@evil.example)@bank.example, x",
]


def test_no_forged_verdict_is_believed() -> None:
    assert len(FORGED) >= 200
    assert not [lines for lines in FORGED if believed(*lines)]


@pytest.mark.parametrize("sender", SENDERS)
def test_no_odd_way_to_write_from_is_taken_for_the_banks(sender: str) -> None:
    assert not believed(verdict(CLAIMS[0]), OURS, sender=sender)
    assert not believed(verdict(CLAIMS[1]), OURS, sender=sender)
