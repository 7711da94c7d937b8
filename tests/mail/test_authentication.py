"""A sender is believed by what our own mail server checked, and by nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsite.mail.incoming.authentication import parse_results, passes
from chatsite.mail.incoming.reading import read_head

OWN = "mx.harbour.example"


def mail(*results: str, sender: str = "Ada <ada@example.org>") -> bytes:
    headers = [f"Authentication-Results: {one}" for one in results]
    return "\r\n".join([*headers, f"From: {sender}", "", "Hello"]).encode()


def believed(*results: str, sender: str = "Ada <ada@example.org>") -> bool:
    return passes(read_head(mail(*results, sender=sender)), authserv_id=OWN)


@pytest.mark.parametrize(
    "results",
    [
        "dmarc=pass header.from=example.org",
        "dmarc=pass (p=reject dis=none) header.from=Example.ORG",
        "dkim=pass header.d=example.org",
        "dkim=pass header.i=@example.org header.s=x",
        "dkim=pass header.i=ada@example.org",
        "spf=pass smtp.mailfrom=bounces@example.org",
        "spf=pass (sender (is) allowed\\)) smtp . mailfrom = example.org",
        'dkim=pass reason="a good; signature" header.d=example.org',
        "dkim/1=pass header.d=example.org",
        "spf=fail smtp.mailfrom=evil.example; dkim=pass header.d=example.org",
        "dkim=fail header.d=example.org;\r\n dkim=pass header.d=example.org",
        "dmarc=none header.from=example.org; spf=pass smtp.mailfrom=ada@example.org",
    ],
)
def test_a_pass_for_froms_domain_is_believed(results: str) -> None:
    assert believed(f"{OWN}; {results}")
    assert believed(f"{OWN} 1;\r\n\t{results}")
    assert believed(f"(checked) {OWN} (here) ; {results}")
    assert believed(f"{OWN.upper()}; {results}")


@pytest.mark.parametrize(
    "results",
    [
        "none",
        "",
        "dmarc=fail header.from=example.org",
        "dmarc=pass header.from=evil.example",
        "dmarc=pass",
        "dkim=pass header.d=evil.example",
        "dkim=pass header.d=org",
        # Somebody else may hold a domain below: relaxed alignment is DMARC's to decide.
        "dkim=pass header.d=mail.example.org",
        "dmarc=none header.from=example.org; spf=pass smtp.mailfrom=x@evil.example.org",
        "dkim=pass header.d=evilexample.org",
        "dkim=pass header.d=example.org.evil.example",
        "dkim=pass",
        "spf=pass smtp.mailfrom=evil.example",
        "spf=pass smtp.helo=example.org",
        "spf=softfail smtp.mailfrom=example.org",
        "iprev=pass policy.iprev=1.2.3.4",
        "auth=pass smtp.auth=ada@example.org",
        # The domain's owner asks for more than alignment.
        "dmarc=fail header.from=example.org; dkim=pass header.d=mail.example.org",
        # Text of the sender's within a value or a comment is no result.
        'dkim=fail reason="x; dkim=pass header.d=example.org" header.d=example.org',
        'spf=fail smtp.mailfrom="x; dkim=pass header.d=example.org"',
        "spf=fail (dkim=pass header.d=example.org) smtp.mailfrom=evil.example",
        "spf=fail (; dkim=pass header.d=example.org",
        'spf=fail smtp.mailfrom="; dkim=pass header.d=example.org',
        "dkim=pass header.d=evil.example header.d=example.org",
        # An address that its server wrote into a comment as it was ended the comment.
        'spf=pass (of "a); dmarc=pass header.from=example.org; x=y ("@evil.example) '
        "smtp.mailfrom=evil.example; dmarc=none header.from=example.org",
        "dmarc=pass header.from=example.org; dmarc=none header.from=example.org",
    ],
)
def test_anything_else_is_not(results: str) -> None:
    assert not believed(f"{OWN}; {results}")


PASS = "dmarc=pass header.from=example.org"


def test_a_header_of_another_server_is_ignored() -> None:
    for other in (
        "mx.example.org",
        f"evil.{OWN}",
        f"{OWN}.evil.example",
        f"evil {OWN}",
        f'"{OWN}x"',
    ):
        assert not believed(f"{other}; {PASS}")
    assert believed(f"mx.example.org; {PASS.replace('pass', 'fail')}", f"{OWN}; {PASS}")


def test_only_the_topmost_header_of_our_server_counts() -> None:
    """A lower one was there before our server wrote its own: the sender may have written it."""
    assert not believed(f"{OWN}; spf=fail smtp.mailfrom=example.org", f"{OWN}; {PASS}")
    assert not believed(f"{OWN}; none", f"{OWN}; {PASS}")
    for broken in ('spf=fail smtp.mailfrom="x', "spf=fail (x", "spf=fail x)"):
        assert not believed(f"{OWN}; {broken}", f"{OWN}; {PASS}")
    assert not believed(f"{OWN}; x={'y' * 30_000}", f"{OWN}; {PASS}")
    assert believed(f"{OWN}; {PASS}", f"{OWN}; none")


def test_a_dmarc_failure_in_a_lower_header_of_our_server_counts() -> None:
    fail = f"{OWN.upper()}; dmarc=fail header.from=example.org"
    assert not believed(f"{OWN}; spf=pass smtp.mailfrom=ada@example.org", fail)


@pytest.mark.parametrize("sender", ["a)b@evil.example", 'a"b@evil.example', "a(b@evil.example"])
def test_an_address_that_makes_our_header_unreadable_gets_no_forged_one_believed(
    sender: str,
) -> None:
    assert not believed(f"{OWN}; spf=pass smtp.mailfrom={sender}", f"{OWN}; {PASS}")


def test_without_a_header_nobody_is_believed() -> None:
    assert not believed()
    assert not passes(
        read_head(f"X-Authentication-Results: {OWN}; {PASS}\nFrom: ada@example.org\n\n".encode()),
        authserv_id=OWN,
    )


@pytest.mark.parametrize(
    "sender",
    [
        "",
        "ada@example.org, bob@example.org",
        "ada@example.org\r\nFrom: bob@example.org",
        "Friends: ada@example.org, bob@example.org;",
        "ada",
        "<>",
        "ada@example.org@evil.example",
        '"ada@example.org" <bob@evil.example>',
        "ada@example.org <bob@evil.example>",
    ],
)
def test_without_exactly_one_from_address_nobody_is_believed(sender: str) -> None:
    assert not believed(f"{OWN}; {PASS}", sender=sender)


@given(st.text(alphabet='ab=;.("\\)/ \r\n\tpasdmrck@', max_size=80))
def test_no_header_breaks_it(text: str) -> None:
    parse_results(text)
    believed(f"{OWN}; {' '.join(text.split())}")
