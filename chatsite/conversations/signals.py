"""Tells other parts when a conversation's text changes, and when an owner moves or goes."""

from django.dispatch import Signal

# Sent in the transaction that changes, hides or removes text, with `conversations`, their ids, so
# that receivers delete what they store of the text in the same transaction.
text_changed = Signal()

# Sent in the transaction that takes what an owner has away, with `owner`, who is held, and `user`:
# the account that gets it, None where it is removed.
owner_leaves = Signal()
