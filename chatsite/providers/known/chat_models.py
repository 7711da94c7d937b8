"""Which of the models that a server lists can answer in a chat.

Servers list everything they serve at one address: models that make vectors, order search hits,
listen, speak, draw or moderate too. What a server states of a model decides; where it states
nothing, the model's name does.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

# Where LM Studio (`type`), LiteLLM (`mode`), Xinference (`model_type`), Cohere (`endpoints`) and
# others say what a model does: in a word, an object that has one, or a list.
_KINDS = (
    *("type", "mode", "task", "object_type", "model_type", "pipeline_tag", "endpoints"),
    *("supported_endpoints", "supported_endpoint_types", "supportedGenerationMethods"),
)
_CHAT_KINDS = frozenset(
    {"llm", "vlm", "completion", "language", "text-generation", "generate", "generatecontent"}
)
_OTHER_KINDS = (
    *("image_gen", "image-gen", "image_edit", "audio_", "video_gen", "text-to-", "text_to_"),
    *("feature-extraction", "sentence-similarity", "automatic-speech", "vector_store", "realtime"),
    *("classif", "diffusion"),
)
_EXACT_KINDS = frozenset(
    {"image", "audio", "video", "tts", "stt", "asr", "ocr", "search", "score", "bert"}
)
_OTHER_PARTS = ("embed", "rerank", "moderation", "transcri", "speech")
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
    stated, low = _stated(entry), name.lower()
    if stated is not None:
        return stated
    return not _OTHER_NAMES.search(low) and _OTHER_WORDS.isdisjoint(_WORDS.findall(low))


def _stated(entry: Mapping[str, Any]) -> bool | None:
    """What the server itself says; None where it says nothing of it."""
    for key in _KINDS:
        verdicts = [chats for word in _words(entry.get(key)) if (chats := _kind(word)) is not None]
        if verdicts:
            return any(verdicts)
    capabilities, architecture = entry.get("capabilities"), entry.get("architecture")
    if isinstance(capabilities, dict):  # Mistral
        chats = capabilities.get("completion_chat")
        if isinstance(chats, bool):
            return chats
    can = _words(capabilities)  # Ollama; a model that chats may take "audio" and "image" as well
    if any(_kind(word) for word in can):
        return True
    if any("embed" in word or "rerank" in word for word in can):
        return False
    for source in (architecture, entry):  # OpenRouter, xAI
        makes = source.get("output_modalities") if isinstance(source, Mapping) else None
        if isinstance(makes, list) and makes:
            return "text" in makes
    return None


def _words(value: object) -> list[str]:
    if isinstance(value, dict):
        value = value.get("type", value.get("name"))
    words = value if isinstance(value, list) else [value]
    return [word.lower() for word in words if isinstance(word, str)]


def _kind(word: str) -> bool | None:
    if word in _CHAT_KINDS or "chat" in word:
        return True
    other = word in _EXACT_KINDS or word.startswith(_OTHER_KINDS)
    return False if other or any(part in word for part in _OTHER_PARTS) else None
