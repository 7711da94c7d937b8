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
    "agents/strategy/worker_process.py": AUTHOR,
    "agents/strategy/file.py::_fault": AUTHOR,
    "agents/strategy/worker.py": AUTHOR,
    "agents/template_file.py": AUTHOR,
    "agents/template_file.py::": NAMES,
    "asgi.py": ADMIN,
    "history/path/shortened.py::line_for": MODEL,
    "history/anchors.py": MODEL,
    "mail/arrivals.py::Arrivals._admit": LOG,
    "mail/attached.py::AttachedFiles.of": ADMIN,
    "mail/incoming/admission.py": LOG,
    "mail/incoming/contents.py::": NAMES,
    "mail/incoming/html/rules.py::": NAMES,
    "mail/incoming/html/hidden.py::": NAMES,
    "mail/incoming/html/styles.py::": NAMES,
    "mail/incoming/html/text.py::": MODEL,
    "mail/incoming/quotes/marks.py::": NAMES,
    "mail/incoming/quotes/quoted.py::": NAMES,
    "mail/channel.py": ADMIN,
    "mail/mailbox.py": ADMIN,
    "mail/outgoing/replies.py": NAMES,
    "mail/outgoing/sending.py": ADMIN,
    "shares/pages.py::": NAMES,
    "shares/rendering.py::shown_html": NAMES,
    "talk/api.py": ADMIN,
    "talk/placing.py::_take_patiently": ADMIN,
    "talk/channel.py::TalkChannel._patiently": ADMIN,
    "talk/management/commands/talk_check.py": ADMIN,
    "talk/reader.py": ADMIN,
    "talk/placing.py": ADMIN,
    "talk/contents.py": ADMIN,
    "talk/rooms_file.py": ADMIN,
    "checks.py": ADMIN,
    "storage.py": SQL,
    "conversations/database/": SQL,
    "conversations/path/cache_places.py": SQL,
    "conversations/search/word_tables.py": SQL,
    "conversations/traces.py": SQL,
    "conversations/search/spelling.py": SQL,
    "conversations/migrations/": SQL,
    "mail/mails.py::hold_mail": LOG,
    "conversations/models.py": ADMIN,
    "channels/supervisor.py": LOG,
    "cluster/servers.py": SQL,
    "conversations/path/loading.py::_turns": SQL,
    "accounts/models.py": ADMIN,
    "accounts/migrations/": SQL,
    "accounts/shared_limits.py::": SQL,
    "kv_cache/management/": ADMIN,
    "kv_cache/panel_view.py": SQL,
    "mail/admin.py": ADMIN,
    "mail/management/": ADMIN,
    "talk/management/": ADMIN,
    "history/settings/table.py": "documents say it: administrators read it, English by design",
    "accounts/removal.py": LOG,
    "history/lexical/words.py": NAMES,
    "history/lexical/scoring.py::": NAMES,
    "history/lexical/sharing.py::": STORED,
    "history/lexical/stored.py": LOG,
    "history/live_list.py": AUTHOR,
    "history/policies/triage_question.py": MODEL,
    "history/summary_plan.py": MODEL,
    "history/compaction.py": MODEL,
    "history/path/added_messages.py": MODEL,
    "history/path/in_force.py": MODEL,
    "history/path/own_lines.py": MODEL,
    "history/instructions.py": NAMES,
    "kv_cache/books.py::Book.faults": LOG,
    "mail/account.py::_bad_address": ADMIN,
    "process_limits.py": LOG,
    "providers/base/role_order.py": MODEL,
    "providers/echo.py::echo_answer": MODEL,
    "kv_cache/slots/": LOG,
    "providers/embedded/client.py": LOG,
    "providers/embedded/engine.py": ADMIN,
    "providers/embedded/provider.py::": MODEL,
    "providers/embedded/provider.py::EmbeddedProvider._answer_by_ids": LOG,
    "providers/embedded/process.py": ADMIN,
    "kv_cache/session_files.py": LOG,
    "providers/http/failures.py::": NAMES,
    "providers/http/refusals.py::": NAMES,
    "providers/known/": ADMIN,
    "providers/tokens/passage_vectors.py": LOG,
    "providers/tokens/sentence_vectors.py": ADMIN,
    "conversations/settings.py": ADMIN,
    "tools/tool.py": MODEL,
    "wiring/parts.py": MODEL,
    "tools/calculator.py": MODEL,
    "tools/toolbox.py": MODEL,
    "tools/clock.py": MODEL,
    "tools/mcp/config_file.py": ADMIN,
    "tools/mcp/connections.py": MODEL,
    "tools/mcp/incoming.py::": NAMES,
    "tools/mcp/link.py": MODEL,
    "tools/search_history.py": MODEL,
    "turns/agents/resolved_agent.py::": MODEL,
    "turns/answer/tool_calls.py::": MODEL,
    "turns/context/file_forms.py::_render_file": MODEL,
    "turns/evidence/looking_back.py": MODEL,
    "turns/evidence/recall.py::": MODEL,
    "turns/titles/cleaning.py::": NAMES,
    "turns/titles/titler.py": MODEL,
    "turns/evidence/triage.py::": NAMES,
    "turns/evidence/triage.py::Triager.gather": NAMES,
    "accounts/gate.py": LOG,
    "web/health.py": ADMIN,
    "web/management/": ADMIN,
    "web/pages.py::": NAMES,
    "web/server/requests.py": LOG,
    "web/server/protocols.py": "the reason in a closing frame: programs read it",
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
    assert set(EXCEPTED) - needed == set(), "nothing of these is found: remove their rows"


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
