"""The front door of storage: every unit of work, reads and writes, in one place.

The other parts import storage's functions from here alone, so that the modules behind this one can
be moved. A unit of work is synchronous and runs on a thread (`StorageThreads`); one that writes is
one transaction.
"""

from chatsite.conversations.cache.books import (
    bring_back_turns,
    mark_for_cleanup,
    mark_turns,
    place_books,
)
from chatsite.conversations.cache.panel_view import cache_books, totals_of
from chatsite.conversations.cache.saved_sessions import (
    drop_sessions,
    list_sessions,
    read_session,
    save_session,
    session_files,
    touch_session,
)
from chatsite.conversations.copies import copy_path, read_for_copy
from chatsite.conversations.database.versions import require_known_version
from chatsite.conversations.database.work import StorageThreads, takes_writes
from chatsite.conversations.files.uploads import (
    attachments_of,
    discard_upload,
    find_upload,
    provider_reference,
    require_quota,
    save_reference,
    store_upload,
    upload_content,
    upload_text,
)
from chatsite.conversations.outside.answers import answer_of
from chatsite.conversations.outside.mail_addresses import (
    add_address,
    address_owner,
    addresses_of,
    remove_address,
    verify_address,
)
from chatsite.conversations.outside.mail_answers import (
    answers_of_hour,
    begin_sending,
    finish_mail,
    keep_mail_files,
    leave_unanswered,
    notices_to,
    replied_message,
    thread_has_file,
    thread_texts,
)
from chatsite.conversations.outside.mail_upkeep import mail_folder, purge_mails
from chatsite.conversations.outside.mails import (
    drop_held,
    hold_mail,
    is_known_mail,
    mailbox_account,
    mailbox_place,
    own_threads,
    record_mail,
    release_held,
    save_mailbox_place,
    take_mail,
    take_notice,
    unfinished_mail,
    unfinished_mails,
)
from chatsite.conversations.outside.outside_messages import add_message
from chatsite.conversations.outside.talk_cache import (
    posted,
    take_messages,
    unfinished,
)
from chatsite.conversations.outside.talk_path import (
    caught_up,
    finish_question,
    is_to_be_answered,
    lag,
    place_messages,
    skip_messages,
    take_question,
    waiting_messages,
)
from chatsite.conversations.outside.talk_rooms import (
    begin_room,
    forget_all,
    has_begun,
    last_receipt,
    open_room,
)
from chatsite.conversations.reads.accounts import (
    conversations_of,
    files_of,
    messages_aside,
    rights_of,
)
from chatsite.conversations.reads.forgetting_trace import questions_since, trace_message
from chatsite.conversations.reads.loading import load_path, load_turns
from chatsite.conversations.reads.message_search import older_messages
from chatsite.conversations.reads.queries import (
    agent_of,
    current_owner,
    earlier_messages,
    kept_choice,
    list_conversations,
    open_conversation,
    receipt_of,
    whole_path,
)
from chatsite.conversations.reads.receipts import (
    list_all_conversations,
    past_turn,
    request_parts,
    turn_owner,
    valid_summaries,
)
from chatsite.conversations.reads.search_index import index_progress, lines_between
from chatsite.conversations.reads.summary_queries import (
    still_holds,
    summary_state,
    summary_text,
    summary_versions,
    unsummarised_path,
)
from chatsite.conversations.reads.text_search import bookmarked_messages, search_text
from chatsite.conversations.search_indexes import load_index, save_index_part
from chatsite.conversations.summaries import fold_summary, rewrite_summary, switch_summary
from chatsite.conversations.turn.begin import begin_turn
from chatsite.conversations.turn.edit import begin_edit
from chatsite.conversations.turn.end import end_interrupted, end_turn
from chatsite.conversations.turn.retry import begin_retry
from chatsite.conversations.turn.rounds import begin_calls, end_call, save_checkpoints
from chatsite.conversations.turn.version_texts import version_text
from chatsite.conversations.turn.versions import finish_branches, show_version
from chatsite.conversations.upkeep.accounts import (
    release_piece,
    remove_account,
    remove_lost_sessions,
)
from chatsite.conversations.upkeep.clock import bring_up_to_date
from chatsite.conversations.upkeep.deletions import delete_message, restore_message
from chatsite.conversations.upkeep.edits import TextChange, edit_message
from chatsite.conversations.upkeep.guests import note_sign_in, note_visit, owner_now
from chatsite.conversations.upkeep.import_reader import ImportHeader
from chatsite.conversations.upkeep.import_tasks import Imports
from chatsite.conversations.upkeep.imports import (
    add_imported,
    begin_import,
    finish_import,
    import_conversation,
)
from chatsite.conversations.upkeep.lifecycle import (
    choose_history,
    clear_conversation,
    delete_conversation,
    move_to_account,
    rename_conversation,
    save_counts,
    undelete_conversation,
)
from chatsite.conversations.upkeep.maintenance import Maintenance, purge, remove_imports
from chatsite.conversations.upkeep.marks import (
    bookmark_message,
    exclude_message,
    forget_above_message,
    leave_unanswered_message,
    pin_message,
)
from chatsite.conversations.upkeep.word_indexing import index_words, words_waiting

