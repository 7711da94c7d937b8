"""Every unit of work of turns and whole conversations: one transaction each.

They are called from a thread of the executor; what `turns.ports.Writes` names is here.
"""

from chatsite.conversations.again import begin_again
from chatsite.conversations.beginning import begin_turn
from chatsite.conversations.books import mark_turns
from chatsite.conversations.ending import end_interrupted, end_turn
from chatsite.conversations.rounds import begin_calls, checkpoint, end_call
from chatsite.conversations.versions import show_version
from chatsite.conversations.whole import (
    clear,
    delete,
    import_conversation,
    move_to_account,
    rename,
    save_counts,
    undelete,
)

__all__ = [
    "begin_again",
    "begin_calls",
    "begin_turn",
    "checkpoint",
    "clear",
    "delete",
    "end_call",
    "end_interrupted",
    "end_turn",
    "import_conversation",
    "mark_turns",
    "move_to_account",
    "rename",
    "save_counts",
    "show_version",
    "undelete",
]
