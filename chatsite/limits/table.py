"""The table of limits. SECURITY.md shows it; a test compares both, and fails for a route or a
command without a row.

Several servers on one database share what protects people and money: passwords, inboxes, accounts,
models and the disk; somebody who asks each server has no more of them. Every other row protects one
process, its time and its memory, and each server counts it for itself: to ask the database costs a
millisecond, and more servers can do more. So it is with what may be there at the same time.

The numbers leave room for a person who works fast, in several windows: a page asks for a preview
every 300 ms while somebody types. Nobody reaches them by hand.
"""

from __future__ import annotations

from dataclasses import dataclass

from chatsite.wording import later


@dataclass(frozen=True, slots=True)
class Rate:
    """`burst` at once, then `a_minute`. `what` is its name in a sentence. An address may have as
    many times that as people can share it (PEOPLE_PER_ADDRESS). `shared`: all servers count it
    together."""

    what: str
    burst: int
    a_minute: int
    shared: bool = False


@dataclass(frozen=True, slots=True)
class Most:
    """How many things may be there at the same time: of one person, and of everybody together."""

    what: str
    most: int
    in_all: int


# ---- requests ----------------------------------------------------------------------------------
STATIC = Rate(later("files of the page"), 1_000, 3_000)
PAGES = Rate(later("pages"), 60, 120)
READS = Rate(later("requests"), 120, 600)
HEAVY_READS = Rate(later("exports and comparisons"), 20, 30)
WHOLE_EXPORTS = Rate(later("downloads of everything"), 3, 1, shared=True)
CHANGES = Rate(later("changes"), 60, 240)
SHARED_PAGES = Rate(later("shared pages"), 30, 60)
UPLOADS = Rate(later("uploads"), 60, 60, shared=True)
IMPORTS = Rate(later("imports"), 10, 10, shared=True)
SIGN_INS = Rate(later("sign-ins and other account forms"), 20, 20, shared=True)
# Before a password is checked, which takes 0.4 s of CPU: see sign_ins.py.
GUESSES = Rate(later("wrong passwords for one account from one address"), 5, 2, shared=True)
ACCOUNT_GUESSES = Rate(
    later("wrong passwords for one account from everywhere"), 50, 10, shared=True
)
PASSWORDS = Rate(later("passwords from one address, right or wrong"), 6, 2, shared=True)
# From one account, and to one address.
MAILED_LINKS = Rate(later("mailed links"), 5, 1, shared=True)
NEW_GUESTS = Rate(later("new guests"), 20, 20, shared=True)
ADMIN = Rate(later("pages of the administration"), 120, 600)

# ---- the socket --------------------------------------------------------------------------------
HANDSHAKES = Rate(later("connections"), 60, 120)
FRAMES = Rate(later("commands"), 120, 1_200)
OPENS = Rate(later("opened conversations"), 40, 120)
MESSAGES = Rate(later("messages"), 30, 30, shared=True)
PREVIEWS = Rate(later("previews"), 60, 400)
DRAFTS = Rate(later("characters in drafts"), 1_000_000, 2_000_000)
CHOICES = Rate(later("choices"), 60, 120)
# A browser answers one ping every 20 s and sends none.
CONTROL_FRAMES = Rate(later("control frames"), 20, 600)
# What comes on after refusals is a flood: the socket is closed.
REFUSED_FRAMES = Rate(later("refused commands"), 200, 1_200)

SOCKETS = Most(later("open connections"), 32, 20_000)
# Each takes some hundred MB of memory while its file is read.
RESTORES = Most(later("chats being restored"), 1, 2)
BODIES = Most(later("requests that are still arriving"), 8, 400)

# Besides FRAMES, which counts every frame before it is read.
COMMANDS: dict[str, tuple[Rate, ...]] = {
    "open": (OPENS,),
    "send": (MESSAGES,),
    "edit": (MESSAGES,),
    "again": (MESSAGES,),
    "continue": (MESSAGES,),
    "choose": (CHOICES,),
    "stop": (CHOICES,),
    "preview": (PREVIEWS, DRAFTS),
}


# ---- routes ------------------------------------------------------------------------------------
KIB = 1_024
# A command over the socket has as much; a comparison takes the same draft.
SMALL_BODY = 128 * KIB


@dataclass(frozen=True, slots=True)
class Route:
    """What a route is counted as, and the largest body that it takes, in bytes; `account_body`
    where it takes a larger one of somebody who is signed in. A larger body than `SMALL_BODY` is
    only read from somebody with a session."""

    rate: Rate
    body: int = 0
    account_body: int = 0


