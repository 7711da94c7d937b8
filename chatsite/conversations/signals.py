"""Tells other parts when a conversation's text changes."""

from django.dispatch import Signal

# Sent in the transaction that changes, hides or removes text, with `conversations`, their ids, so
# that receivers delete what they store of the text in the same transaction.
text_changed = Signal()
