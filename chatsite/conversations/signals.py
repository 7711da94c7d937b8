"""What other parts hear of conversations."""

from django.dispatch import Signal

# Sent in the transaction that changes, hides or removes text, with `conversations`, their ids: what
# somebody else stores of the text goes in the same transaction.
text_changed = Signal()
