"""No sentences for people outside of the catalogue in Python, and what is excepted from that."""

from __future__ import annotations

from functools import cache

from tests.running import ROOT
from tests.stray_python_words import Stray, stray_words

CODE = ROOT / "chatsite"

MODEL = "a model reads it, in English whatever the language of the page"
ADMIN = "administrators read it: English by design"
AUTHOR = "authors of agents and policies read it, as a fault of their code or of their file"
NAMES = "names, patterns and codes, no sentences"
SQL = "SQL"
STORED = "stored in English, and said where it is shown"
LOG = "it is logged, or handled by the server itself"

# Folders, modules, and functions or classes of a module ("module::Class.method"; after "::" nothing
# stands for the module outside of any), with the reason why their sentences aren't said.
EXCEPTED = {
    "agents/catalogue.py::Catalogue._folders": ADMIN,
    "agents/strategy/context.py": AUTHOR,
    "agents/strategy/file.py::_fault": AUTHOR,
    "agents/strategy/worker.py": AUTHOR,
    "agents/strategy/worker_process.py": AUTHOR,
    "agents/template_file.py": AUTHOR,
    "agents/unused_keys.py::": NAMES,
    "asgi.py": ADMIN,
    "channels/mail/arrivals.py::Arrivals._admitted": LOG,
    "channels/mail/attached.py::AttachedFiles.of": ADMIN,
    "channels/mail/incoming/admission.py": LOG,
    "channels/mail/incoming/contents.py::": NAMES,
    "channels/mail/incoming/html/cost.py::": NAMES,
    "channels/mail/incoming/html/hidden.py::": NAMES,
    "channels/mail/incoming/html/styles.py::": NAMES,
    "channels/mail/incoming/html/text.py::": MODEL,
    "channels/mail/incoming/quotes/marks.py::": NAMES,
    "channels/mail/incoming/quotes/quoted.py::": NAMES,
    "channels/mail/mail_channel.py": ADMIN,
    "channels/mail/mailbox.py": ADMIN,
    "channels/mail/outgoing/markup.py": NAMES,
    "channels/mail/outgoing/sending.py": ADMIN,
    "channels/talk/api.py": ADMIN,
    "channels/talk/attachments.py::_take_patiently": ADMIN,
    "channels/talk/channel.py::TalkChannel._patiently": ADMIN,
    "channels/talk/check.py": ADMIN,
    "channels/talk/health.py": ADMIN,
    "channels/talk/placing.py": ADMIN,
    "channels/talk/reader.py": ADMIN,
    "channels/talk/refusals.py": ADMIN,
    "channels/talk/rooms_file.py": ADMIN,
    "checked_file.py": ADMIN,
    "checks.py": ADMIN,
    "conversations/admin.py": ADMIN,
    "conversations/cache/": SQL,
    "storage.py": SQL,
    "conversations/database/": SQL,
    "conversations/migrations/": SQL,
    "conversations/outside/mails.py::hold_mail": LOG,
    "conversations/models.py": ADMIN,
    "conversations/reads/loading.py::_turns": SQL,
    "conversations/tables/": ADMIN,
    "conversations/upkeep/accounts.py": LOG,
    "history/lexical/cues.py": NAMES,
    "history/lexical/scoring.py::": NAMES,
    "history/lexical/sharing.py::": STORED,
    "history/lexical/stored.py": LOG,
    "history/lexical/words.py": NAMES,
    "history/live_list.py": AUTHOR,
    "history/policies/triage_question.py": MODEL,
    "history/summary_plan.py": MODEL,
    "history/values/added_messages.py": MODEL,
    "kv/books.py::Book.faults": LOG,
    "mail_account.py::_bad_address": ADMIN,
    "process_limits.py": LOG,
    "providers/base/role_order.py": MODEL,
    "providers/echo.py::echo_answer": MODEL,
    "providers/embedded/cache/": LOG,
    "providers/embedded/completion.py": LOG,
    "providers/embedded/model_file.py": ADMIN,
    "providers/embedded/provider.py::": MODEL,
    "providers/embedded/provider.py::EmbeddedProvider._answer_by_ids": LOG,
    "providers/embedded/sentences.py": ADMIN,
    "providers/embedded/session_files.py": LOG,
    "providers/http/failures.py::": NAMES,
    "providers/http/refusals.py::": NAMES,
    "providers/known/": ADMIN,
    "providers/tokens/passage_vectors.py": LOG,
    "providers/tokens/sentence_vectors.py": ADMIN,
    "settings.py": ADMIN,
    "tools/arguments.py": MODEL,
    "tools/builtin.py": MODEL,
    "tools/calculator.py": MODEL,
    "tools/call.py": MODEL,
    "tools/clock.py": MODEL,
    "tools/mcp/config_file.py": ADMIN,
    "tools/mcp/connections.py": MODEL,
    "tools/mcp/incoming.py::": NAMES,
    "tools/mcp/link.py": MODEL,
    "tools/mcp/results.py": MODEL,
    "tools/search_history.py": MODEL,
    "turns/answer/tool_calls.py::": MODEL,
    "turns/context/file_forms.py::_render_file": MODEL,
    "turns/evidence/triage.py::": NAMES,
    "turns/evidence/triage.py::Triager.gather": NAMES,
    "web/accounts/log.py": LOG,
    "web/health.py": ADMIN,
    "web/management/": ADMIN,
    "web/server/readable.py": LOG,
    "web/server/websocket_protocol.py": "the reason in a closing frame: programs read it",
}


