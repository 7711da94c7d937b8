"""Who may hand a conversation on by a link."""

from chatsite.environment import choice

# Guests lose their session easily, and nobody could take their links back then.
SHARES = choice("SHARES", "accounts", ("everyone", "accounts", "off"))
