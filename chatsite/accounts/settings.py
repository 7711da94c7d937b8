"""Who may have an account, and how long guests are remembered."""

from __future__ import annotations

from chatsite.environment import flag, number, text

# Where no host is allowed but this machine, whoever sits here may make one.
SIGNUP = flag("SIGNUP", not text("ALLOWED_HOSTS"))
# 0: guests never expire.
GUEST_DAYS = number("GUEST_DAYS", 0, low=0, high=3_650)
