"""Every SQL statement of this part, by what it reads or writes.

A module that runs one names it from here, so that a change of the tables is made in one place. The
comment of a statement says which values fill its `%s`; ids are given as `columns.key` makes them.
"""

from __future__ import annotations

from django.db import connection

from chatsite.conversations.database.columns import Columns
from chatsite.conversations.models import Conversation, Message, Turn
from chatsite.history import BACKGROUND

# ---- conditions ------------------------------------------------------------------------------
# Conversation and true. SQLite uses its index for `on_path IN (...)`, and none for `on_path`.
ON_PATH = "conversation_id = %s AND on_path IN (%s)"
FINISHED = f"{ON_PATH} AND state <> 'running'"

# ---- whole rows ------------------------------------------------------------------------------
CONVERSATIONS = Columns(Conversation)
TURNS = Columns(Turn)
MESSAGES = Columns(Message)

# ---- a conversation --------------------------------------------------------------------------
RECEIPTS = Columns(Turn, "id", "number", "receipt", "started", "ended")
# A conversation with its last turn's receipt: its id.
CONVERSATION_WITH_RECEIPT = (
    f"SELECT {CONVERSATIONS.names('conversation')}, {RECEIPTS.names('turn')} "
    f"FROM {CONVERSATIONS.table} conversation "
    f"LEFT JOIN {RECEIPTS.table} turn ON turn.id = conversation.last_turn_id "
    "WHERE conversation.id = %s"
)

# Who may read the choice that is kept with a conversation, and the choice: its id.
KEPT_CHOICES = Columns(Conversation, "user", "guest", "deleted", "history", "tuning")
BY_ID = "id = %s"
# The totals of its path, and who may read them.
PATH_TOTALS = Columns(
    Conversation,
    *("id", "user", "guest", "deleted", "forget_above", "text_changes"),
    *("path_messages", "path_background"),
)

# ---- another branch is shown -----------------------------------------------------------------
# Conversation, false, and the seq above: id, parent, seq, and whether it isn't deleted. As ids of
# the database: 100,000 take 0.1 s, and a second with Django's values.
OFF_PATH_AFTER = (
    f"SELECT id, parent_id, seq, deleted IS NULL FROM {MESSAGES.table} "
    f"WHERE {ON_PATH} AND seq > %s ORDER BY seq"
)

# ---- a turn begins ---------------------------------------------------------------------------
TOTALS = ("path_messages", "path_users", "path_background", "path_tokens", "marked")
# What a new turn changes of its conversation.
CONVERSATION_TOTALS = Columns(
    Conversation,
    *("next_seq", *TOTALS, "last_background", "turns", "updated", "model", "tuning", "characters"),
)
TURN_KEYS = Columns(Turn, "id", "client_id", "number", "asked")
# Conversation and client id.
SAME_OR_RUNNING_TURN = "conversation_id = %s AND (client_id = %s OR state = 'running')"
MESSAGE_PLACES = Columns(Message, "id", "seq", "turn_seq")
# Conversation and true.
LAST_ON_PATH = f"{ON_PATH} ORDER BY seq DESC LIMIT 1"

# ---- the path is read ------------------------------------------------------------------------
# The columns of a `history.Entry`. The others, dates and keys, double the cost of a row.
ENTRY_FIELDS = (
    *("id", "role", "content", "attachments", "reasoning", "calls", "call_id", "metadata"),
    *("source", "speaker", "reply_to", "tokens", "tokenizer", "basis"),
    *("kv_size", "kv_start_position", "kv_status", "seq", "pinned", "excluded", "created"),
    *("quoted", "state", "kept_whole", "in_force", "anchors"),
)
ENTRIES = Columns(Message, *ENTRY_FIELDS)
# Conversation, true, the first seq wanted, and the conversation's next_seq.
FINISHED_BETWEEN = f"{FINISHED} AND seq >= %s AND seq < %s ORDER BY seq"
# Conversation, true, the background sources, and how many user messages to skip.
NTH_LAST_USER = (
    f"SELECT seq FROM {ENTRIES.table} WHERE {ON_PATH} AND role = 'user' "
    f"AND source NOT IN ({', '.join(['%s'] * len(BACKGROUND))}) ORDER BY seq DESC "
    "LIMIT 1 OFFSET %s"
)

# Conversation, true, the seq below which, and how many.
NEWEST_SIZES = (
    "SELECT seq, turn_seq, tokens, excluded, kv_status, source, role, state "
    f"FROM {ENTRIES.table} WHERE {FINISHED} AND seq < %s ORDER BY seq DESC LIMIT %s"
)