__all__ = [
    "ImportHeader",
    "Imports",
    "Maintenance",
    "StorageThreads",
    "TextChange",
    "add_address",
    "add_imported",
    "add_message",
    "address_owner",
    "addresses_of",
    "agent_of",
    "answer_of",
    "answers_of_hour",
    "attachments_of",
    "begin_calls",
    "begin_edit",
    "begin_import",
    "begin_retry",
    "begin_room",
    "begin_sending",
    "begin_turn",
    "bookmark_message",
    "bookmarked_messages",
    "bring_back_turns",
    "bring_up_to_date",
    "cache_books",
    "caught_up",
    "choose_history",
    "clear_conversation",
    "conversations_of",
    "copy_path",
    "current_owner",
    "delete_conversation",
    "delete_message",
    "discard_upload",
    "drop_held",
    "drop_sessions",
    "earlier_messages",
    "edit_message",
    "end_call",
    "end_interrupted",
    "end_turn",
    "exclude_message",
    "files_of",
    "find_upload",
    "finish_branches",
    "finish_import",
    "finish_mail",
    "finish_question",
    "fold_summary",
    "forget_above_message",
    "forget_all",
    "has_begun",
    "hold_mail",
    "import_conversation",
    "index_progress",
    "index_words",
    "is_known_mail",
    "is_to_be_answered",
    "keep_mail_files",
    "kept_choice",
    "lag",
    "last_receipt",
    "leave_unanswered",
    "leave_unanswered_message",
    "lines_between",
    "list_all_conversations",
    "list_conversations",
    "list_sessions",
    "load_index",
    "load_path",
    "load_turns",
    "mail_folder",
    "mailbox_account",
    "mailbox_place",
    "mark_for_cleanup",
    "mark_turns",
    "messages_aside",
    "move_to_account",
    "note_sign_in",
    "note_visit",
    "notices_to",
    "older_messages",
    "open_conversation",
    "open_room",
    "own_threads",
    "owner_now",
    "past_turn",
    "pin_message",
    "place_books",
    "place_messages",
    "posted",
    "provider_reference",
    "purge",
    "purge_mails",
    "questions_since",
    "read_for_copy",
    "read_session",
    "receipt_of",
    "record_mail",
    "release_held",
    "release_piece",
    "remove_account",
    "remove_address",
    "remove_imports",
    "remove_lost_sessions",
    "rename_conversation",
    "replied_message",
    "request_parts",
    "require_known_version",
    "require_quota",
    "restore_message",
    "rewrite_summary",
    "rights_of",
    "save_checkpoints",
    "save_counts",
    "save_index_part",
    "save_mailbox_place",
    "save_reference",
    "save_session",
    "search_text",
    "session_files",
    "show_version",
    "skip_messages",
    "still_holds",
    "store_upload",
    "summary_state",
    "summary_text",
    "summary_versions",
    "switch_summary",
    "take_mail",
    "take_messages",
    "take_notice",
    "take_question",
    "takes_writes",
    "thread_has_file",
    "thread_texts",
    "totals_of",
    "touch_session",
    "trace_message",
    "turn_owner",
    "undelete_conversation",
    "unfinished",
    "unfinished_mail",
    "unfinished_mails",
    "unsummarised_path",
    "upload_content",
    "upload_text",
    "valid_summaries",
    "verify_address",
    "version_text",
    "waiting_messages",
    "whole_path",
    "words_waiting",
]
