"""What a shared page says: texts of messages as HTML, and receipts in words, as they are stored."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from html import escape
from typing import Any

from django.utils.safestring import SafeString, mark_safe

from chatsite.conversations.path.tree import model_label
from chatsite.history import show_receipt
from chatsite.markdown import html_of
from chatsite.shares.reading import SharedPage
from chatsite.wording import say

# In what `html_of` gives, "<" and quotes of the text are escaped: what is found here is its own.
_HEADING = re.compile(r"<(/?)h([1-6])>")
_ALIGNED = re.compile(r' style="text-align:(left|center|right)"')
_BLOCK = re.compile(r"<(p|li|h[3-6]|blockquote|ul|ol|table|th|td)\b")


def shown_html(text: str) -> SafeString:
    """The text of a message, below the page's own headings, each block in its text's direction."""
    made = html_of(text).replace("<a ", '<a rel="nofollow noopener noreferrer" ')
    made = _HEADING.sub(lambda found: f"<{found[1]}h{min(int(found[2]) + 2, 6)}>", made)
    made = _ALIGNED.sub(r' class="\1"', made)
    made = _BLOCK.sub(r'<\1 dir="auto"', made)
    name = escape(say("Table"))
    scrolled = f'<div class="scroll" tabindex="0" role="region" aria-label="{name}"><table'
    return mark_safe(made.replace("<table", scrolled).replace("</table>", "</table></div>"))


def message_fields(shared: SharedPage, *, agent: str) -> Iterator[dict[str, Any]]:
    """What the template reads of each message; `agent` is the name of who answered."""
    last = show_receipt(shared.last) if shared.last else {}
    horizon, before, above, day = last.get("horizon"), "", False, None
    for view in shared.messages:
        message, receipt = view.message, shared.receipts.get(view.message.id)
        role = "user" if message.role == "user" else "assistant"
        calls = [(call.name, dict(call.arguments)) for call in message.calls]
        extra = shared.share.tools and (calls or message.reasoning or message.role == "tool")
        if not (message.content or message.attachments or receipt or extra):
            continue  # it only called tools
        is_above = horizon is not None and view.seq < horizon
        created = datetime.fromisoformat(view.created)
        yield {
            "view": view,
            "message": message,
            "role": role,
            "who": (say("The person") if role == "user" else agent) if role != before else "",
            "created": created,
            "is_new_day": created.date() != day,
            "html": shown_html(message.content or "") if message.role != "tool" else "",
            "calls": calls if shared.share.tools else [],
            "is_unsent": _is_unsent(last, view.seq),
            # The line says it of all above at once.
            "is_above": is_above,
            "has_horizon": above and not is_above,
            "receipt": list(_receipt_lines(receipt)) if receipt else [],
        }
        before, above, day = role, is_above, created.date()


def _is_unsent(last: Mapping[str, Any], seq: int) -> bool:
    """Whether the newest answer was written without this message."""
    for verdict in last.get("verdicts", ()):
        spans = verdict.get("spans") or [(verdict["first"], verdict["last"])]
        if any(first <= seq <= end for first, end in spans):
            return not verdict["sent"]
    return False


def _receipt_lines(stored: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Policy, messages, model and tokens of an answer; not the settings, nor what was sent."""
    shown = show_receipt(stored)
    facts, told = shown.get("facts", {}), shown.get("reported") or {}
    yield say("What it was given"), str(shown.get("in_words", ""))
    sent, messages = facts.get("sent", 0), facts.get("stored", 0)
    yield say("Messages sent"), say("{sent} of {messages}", sent=sent, messages=messages)
    if model := model_label(shown.get("provider")):
        yield say("Model"), model
    read, written = told.get("prompt") or shown.get("prompt_tokens"), told.get("completion")
    words = say("{read:,} read, {written:,} written", read=read or 0, written=written or 0)
    yield say("Tokens"), words
