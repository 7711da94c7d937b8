"""What happens to a mail that came in: whose words it is taken for, or why it gets no answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from chatsite.channels.mail.incoming.authentication import passes
from chatsite.channels.mail.incoming.automatic import why_automatic
from chatsite.channels.mail.incoming.reading import MailHead
from chatsite.mail_account import MailAccount

MEGABYTE = 1024 * 1024
# As the account's words, as a stranger's, as nobody's for now, or not at all; "explain": the sender
# is who they say, and is told how to verify the address; "too_large", "encrypted": the sender is
# told.
Kind = Literal[
    "account", "external", "hold", "refuse", "ignore", "explain", "too_large", "encrypted"
]


@dataclass(frozen=True, slots=True)
class Admission:
    """`why` is for the log."""

    kind: Kind
    why: str = ""


def admit(mail: MailHead, account: MailAccount, *, owned: bool, size: int) -> Admission:
    """`owned`: an account has verified the sender's address, which says nothing yet of who wrote
    this mail. `size` is that of the whole mail, in bytes."""
    if why := why_automatic(mail, own=account.address):
        return Admission("ignore", why)
    passed = passes(mail, authserv_id=account.authserv_id)
    known = passed and owned
    if size > account.most_mb * MEGABYTE:
        why = f"it is larger than {account.most_mb} MB"
        return Admission("too_large" if known else "refuse", why)
    if known:
        return Admission("account")
    why = "no account has verified its address" if passed else "it may be forged"
    if not mail.sender:
        # There is nobody whom an answer could be sent to.
        return Admission("refuse", "it names no single sender")
    if account.strangers == "hold":
        return Admission("hold", why)
    if account.strangers == "label":
        return Admission("external", why)
    return Admission("explain" if passed else "refuse", why)
