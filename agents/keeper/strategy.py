"""Keeps in view what you asked to keep, then the newest of the conversation.

A message that begins with "Keep:" stays in view however long ago it was written. What `ctx` offers
is in docs/strategies.md; after a change run `python manage.py check_strategy keeper`.
"""

KEEP = "keep:"
RULES = (
    'Messages that begin with "Keep:" are notes that the user wants you to remember. They may be '
    "much older than the messages around them. Where two of them disagree, the later one counts."
)


def build(ctx):
    said = ctx.history.recent(10_000)  # all of it: the newest 500 turns
    notes = [message for message in said if is_note(message)]

    # A quarter of the room stays for notes. A context reads best when it begins with a question.
    newest = ctx.history.by_tokens(ctx.budget * 3 // 4)
    while newest and newest[0].role != "user":
        newest.pop(0)

    # Over budget the lowest priority gives way first, so the notes stay longest.
    if notes:
        ctx.slots.add("system", RULES)
    ctx.slots.add("notes", notes, priority=2)
    ctx.slots.add("newest", newest, priority=1)

    # A text of our own, after the history: files from messages that are no longer in view.
    ctx.slots.add("files", files_out_of_view(said, notes + newest))


def is_note(message):
    return message.role == "user" and (message.content or "").lstrip().lower().startswith(KEEP)


def files_out_of_view(said, chosen):
    names = [file.name for message in said for file in message.attachments]
    seen = {file.name for message in chosen for file in message.attachments}
    away = [name for name in dict.fromkeys(names) if name not in seen]
    return "Files from earlier in this conversation: " + ", ".join(away) if away else None