# Conversation, true, and again; the messages' seqs follow.
IN_TURNS_OF = (
    f"{FINISHED} AND turn_seq IN (SELECT turn_seq FROM {ENTRIES.table} WHERE {ON_PATH} AND seq IN "
)

# ---- the search index follows the path -------------------------------------------------------
# Conversation and true, and the background sources. Selected by role, SQLite would read all rows
# of both roles and sort them.
INDEXABLE = (
    f"{FINISHED} AND turn_seq > 0 AND role NOT IN ('system', 'tool') "
    f"AND source NOT IN ({', '.join(['%s'] * len(BACKGROUND))})"
)
# Conversation, true, and a message's seq: how many follow it.
MESSAGES_AFTER = f"SELECT COUNT(*) FROM {MESSAGES.table} WHERE {FINISHED} AND seq > %s"
# As INDEXABLE, a message's seq, and how many.
NEWEST_INDEXABLE = (
    f"SELECT seq, turn_seq FROM {MESSAGES.table} WHERE {INDEXABLE} AND seq <= %s "
    "ORDER BY seq DESC LIMIT %s"
)
LINES = Columns(Message, "seq", "turn_seq", "role", "content", "created")
# As INDEXABLE, the seqs between which they are, and how many.
LINES_BETWEEN = f"{INDEXABLE} AND seq > %s AND seq < %s AND content > '' ORDER BY seq LIMIT %s"

# ---- a turn runs -----------------------------------------------------------------------------
# Text, reasoning, message and turn.
SAVE_TEXT = (
    f"UPDATE {MESSAGES.table} SET content = %s, reasoning = %s "
    "WHERE id = %s AND turn_id = %s AND state = 'running'"
)
# The receipt as JSON, and the turn.
SAVE_RECEIPT = f"UPDATE {TURNS.table} SET receipt = %s WHERE id = %s AND state = 'running'"

# ---- a turn ends -----------------------------------------------------------------------------
# Without the receipt: that of a checkpoint is loaded only where the turn ends without one.
RUNNING_TURNS = Columns(Turn, "id", "conversation", "mode", "asked", "problem_code", "problem")
MESSAGES_OF_TURN = Columns(
    Message,
    *ENTRY_FIELDS,
    *("finish_reason", "conversation", "parent", "turn", "bookmarked", "edited"),
)
# A running turn with those of its messages that aren't finished, in order, one in each row; without
# any, one row without a message: its id.
RUNNING_TURN = (
    f"SELECT {RUNNING_TURNS.names('turn')}, {MESSAGES_OF_TURN.names('message')} "
    f"FROM {RUNNING_TURNS.table} turn LEFT JOIN {MESSAGES_OF_TURN.table} message "
    "ON message.turn_id = turn.id AND message.state = 'running' "
    "WHERE turn.id = %s AND turn.state = 'running' ORDER BY message.seq"
)
TURN_END = Columns(Turn, "state", "ended", "problem_code", "problem")
TURN_END_WITH_RECEIPT = Columns(
    Turn, "state", "ended", "problem_code", "problem", "receipt", "cost"
)
ANSWER_END = Columns(
    Message,
    *("content", "reasoning", "metadata", "state", "finish_reason"),
    *("tokens", "tokenizer", "basis", "quoted"),
)
# Messages, tokens, characters, time, the turn where it has a receipt or None, and the conversation.
ADD_TO_TOTALS = (
    f"UPDATE {CONVERSATIONS.table} SET path_messages = path_messages + %s, "
    "path_tokens = path_tokens + %s, characters = characters + %s, updated = %s, "
    "last_turn_id = COALESCE(%s, last_turn_id) WHERE id = %s"
)

# ---- the engine's cache ----------------------------------------------------------------------
# Conversation; a condition follows.
CACHE_PLACES = (
    f"SELECT id, kv_size, kv_start_position, kv_status FROM {MESSAGES.table} "
    "WHERE conversation_id = %s AND "
)
# Conversation and true; a condition follows. The page shows 80 characters, of which half the
# stored ones may be blanks.
CACHED_MESSAGES = (
    "SELECT id, seq, turn_seq, role, substr(content, 1, 160), tokens, kv_size, kv_start_position, "
    f"kv_status FROM {MESSAGES.table} WHERE {ON_PATH} AND "
)
# The conditions of the partial indexes, word for word: otherwise SQLite reads every message.
IN_CACHE = "(kv_start_position >= 0 OR kv_status = 0)"
CLEANED_UP = "kv_status < 1"
# True, false; the turns follow. With both values the index over turns serves, and messages that
# are off the path are found too.
OF_TURNS = "on_path IN (%s, %s) AND turn_seq IN"
# Count, tokenizer, basis and message.
SAVE_COUNT = f"UPDATE {MESSAGES.table} SET tokens = %s, tokenizer = %s, basis = %s WHERE id = %s"
# Size, first cell, status and message.
SAVE_CACHE_PLACE = (
    f"UPDATE {MESSAGES.table} SET kv_size = %s, kv_start_position = %s, kv_status = %s "
    "WHERE id = %s"
)

