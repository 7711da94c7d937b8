"""Who may have an account, and how long guests are remembered."""

from __future__ import annotations

from chatsite.environment import flag, number

SIGNUP = flag("SIGNUP")
# 0: guests never expire.
GUEST_DAYS = number("GUEST_DAYS", 0, low=0, high=3_650)
