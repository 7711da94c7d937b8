"""Thirty-five agents in the shapes of AgentDock's public templates, in words of our own.

Every key that those templates use is here, with the same types, the same nodes, and as many
templates for each provider, policy and tool.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

GEMINI, CLAUDE = "gemini-2.0-flash-exp", "claude-sonnet-4-20250514"
MODELS = {
    "anthropic": CLAUDE,
    "gemini": GEMINI,
    "groq": "llama-3.3-70b-versatile",
    "deepseek": "deepseek-chat",
    "cerebras": "llama-3.3-70b",
}
SCIENCE = (
    *("pubmed_search", "pubmed_fetch", "openalex_search", "openalex_fetch", "arxiv_search"),
    *("arxiv_fetch", "semantic_scholar_search", "semantic_scholar_paper"),
    "semantic_scholar_author",
)
STEPS = {
    "description": "How the talk goes.",
    "steps": [
        {"name": "Greet", "description": "Say hello.", "isDefault": True},
        {
            "name": "Look up",
            "description": "Find sources, then think.",
            "sequence": ["search", "think"],
            "conditions": [{"type": "tool_used", "value": "search", "description": "After it."}],
            "availableTools": {"allowed": ["search", "think"], "denied": ["debate"]},
        },
        {
            "name": "Sum up",
            "conditions": [{"type": "sequence_match", "value": "search", "description": "Then."}],
        },
    ],
}
SAVING = {"compressToolOutputs": True, "maxToolOutputTokens": 500}
SAFETY = [{"category": "HARM_CATEGORY_HATE_SPEECH", "threshold": "BLOCK_ONLY_HIGH"}]

# By slug: the provider, the tools, and what the template has besides the usual keys.
SHAPES: dict[str, tuple[str, tuple[str, ...], dict[str, Any]]] = {
    **{f"writer-{n}": ("anthropic", (), {}) for n in range(1, 4)},
    "mentor": ("anthropic", ("search", "think"), {"orchestration": STEPS}),
    "translator": ("anthropic", (*SCIENCE, "search", "think"), {"orchestration": STEPS}),
    "tutor": ("anthropic", ("search", "pubmed_search", "pubmed_fetch"), {"orchestration": STEPS}),
    "doctor": ("anthropic", ("search", "deep_research"), {"orchestration": STEPS}),
    "steps": (
        "anthropic",
        ("search", "think", "reflect", "brainstorm", "compare", "critique", "debate"),
        {"orchestration": STEPS, "tokenOptimization": SAVING},
    ),
    "reasoner": (
        "anthropic",
        ("search", "think", "reflect", "compare", "critique", "brainstorm", "debate"),
        {"orchestration": STEPS, "tokenOptimization": SAVING, "policy": "all"},
    ),
    "planner": ("anthropic", ("search", "think", "deep_research"), {"tokenOptimization": SAVING}),
    "painter": ("anthropic", ("generate_image",), {}),
    **{f"grounded-{n}": ("gemini", ("search",), {"grounded": True}) for n in range(1, 9)},
    **{f"deep-{n}": ("gemini", ("search", "deep_research"), {"grounded": True}) for n in (1, 2)},
    "explorer": ("gemini", ("search", "snowtracer"), {"policy": "all"}),
    "broker": (
        "gemini",
        ("search", "stock_price", "crypto_price", "trending_cryptos"),
        {"grounded": True},
    ),
    "forecaster": ("gemini", ("weather", "think"), {}),
    "pictures": ("gemini", (), {"placeholderText": "Show me a plate", "grounded": False}),
    "guide": ("gemini", (), {}),
    "asleep": ("gemini", ("search",), {"isEnabled": False, "grounded": True}),
    "lister": ("gemini", (), {"prompts": 8}),
    "groq-1": ("groq", ("search", "stock_price"), {}),
    "groq-2": ("groq", ("search",), {"notes": "Fast, but without pictures."}),
    "groq-3": ("groq", (), {"length": 100}),
    "groq-4": ("groq", (), {"length": 3}),
    "distilled": ("deepseek", ("deep_research",), {"notes": "It thinks aloud."}),
    "sunk": ("deepseek", (), {"maxConcurrency": 2, "policy": "all"}),
    "insight": ("cerebras", (), {"notes": "It needs a key.", "key": True}),
}


def write_foreign_agents(folder: Path) -> Path:
    for slug, (llm, tools, more) in SHAPES.items():
        (folder / slug).mkdir(parents=True)
        document = foreign_template(slug, llm, tools, dict(more))
        (folder / slug / "template.json").write_text(json.dumps(document))
    return folder


def foreign_template(
    slug: str, llm: str, tools: tuple[str, ...], more: dict[str, Any]
) -> dict[str, Any]:
    model: dict[str, Any] = {
        "model": MODELS[llm],
        "temperature": 0.7,
        "maxTokens": 4096,
        "useCustomApiKey": "key" in more,
    }
    if "grounded" in more:
        model |= {"useSearchGrounding": more.pop("grounded"), "safetySettings": SAFETY}
    if more.pop("key", False):
        model |= {"provider": llm, "apiKey": {"required": True, "description": "Yours."}}
    policy = more.pop("policy", "lastN")
    chat: dict[str, Any] = {
        "historyPolicy": policy,
        **({"historyLength": more.pop("length", 20)} if policy == "lastN" else {}),
        "initialMessages": [f"I am {slug}."],
        "chatPrompts": [f"Question {n}?" for n in range(more.pop("prompts", 2))],
    }
    if "placeholderText" in more:
        chat["placeholderText"] = more.pop("placeholderText")
    options: dict[str, Any] = {"maxSteps": 5}
    if "tokenOptimization" in more:
        options["tokenOptimization"] = more.pop("tokenOptimization")
    return {
        "version": "1.0",
        "agentId": slug,
        "name": slug.title(),
        "description": "An agent from elsewhere.",
        "tags": ["elsewhere"],
        "priority": 5,
        "personality": [f"You are {slug}.", "You answer in tests."],
        "nodes": [f"llm.{llm}", *tools],
        "nodeConfigurations": {f"llm.{llm}": model, **{tool: {} for tool in tools}},
        "chatSettings": chat,
        "options": options,
        **more,
    }