@cache
def found() -> dict[str, tuple[Stray, ...]]:
    """By the module's path. Read once: it takes seconds."""
    modules = ((path, stray_words(path.read_text())) for path in sorted(CODE.rglob("*.py")))
    return {path.relative_to(CODE).as_posix(): tuple(stray) for path, stray in modules if stray}


def excepts(excepted: str, module: str, stray: Stray) -> bool:
    if excepted.endswith("/"):
        return module.startswith(excepted)
    name, within, inside = excepted.partition("::")
    return module == name and (not within or stray.inside == inside)


def test_sentences_for_people_come_from_the_catalogue() -> None:
    """`say`, `say_count`, `later` of `chatsite.wording`; what isn't for people is in the table."""
    strays = [
        f"chatsite/{module}:{stray.line}: {stray.text!r}"
        for module, all_of_it in found().items()
        for stray in all_of_it
        if not any(excepts(excepted, module, stray) for excepted in EXCEPTED)
    ]
    assert not strays, "\n".join(strays)


def test_every_exception_is_needed() -> None:
    strays = [(module, stray) for module, all_of_it in found().items() for stray in all_of_it]
    needed = {one for one in EXCEPTED if any(excepts(one, *stray) for stray in strays)}
    assert set(EXCEPTED) - needed == set()


def test_the_check_finds_sentences() -> None:
    """It would be blind otherwise, and nobody would notice."""
    for source in (
        'NOTE = "Nothing was kept here."',
        'note = f"Nothing of {name} was kept."',
        'raise Refused("Nothing was kept here.")',
        'raise Refused("This file is empty. " + say("Nothing was kept."))',
        'def _why(one):\n    return one or "Nothing was kept here."',
        'note = say("{what} was kept.", what="Nothing that you wrote")',
        'TABLE = {"a": "Nothing was kept here.", "b": later("All of it was kept.")}',
    ):
        assert len(stray_words(source)) == 1, source


def test_the_check_leaves_alone_what_is_said_or_not_for_people() -> None:
    for source in (
        'NOTE = later("Nothing was kept here.")',
        'say_count("{count} file was kept.", "{count} files were kept.", 2)',
        'def keep():\n    """What is kept of a file."""',
        'logger.info("nothing of %s was kept", name)',
        'raise ValueError("a size is never below 0")',
        'KEYS = ("created at", "name")',
    ):
        assert stray_words(source) == [], source


def test_the_check_says_where_a_sentence_stands() -> None:
    source = 'class Note:\n    def why(self):\n        return "nothing was kept of it"'
    assert stray_words(source) == [Stray(3, "Note.why", "nothing was kept of it")]