ROUTES: dict[str, Route] = {
    "home": Route(PAGES),
    "chat": Route(PAGES),
    "chat-with-slash": Route(PAGES),
    "conversation-page": Route(PAGES),
    "diagram": Route(PAGES),
    "preview": Route(PAGES),
    "prompts": Route(CHANGES, SMALL_BODY),
    "prompt": Route(CHANGES, SMALL_BODY),
    "conversations": Route(READS),
    "search": Route(READS),
    "bookmarks": Route(READS),
    "changes": Route(CHANGES, 2 * SMALL_BODY),
    "import": Route(IMPORTS, 20 * KIB * KIB + SMALL_BODY, KIB * KIB * KIB + SMALL_BODY),
    "import-progress": Route(READS),
    "sample": Route(IMPORTS, SMALL_BODY),
    "conversation": Route(CHANGES, SMALL_BODY),
    "restore": Route(CHANGES),
    "clear": Route(CHANGES),
    "close": Route(CHANGES),
    "keep": Route(CHANGES),
    "forget": Route(CHANGES, SMALL_BODY),
    "messages": Route(READS),
    "export": Route(HEAVY_READS),
    "shares": Route(CHANGES, SMALL_BODY),
    "share": Route(CHANGES, SMALL_BODY),
    "shared": Route(SHARED_PAGES),
    "shared-file": Route(READS),
    "compare-draft": Route(HEAVY_READS, SMALL_BODY),
    "compare-turn": Route(HEAVY_READS, SMALL_BODY),
    "summary": Route(CHANGES, SMALL_BODY),
    "summary-switch": Route(CHANGES, SMALL_BODY),
    "compact": Route(CHANGES, SMALL_BODY),
    "compact-plan": Route(CHANGES, SMALL_BODY),
    # A model writes.
    "compact-draft": Route(MESSAGES, SMALL_BODY),
    "compact-undo": Route(CHANGES, SMALL_BODY),
    "compact-again": Route(CHANGES, SMALL_BODY),
    "cache": Route(READS),
    "cache-cleanup": Route(CHANGES, SMALL_BODY),
    "cache-bring-back": Route(CHANGES, SMALL_BODY),
    "kept-whole": Route(CHANGES, SMALL_BODY),
    "files": Route(UPLOADS, 50 * KIB * KIB),
    "file": Route(READS),
    "models": Route(READS),
    "session": Route(NEW_GUESTS),
    "language": Route(READS, SMALL_BODY),
    "message": Route(CHANGES, SMALL_BODY),
    "message-text": Route(CHANGES, SMALL_BODY),
    "message-restore": Route(CHANGES),
    "why": Route(HEAVY_READS),
    "message-version": Route(HEAVY_READS),
    "show": Route(CHANGES),
    "message-copy": Route(IMPORTS, SMALL_BODY),
    "receipt": Route(READS),
    "costs": Route(READS),
    "request": Route(HEAVY_READS),
    "own-agents": Route(CHANGES, SMALL_BODY),
    "own-agent": Route(CHANGES, SMALL_BODY),
    "own-agent-form": Route(READS),
    "own-agent-check": Route(CHANGES, SMALL_BODY),
    "own-agent-restore": Route(CHANGES),
    "own-agent-version": Route(CHANGES, SMALL_BODY),
    "own-instructions": Route(CHANGES, SMALL_BODY),
    "login": Route(SIGN_INS, SMALL_BODY),
    "logout": Route(SIGN_INS, SMALL_BODY),
    "account": Route(PAGES),
    "password": Route(SIGN_INS, SMALL_BODY),
    "mail-addresses": Route(SIGN_INS, SMALL_BODY),
    "mail-address-remove": Route(SIGN_INS, SMALL_BODY),
    "mail-address": Route(SIGN_INS),
    "account-export": Route(WHOLE_EXPORTS),
    "admin-password": Route(PAGES),
    "admin-mails": Route(PAGES),
    "account-delete": Route(SIGN_INS, SMALL_BODY),
    "signup": Route(SIGN_INS, SMALL_BODY),
    "health": Route(READS),
    "ready": Route(READS),
}
# Every page of the administration; the staff's alone, behind a sign-in.
ADMIN_ROUTE = Route(ADMIN, 2 * KIB * KIB)
# An address that leads nowhere is answered 404, its body unread.
NOWHERE = Route(PAGES)
