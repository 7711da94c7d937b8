"""The mail account of the channel "mail", read from the variables of the environment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Literal, cast
from urllib.parse import SplitResult, unquote, urlsplit

from chatsite.errors import BadSetting

Security = Literal["tls", "starttls", "plain"]
# What happens to mail of somebody who isn't known, or who can't be told from a forger.
Strangers = Literal["refuse", "hold", "label"]
STRANGERS = ("refuse", "hold", "label")
PORTS = {"imaps": 993, "imap": 143, "smtps": 465, "smtp": 587}
# Where a mail server takes mail of its own machine.
RELAY_PORT = 25


@dataclass(frozen=True, slots=True, kw_only=True)
class MailServer:
    """Where mail is fetched or sent, and as whom; `user` is "" where nobody signs in. No text that
    is made of it has the password."""

    host: str
    port: int
    user: str
    password: str = field(repr=False)
    security: Security


@dataclass(frozen=True, slots=True, kw_only=True)
class MailAccount:
    """`authserv_id` names whose Authentication-Results are believed; `hourly` is how many answers
    one thread gets in an hour; `most_mb` is how large a mail may be as it is sent, where files take
    a third more than on a disk; `site` is the public address of the pages, for links."""

    imap: MailServer
    smtp: MailServer
    folder: str
    address: str
    agent: str
    authserv_id: str
    strangers: Strangers
    hourly: int
    most_mb: int
    site: str

    @property
    def domain(self) -> str:
        """Gives the domain of the agent's address; Message-IDs are made under it."""
        return self.address.rpartition("@")[2]


def read_mail_account(
    needed: Mapping[str, str],
    *,
    smtp_password: str,
    strangers: str,
    hourly: int,
    most_mb: int,
    folder: str,
    site: str,
) -> MailAccount | None:
    """Makes the account of variables; None if no `needed` one is set. Raises BadSetting for a
    variable that is missing or not allowed. No message repeats an address of a server, since
    somebody may have written a password into it."""
    if not any(needed.values()):
        return None
    values = {**needed, "SITE_URL": site}
    missing = [name for name, value in values.items() if not value]
    if missing:
        raise BadSetting(
            f"{missing[0]} is not set. Mail needs {', '.join(values)}; "
            f"missing: {', '.join(missing)}."
        )
    password = values["MAIL_IMAP_PASSWORD"]
    return MailAccount(
        imap=_server("MAIL_IMAP", values["MAIL_IMAP"], password),
        smtp=_server("MAIL_SMTP", values["MAIL_SMTP"], smtp_password or password),
        folder=folder,
        address=_own_address(values["MAIL_ADDRESS"]),
        agent=values["MAIL_AGENT"],
        authserv_id=values["MAIL_AUTHSERV_ID"],
        strangers=cast(Strangers, strangers),
        hourly=hourly,
        most_mb=most_mb,
        site=site,
    )


def read_site_url(value: str) -> str:
    """Reads the address, without a slash at its end; "" if it isn't set."""
    parts = _split(value)
    fine = parts and parts.scheme in ("http", "https") and parts.hostname and "@" not in value
    if value and not (fine and parts and not parts.query and not parts.fragment):
        raise BadSetting(
            "SITE_URL is not allowed as it is. It is the address that people open: "
            "https://chat.example.org"
        )
    return value.rstrip("/")


def _server(name: str, value: str, password: str) -> MailServer:
    safe, open_ = ("imaps", "imap") if name == "MAIL_IMAP" else ("smtps", "smtp")
    parts = _split(value)
    if parts is None or parts.scheme not in (safe, open_) or not parts.hostname:
        raise _bad_address(name, safe, open_)
    if parts.password is not None:
        raise BadSetting(f"{name} holds a password. Set {name}_PASSWORD instead.")
    loopback = _is_loopback(parts.hostname)
    signs_in = bool(parts.username)
    if not signs_in and open_ == "imap":
        raise _bad_address(name, safe, open_)
    if not signs_in and not loopback:
        raise BadSetting(
            f"{name} names no user. Only a server on this machine is used without a sign-in "
            f"({open_}://localhost:{RELAY_PORT}); any other one needs {safe}://user@host."
        )
    if parts.scheme == "imap" and not loopback:
        raise BadSetting(f"{name} is only allowed with imaps:// except on this machine itself.")
    # On this machine nobody listens in between.
    unencrypted: Security = "plain" if loopback else "starttls"
    return MailServer(
        host=parts.hostname,
        port=parts.port or (PORTS[parts.scheme] if signs_in else RELAY_PORT),
        user=unquote(parts.username or ""),
        password=password if signs_in else "",
        security="tls" if parts.scheme == safe else unencrypted,
    )


def _bad_address(name: str, safe: str, open_: str) -> BadSetting:
    return BadSetting(
        f"{name} is not allowed as it is. It is {safe}://user@host:{PORTS[safe]} or "
        f"{open_}://user@host:{PORTS[open_]}."
    )


def _split(value: str) -> SplitResult | None:
    try:
        parts = urlsplit(value)
        return parts if parts.port != 0 else None  # reading the port checks it
    except ValueError:
        return None


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _own_address(value: str) -> str:
    name, _, domain = value.partition("@")
    if not name or "." not in domain or "@" in domain or set(value) & set(" <>,;"):
        raise BadSetting(f"MAIL_ADDRESS={value!r} is not allowed. It is one address: a@example.org")
    return value.lower()
