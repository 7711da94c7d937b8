"""Servers that models are reached at: which dialect each speaks, where, and with which key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """`name` is what stands after `llm.` in a template, and before the colon of `provider:model`.

    `key` names the environment variable that holds its key, never the key itself; "" where it
    wants none. `small_model` is for short side tasks, "" where the agent's own does them. `bound`
    is its name for the longest reply. `files`: it keeps files that it was given once.
    """

    name: str
    label: str
    dialect: Literal["openai", "anthropic"]
    base_url: str
    key: str = ""
    default_model: str = ""
    small_model: str = ""
    bound: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    files: bool = False
