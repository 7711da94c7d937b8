"""An agent's template as a frozen value: what `agents/<slug>/template.json` says, checked.

`template_file` reads the file. The format is AgentDock's, so that a folder of its templates works
as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from chatsite.messages import Message
from chatsite.wording import say

LLM = "llm."
EMBEDDED = "embedded"
# The slug of an agent that somebody made in the page begins so.
OWN_PREFIX = "own-"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """How one provider is to be asked. None leaves the choice to the provider; 0 is a value.

    `max_tokens` bounds the answer and is the reply's reserve in the window.
    `trained_personality`: send the system sentence the model was trained with, not ours.
    `options` are further parameters under the names that chat completions give them.
    """

    model: str | None = None
    temperature: float | None = None
    max_tokens: int
    top_p: float | None = None
    trained_personality: bool = False
    options: Mapping[str, object] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class UnusedKey:
    """A key of a template that has no effect here: its dotted place, and what that means to the
    people who use the agent, with the place and the key that was probably `meant` as its values.
    `mistake`: the template's author surely wanted something else."""

    place: str
    text: str
    mistake: bool = False
    meant: str = ""

    @property
    def sentence(self) -> str:
        return say(self.text, place=self.place, meant=self.meant)


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """A template that can be used.

    `models` holds the settings of each provider that the template configures. `chat_settings` is
    raw: `history.resolve` checks it, since a bad value there is shown and breaks no template.
    `other` holds the top-level keys that have no field here. These two and `configurations` are
    without keys to services. `unused` names what has no effect. A lower `priority` comes first.
    `max_steps` is how many times a turn may call tools before the model must answer.

    `instructions` follow the personality; they stand at the beginning of the template's own
    conversation, whose turns are `prefilled`. With `enabled` false nobody is offered the agent, and
    it answers nobody. `notes` and `version` are shown on its card, `placeholder` in the empty box,
    and `mark` before its name: an emoji, or the name of a drawn colour.
    """

    slug: str
    agent_id: str
    name: str
    description: str
    personality: str
    nodes: tuple[str, ...]
    configurations: Mapping[str, Mapping[str, object]] = field(hash=False)
    models: Mapping[str, ModelSettings] = field(hash=False)
    chat_settings: Mapping[str, object] = field(hash=False)
    greeting: tuple[str, ...]
    prompts: tuple[str, ...]
    placeholder: str
    instructions: str
    prefilled: tuple[Message, ...]
    notes: tuple[str, ...]
    version: str
    enabled: bool
    tags: tuple[str, ...]
    priority: int
    max_steps: int
    mark: str = ""
    other: Mapping[str, object] = field(hash=False)
    unused: tuple[UnusedKey, ...]

    @property
    def llms(self) -> tuple[str, ...]:
        """Providers in order of preference, without "llm."; empty where the template names none."""
        names = (node.removeprefix(LLM) for node in self.nodes if node.startswith(LLM))
        return tuple(dict.fromkeys(names))

    @property
    def tools(self) -> tuple[str, ...]:
        """Every other node: tools, or what AgentDock knows and nobody here does."""
        return tuple(dict.fromkeys(node for node in self.nodes if not node.startswith(LLM)))

    def model_settings(self, llm: str) -> ModelSettings:
        """Settings for that provider; the defaults where the template configures none for it."""
        return self.models.get(llm) or ModelSettings(max_tokens=default_max_tokens(llm))


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenTemplate:
    """A template that can't be used, and why. `file` is relative to the folder of agents.

    `key` is the dotted place in the file, "" when it is the file itself.
    """

    slug: str
    file: str
    key: str
    reason: str


def default_max_tokens(llm: str) -> int:
    return 256 if llm == EMBEDDED else 1024
