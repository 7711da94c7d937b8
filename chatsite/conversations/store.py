"""Every unit of work of turns and whole conversations: one transaction each.

They are called from a thread of the executor; what `turns.ports.Writes` names is here.
"""

from chatsite.conversations.cache.books import mark_turns
from chatsite.conversations.turn.begin import begin_turn
from chatsite.conversations.turn.end import end_interrupted, end_turn
from chatsite.conversations.turn.retry import begin_retry
from chatsite.conversations.turn.rounds import begin_calls, end_call, save_checkpoints
from chatsite.conversations.turn.versions import show_version
from chatsite.conversations.upkeep.lifecycle import (
    clear,
    delete,
    import_conversation,
    move_to_account,
    rename,
    save_counts,
    undelete,
)

__all__ = [
    "begin_retry",
    "begin_calls",
    "begin_turn",
    "save_checkpoints",
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
