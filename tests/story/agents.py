"""Writes agents for tests, with and without chat settings, for the fake provider."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.running import ROOT

PERSONALITY = "You are {name}. You answer in tests."


def write_agent(folder: Path, slug: str, chat: dict[str, Any] | None = None, **more: Any) -> None:
    template = {
        "name": slug.title(),
        "personality": PERSONALITY.format(name=slug),
        "nodes": ["llm.openai"],
        **({"chatSettings": chat} if chat is not None else {}),
        **more,
    }
    (folder / slug).mkdir(parents=True)
    (folder / slug / "template.json").write_text(json.dumps(template))


def write_agents(folder: Path) -> Path:
    """`demo` sets lastN 3, `plain` nothing; `examples` has prefilled turns, `bad` bad values."""
    write_agent(folder, "demo", {"historyPolicy": "lastN", "historyLength": 3})
    write_agent(folder, "plain")
    shown = [{"role": "user", "content": "Two?"}, {"role": "assistant", "content": "2"}]
    write_agent(folder, "examples", {"historyPolicy": "none", "history": shown})
    write_agent(folder, "bad", {"historyPolicy": "everything", "historyLength": "5"})
    return folder


def brief_demo(folder: Path, *, tokens: int) -> Path:
    """The shipped demo agent; the embedded model answers in at most `tokens` tokens."""
    template = json.loads((ROOT / "agents/demo/template.json").read_text())
    template["nodeConfigurations"]["llm.embedded"]["maxTokens"] = tokens
    (folder / "demo").mkdir(parents=True)
    (folder / "demo" / "template.json").write_text(json.dumps(template))
    return folder