# ---- the index of words ----------------------------------------------------------------------
# What is written otherwise in each database. SQLite reads tables in the order of a CROSS JOIN, and
# has IS NOT DISTINCT FROM only from 3.39 on. It locks no rows: in PostgreSQL nobody changes a text
# between reading and numbering it, and what is locked elsewhere waits for the next time.
_POSTGRESQL = connection.vendor == "postgresql"
_JOIN, _IS = ("JOIN", "IS NOT DISTINCT FROM") if _POSTGRESQL else ("CROSS JOIN", "IS")
_LOCKED = " FOR NO KEY UPDATE OF {} SKIP LOCKED" if _POSTGRESQL else ""
# A temporary chat is never searched.
_SEARCHED = "conversation.temporary IS NULL"
WAITING = (
    f"SELECT EXISTS (SELECT 1 FROM {MESSAGES.table} message {_JOIN} {CONVERSATIONS.table} "
    "conversation ON conversation.id = message.conversation_id WHERE message.words_row IS NULL "
    f"AND message.state <> 'running' AND {_SEARCHED}) OR EXISTS (SELECT 1 "
    f"FROM {CONVERSATIONS.table} conversation WHERE words_row IS NULL AND {_SEARCHED})"
)
# How many.
UNSEARCHED_TITLES = (
    f"SELECT id, user_id, guest, LENGTH(title) FROM {CONVERSATIONS.table} conversation "
    f"WHERE words_row IS NULL AND {_SEARCHED} ORDER BY created "
    f"LIMIT %s{_LOCKED.format('conversation')}"
)
# How many. An answer that is being written follows when it has ended.
UNSEARCHED_MESSAGES = (
    "SELECT message.id, conversation.user_id, conversation.guest, LENGTH(message.content) "
    f"FROM {MESSAGES.table} message {_JOIN} {CONVERSATIONS.table} conversation "
    "ON conversation.id = message.conversation_id WHERE message.words_row IS NULL "
    f"AND message.state <> 'running' AND {_SEARCHED} "
    "ORDER BY message.created, message.seq LIMIT %s"
    f"{_LOCKED.format('message')}"
)
_TEXTS = {"title": (CONVERSATIONS.table, "title"), "message": (MESSAGES.table, "content")}
# An owner's first number, and the first one beyond.
HIGHEST_NUMBER = {
    kind: f"SELECT MAX(words_row) FROM {table} WHERE words_row >= %s AND words_row < %s"
    for kind, (table, _) in _TEXTS.items()
}
# Number and id.
SAVE_NUMBER = {
    kind: f"UPDATE {table} SET words_row = %s WHERE id = %s" for kind, (table, _) in _TEXTS.items()
}
# PostgreSQL: of how many characters, and numbers.
NUMBERED_TEXTS = {
    kind: f"SELECT words_row, LEFT({column}, %s) FROM {table} WHERE words_row = ANY(%s)"
    for kind, (table, column) in _TEXTS.items()
}
# PostgreSQL: number, and the words.
SAVE_WORDS = "INSERT INTO conversations_words (rowid, text) VALUES (%s, %s)"
# What to look for, as `TextQuery.match` and `match_any` make it. PostgreSQL: a tsquery, and twice
# the patterns of phrases, or NULL. Its planner takes a bare LIKE for true in one of 200 rows,
# however common the words are, COALESCE for half of them.
_MATCHES = (
    "found.words @@ %s::tsquery AND (%s::text[] IS NULL "
    "OR COALESCE(' ' || found.text || ' ' LIKE {every} (%s::text[]), TRUE))"
    if _POSTGRESQL
    else "found.text MATCH %s"
)
# The account and the guest. A temporary conversation isn't found.
OWNED_AND_KEPT = (
    f"conversation.deleted IS NULL AND conversation.user_id {_IS} %s "
    "AND conversation.guest = %s AND conversation.temporary IS NOT TRUE"
)
# The match, an owner's first and last number, the account, the guest, and how many. The index is
# read first, from the highest number on, and FTS5 reads rows only until there are enough. With
# OFFSET, PostgreSQL can't begin at the owner's conversations, whose messages it guesses to be few.
_FOUND = (
    f"SELECT found.rowid FROM conversations_words found WHERE {_MATCHES} "
    "AND found.rowid BETWEEN %s AND %s AND EXISTS (SELECT 1 FROM {rows} = found.rowid "
    f"AND {OWNED_AND_KEPT}{{more}} LIMIT 1 OFFSET 0) ORDER BY found.rowid DESC LIMIT %s"
)
_MESSAGES = (
    f"{MESSAGES.table} message {_JOIN} {CONVERSATIONS.table} conversation "
    "ON conversation.id = message.conversation_id WHERE message.words_row"
)
FOUND_MESSAGES = _FOUND.format(rows=_MESSAGES, every="ALL", more=" AND message.on_path")
# As FOUND_MESSAGES, and before how many the conversation that asks. As everywhere, an excluded user
# message or tool call excludes its whole turn, a result only its text.
_EXCLUDED = (
    f"SELECT 1 FROM {MESSAGES.table} mark WHERE mark.conversation_id = conversation.id "
    "AND mark.on_path IN (TRUE) AND mark.turn_seq = message.turn_seq AND mark.excluded "
    "AND (mark.id = message.id OR mark.role NOT IN ('assistant', 'tool') OR mark.calls <> '[]')"
)
FOUND_FOR_MODELS = _FOUND.format(
    rows=_MESSAGES,
    every="ANY",
    more=" AND message.on_path AND message.turn_seq > 0 AND message.role IN ('user', 'assistant') "
    "AND message.state <> 'running' AND message.seq >= conversation.forget_above "
    f"AND NOT (conversation.marked > 0 AND EXISTS ({_EXCLUDED})) AND conversation.id <> %s",
)
_TITLES = f"{CONVERSATIONS.table} conversation WHERE conversation.words_row"

