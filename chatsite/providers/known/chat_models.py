"""Which of the models that a server lists can answer in a chat.

Servers list everything they serve at one address: models that make vectors, order search hits,
listen, speak, draw or moderate too. What a server states of a model decides; where it states
nothing, the model's name does.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

# What LM Studio (`type`), Together (`type`), LiteLLM (`mode`), Mistral and others call a model
# that answers in a chat, and one that doesn't.
_KINDS = ("type", "mode", "task", "object_type", "model_type")
_CHAT_KINDS = frozenset({"chat", "llm", "vlm", "completion", "language", "text-generation"})
_OTHER_KINDS = (
    *("embed", "rerank", "moderation", "transcri", "speech", "audio_", "image_gen", "image-gen"),
    *("text-to-", "feature-extraction", "sentence-similarity", "classif", "video_gen"),
    *("automatic-speech", "text_to_", "diffusion"),
)
_EXACT_KINDS = frozenset({"image", "audio", "video", "tts", "stt", "asr"})
# A name is read as words: letters, without the numbers at their end.
_WORDS = re.compile(r"[a-z]+")
_OTHER_WORDS = frozenset(
    """
    embed embedding embeddings embedder embedqa rerank reranker rerankqa colbert bert distilbert
    roberta deberta modernbert minilm gte bge voyage clip siglip nvclip reward guard shieldgemma
    nemoguard wildguard virtueguard moderation moderations whisper tts melotts stt asr transcribe
    transcription diarize parakeet kokoro bark xtts piper orpheus csm cosyvoice sensevoice
    paraformer speecht realtime dall imagen flux sdxl sora veo kandinsky ideogram kling hailuo
    seedream seedance cogview cogvideo cogvideox pixverse wanx recraft hidream
    """.split()
)
# Names of several words; the first lines are encoders that no word gives away, the last models
# that continue a text, or work in a protocol of their own.
_OTHER_NAMES = re.compile(
    r"""stable-?diffusion | stable-image | gpt-image | text-(similarity|search)
    | (^|/)e5-(small|base|large|mistral) | multilingual-e5 | (^|/)all-(mpnet|distilroberta)
    | sentence-transformers/ | (^|/)paraphrase- | (^|/)uae-large | (^|/)instructor-(base|large|xl)
    | (^|/)stella_ | nemoretriever | embeddinggemma
    | (^|/)text-to-(speech|image|video) | (^|/)speech-to-text | granite[\d.]*-guardian
    | (image|video|speech)-generat | qwen-image | z-image | grok-(\d-image|imagine) | nano-banana
    | titan-image | nova-(canvas|reel|sonic) | hunyuan-?(video|image) | wan2\.\d | (^|/)sd-?3
    | playai | canary-(1b|qwen) | eleven_ | (^|/)aura- | fish-speech | nari-labs/dia
    | nova-[23]-(general|meeting|medical|phonecall) | mistral-ocr | (^|/)aqa$
    | native-audio | gemini-live | computer-use-preview
    | ^(babbage|davinci)-002 | gpt-3\.5-turbo-instruct""",
    re.VERBOSE,
)


def is_chat_model(name: str, entry: Mapping[str, Any]) -> bool:
    """`entry` is the model's in the server's list."""
    stated = _stated(entry)
    return _sounds_like_chat(name) if stated is None else stated


def _stated(entry: Mapping[str, Any]) -> bool | None:
    """What the server itself says; None where it says nothing of it."""
    for key in _KINDS:
        kind = entry.get(key)
        if not isinstance(kind, str):
            continue
        kind = kind.lower()
        if kind in _CHAT_KINDS:
            return True
        if kind in _EXACT_KINDS or kind.startswith(_OTHER_KINDS) or "embed" in kind:
            return False
    architecture, capabilities = entry.get("architecture"), entry.get("capabilities")
    if isinstance(architecture, dict):  # OpenRouter
        makes = architecture.get("output_modalities")
        if isinstance(makes, list) and makes:
            return "text" in makes
    if isinstance(capabilities, dict):  # Mistral
        chats = capabilities.get("completion_chat")
        if isinstance(chats, bool):
            return chats
    if isinstance(capabilities, list) and capabilities:  # Ollama's own words
        return "completion" in capabilities or "chat" in capabilities or None
    return None


def _sounds_like_chat(name: str) -> bool:
    low = name.lower()
    return not _OTHER_NAMES.search(low) and _OTHER_WORDS.isdisjoint(_WORDS.findall(low))
