"""The variables of the mail channel: all that are needed, or a sentence that names what isn't."""

from __future__ import annotations

import pytest

from chatsite.errors import BadSetting
from chatsite.mail.account import MailAccount, read_mail_account, read_site_url

WHOLE = {
    "imap": "imaps://agent%40harbour.example@mail.harbour.example",
    "imap_password": "quay-imap-1815",
    "smtp": "smtp://agent@mail.harbour.example",
    "address": "Agent@Harbour.example",
    "agent": "demo",
    "authserv_id": "mail.harbour.example",
}


def read(
    *,
    site: str = "https://chat.harbour.example",
    smtp_password: str = "quay-smtp-1852",
    **changed: str,
) -> MailAccount | None:
    return read_mail_account(
        {f"MAIL_{name.upper()}": value for name, value in (WHOLE | changed).items()},
        smtp_password=smtp_password,
        strangers="refuse",
        hourly=10,
        most_mb=10,
        folder="INBOX",
        site=site,
    )


def test_the_servers_are_read_with_their_usual_ports() -> None:
    account = read()
    assert account is not None
    imap, smtp = account.imap, account.smtp
    assert (imap.host, imap.port, imap.user) == (
        "mail.harbour.example",
        993,
        "agent@harbour.example",
    )
    assert (imap.security, smtp.port, smtp.security) == ("tls", 587, "starttls")
    assert (account.address, account.domain) == ("agent@harbour.example", "harbour.example")


def test_nothing_set_is_off_and_the_password_for_sending_may_be_that_for_reading() -> None:
    assert read(**dict.fromkeys(WHOLE, ""), smtp_password="") is None
    account = read(smtp_password="")
    assert account is not None and account.smtp.password == WHOLE["imap_password"]


def test_what_is_missing_is_named() -> None:
    with pytest.raises(BadSetting, match="missing: MAIL_IMAP_PASSWORD, MAIL_AGENT, SITE_URL"):
        read(imap_password="", agent="", site="")


@pytest.mark.parametrize(
    "changed",
    [
        {"imap": "imap://agent@mail.harbour.example"},
        {"imap": "https://agent@mail.harbour.example"},
        {"imap": "imaps://mail.harbour.example"},
        {"imap": "imaps://agent@mail.harbour.example:0"},
        {"imap": "imaps://agent@mail.harbour.example:port"},
        {"imap": "imaps://agent:secret-1815@mail.harbour.example"},
        {"smtp": "smtps://"},
        {"address": "agent"},
        {"address": "Agent <a@harbour.example>"},
        {"address": "a@b@harbour.example"},
    ],
)
def test_a_value_that_is_not_allowed_stops_the_start_without_a_secret(
    changed: dict[str, str],
) -> None:
    with pytest.raises(BadSetting) as error:
        read(**changed)
    assert "secret-1815" not in error.value.message and "MAIL_" in error.value.message


def test_without_encryption_only_this_machine_is_allowed() -> None:
    account = read(imap="imap://agent@127.0.0.1:1143", smtp="smtp://agent@localhost:1025")
    assert account is not None
    assert (account.imap.security, account.smtp.security) == ("plain", "plain")


def test_no_text_made_of_it_has_a_password() -> None:
    assert "1815" not in repr(read()) and "1852" not in repr(read())


@pytest.mark.parametrize("value", ["chat.example.org", "https://", "ftp://x", "https://a:b@x/?y"])
def test_the_sites_address_is_one_that_a_browser_opens(value: str) -> None:
    with pytest.raises(BadSetting, match="SITE_URL is not allowed"):
        read_site_url(value)
    assert read_site_url("https://chat.example.org/") == "https://chat.example.org"