# ---- filters of a search ---------------------------------------------------------------------
_FILTERS = {
    "agent": "LOWER(conversation.agent) = LOWER(%s)",
    "folder": "LOWER(conversation.folder) = LOWER(%s)",
    "pinned": "conversation.pinned IS NOT NULL",
    "archived": "conversation.archived IS NOT NULL",
}
# By the names of `search.filters`: of a message, and of a conversation in which something was said
# in that time. A conversation has no bookmark.
MESSAGE_FILTERS = _FILTERS | {
    "bookmarked": "message.bookmarked",
    "after": "message.created >= %s",
    "before": "message.created < %s",
}
CHAT_FILTERS = _FILTERS | {
    "bookmarked": "FALSE",
    "after": "conversation.updated >= %s",
    "before": "conversation.created < %s",
}
# As FOUND_MESSAGES, with how many are looked at before the account, and the filters' values behind
# it: what a filter leaves over of a common word may be far down.
FILTERED_MESSAGES = (
    "SELECT candidate.number FROM (SELECT found.rowid AS number FROM conversations_words found "
    f"WHERE {_MATCHES.format(every='ALL')} AND found.rowid BETWEEN %s AND %s "
    "ORDER BY found.rowid DESC LIMIT %s) candidate "
    f"WHERE EXISTS (SELECT 1 FROM {_MESSAGES} = candidate.number AND {OWNED_AND_KEPT} "
    "AND message.on_path{filters} LIMIT 1 OFFSET 0) ORDER BY candidate.number DESC LIMIT %s"
)
# The match, the first and last number, and after how many: the number of the one that follows.
NEXT_MATCH = (
    f"SELECT found.rowid FROM conversations_words found WHERE {_MATCHES.format(every='ALL')} "
    "AND found.rowid BETWEEN %s AND %s ORDER BY found.rowid DESC LIMIT 1 OFFSET %s"
)
# As FOUND_MESSAGES of titles, with the filters' values before how many.
FILTERED_TITLES = _FOUND.format(rows=_TITLES, every="ALL", more="{filters}")
# The account, the guest, the filters' values, how many, and after how many.
FILTERED_CHATS = (
    f"SELECT conversation.id FROM {CONVERSATIONS.table} conversation WHERE {OWNED_AND_KEPT}"
    "{filters} ORDER BY conversation.updated DESC, conversation.id LIMIT %s OFFSET %s"
)
# The same, of messages.
FILTERED_BOOKMARKS = (
    f"SELECT message.id FROM {MESSAGES.table} message JOIN {CONVERSATIONS.table} conversation "
    "ON conversation.id = message.conversation_id WHERE message.bookmarked AND message.on_path "
    f"AND {OWNED_AND_KEPT}{{filters}} "
    "ORDER BY message.created DESC, message.seq DESC LIMIT %s OFFSET %s"
)
