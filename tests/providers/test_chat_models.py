"""Which of a server's models are offered: those that can answer in a chat."""

from __future__ import annotations

from typing import Any

import pytest

from chatsite.providers.known.chat_models import is_chat_model
from tests.fakes.openai_server import FakeOpenAI
from tests.providers.test_reachable import looked, moved

OTHERS = """
text-embedding-3-small text-embedding-3-large text-embedding-ada-002 text-embedding-9
text-embedding-004 gemini-embedding-001 embeddinggemma:300m mistral-embed codestral-embed
nomic-embed-text nomic-embed-text:latest nomic-ai/nomic-embed-text-v1.5 mxbai-embed-large
snowflake-arctic-embed:335m Qwen/Qwen3-Embedding-8B qwen3-reranker-4b bge-m3 BAAI/bge-reranker-v2-m3
bge-reranker-v2-m3 cohere/rerank-v3.5 jina-reranker-v2-base-multilingual jina-embeddings-v3
intfloat/multilingual-e5-large e5-large-v2 all-minilm sentence-transformers/all-MiniLM-L6-v2
all-mpnet-base-v2 thenlper/gte-large voyage-3-large colbert-ir/colbertv2.0 embed-english-v3.0
whisper-1 openai/whisper-large-v3 whisper-large-v3-turbo distil-whisper-large-v3-en
gpt-4o-transcribe gpt-4o-mini-transcribe gpt-4o-transcribe-diarize nvidia/parakeet-tdt-0.6b-v2
tts-1 tts-1-hd gpt-4o-mini-tts gemini-2.5-flash-preview-tts playai-tts kokoro hexgrad/Kokoro-82M
gpt-realtime gpt-4o-realtime-preview gpt-realtime-mini
dall-e-2 dall-e-3 gpt-image-1 gpt-image-1-mini imagen-4.0-generate-001 black-forest-labs/FLUX.1-dev
flux-schnell stabilityai/stable-diffusion-xl-base-1.0 sdxl-turbo sora-2 sora-2-pro veo-3.0-generate
qwen-image omni-moderation-latest omni-moderation-2024-09-26 text-moderation-latest
mistral-moderation-latest meta-llama/Llama-Prompt-Guard-2-86M openai/clip-vit-large-patch14
llama-guard-4-12b llama-guard3:8b google/shieldgemma-9b ibm/granite-guardian-3-8b Qwen/Qwen3Guard-8B
nvidia/llama-3.1-nemoguard-8b-content-safety Skywork/Skywork-Reward-Llama-3.1-8B
snowflake-arctic-embed2 nvidia/nv-embedqa-e5-v5 nvidia/llama-3.2-nv-rerankqa-1b-v2 nvidia/nvclip
togethercomputer/m2-bert-80M-8k-retrieval hkunlp/instructor-xl dunzhang/stella_en_1.5B_v5
WhereIsAI/UAE-Large-V1 paraphrase-multilingual amazon.titan-embed-text-v2:0 cohere.rerank-v3-5:0
gemini-2.5-flash-native-audio-preview gemini-live-2.5-flash canopylabs/orpheus-3b-0.1-ft
FunAudioLLM/CosyVoice2-0.5B sensevoice-small paraformer-v2 aura-asteria-en nova-3-general
flux1-dev stable-image-ultra sd3.5-large ideogram-v3 kling-v2 minimax/hailuo-02 seedance-1-pro
wanx2.1-t2i-turbo cogview-4 cogvideox-3 z-image-turbo grok-2-image grok-imagine-image nano-banana
amazon.nova-canvas-v1:0 amazon.titan-image-generator-v2 hunyuan-video mistral-ocr-latest models/aqa
babbage-002 davinci-002 gpt-3.5-turbo-instruct computer-use-preview
""".split()
# `gpt-4o-audio-preview` and `gpt-audio` answer in chats, and read text too.
CHATS = """
gpt-6-luna gpt-4o gpt-4o-mini gpt-4o-2024-08-06 gpt-4.1 gpt-5-chat-latest gpt-3.5-turbo o1 o3-mini
o4-mini chatgpt-4o-latest gpt-4o-audio-preview gpt-audio gpt-4o-search-preview gpt-oss:120b
codex-mini claude-opus-5-5 anthropic/claude-sonnet-4.5 us.anthropic.claude-haiku-4-5 gemini-2.5-pro
gemini-3-pro-preview google/gemma-3-27b-it gemma3:4b llama3.3:70b meta-llama/Llama-4-Scout-17B-16E
mistral-large-latest mixtral-8x7b-instruct magistral-medium ministral-8b codestral
pixtral-12b voxtral-small-24b deepseek-chat deepseek-r1:8b deepseek-v3 qwen3:8b Qwen/Qwen3-VL-32B
qwen2.5-coder:7b qwen-max qwq-32b phi4 phi-4-multimodal granite3.3:8b command-r-plus command-a
kimi-k2 moonshot-v1-128k glm-4.6 minimax-m2 grok-4 nova-pro jamba-large yi-34b falcon3 smollm2:135m
nous-hermes-2 openchat starling-lm zephyr-7b wizardlm2 vicuna dolphin3 solar-pro olmo2 exaone3.5
fake-model model my-company-assistant one.gguf open llava:13b moondream minicpm-v bakllava
amazon.nova-2-lite-v1:0 amazon.nova-pro-v1:0 nova-micro hunyuan-turbos doubao-1-5-pro ernie-4.5
deepseek-ocr gemini-flash-latest gemini-2.5-flash-image grok-2-vision-1212 qwen3-vl-plus step-2-16k
qwen3-omni-flash qwen2-audio-7b-instruct stable-code stablelm-zephyr codellama:13b starcoder2:3b
nvidia/llama-3.1-nemotron-70b-instruct openai/gpt-oss-safeguard-20b command-a-vision-07-2025
guardian-news-llama rewardless voyager-7b embedded-systems-llama imaginer-8b image-captioner-llava
transcriber-notes speechwriter-7b dia-lm seallm sonar-pro davinci-coder instructor-of-the-year
translategemma embers-of-war-13b attsuko barkley-7b imagine-chat reality-7b clipper-8b fluxion-chat
""".split()


@pytest.mark.parametrize("name", OTHERS)
def test_a_model_that_cant_chat_is_known_by_its_name(name: str) -> None:
    assert not is_chat_model(name, {"id": name})


@pytest.mark.parametrize("name", CHATS)
def test_a_model_that_chats_is_never_left_out_for_its_name(name: str) -> None:
    assert is_chat_model(name, {"id": name})


@pytest.mark.parametrize(
    ("entry", "chats"),
    [
        ({"type": "embeddings"}, False),  # LM Studio
        ({"type": "llm"}, True),
        ({"type": "vlm"}, True),
        ({"type": "image"}, False),  # Together
        ({"type": "rerank"}, False),
        ({"type": "moderation"}, False),
        ({"type": "chat"}, True),
        ({"mode": "audio_transcription"}, False),  # LiteLLM
        ({"mode": "image_generation"}, False),
        ({"mode": "embedding"}, False),
        ({"architecture": {"output_modalities": ["image"]}}, False),  # OpenRouter
        ({"architecture": {"output_modalities": ["text", "image"]}}, True),
        ({"architecture": {"output_modalities": ["embeddings"]}}, False),
        ({"capabilities": {"completion_chat": False}}, False),  # Mistral
        ({"capabilities": {"completion_chat": True}}, True),
        ({"capabilities": ["embedding"]}, False),  # Ollama
        ({"capabilities": ["completion", "audio"]}, True),
        ({"capabilities": ["audio", "image", "speech"]}, True),
        ({"capabilities": {"type": "embeddings"}}, False),
        ({"endpoints": ["embed"]}, False),  # Cohere
        ({"endpoints": ["generate", "chat", "summarize"]}, True),
        ({"supported_endpoints": ["/v1/embeddings"]}, False),
        ({"supported_endpoints": ["/v1/chat/completions", "/v1/embeddings"]}, True),
        ({"supportedGenerationMethods": ["embedContent"]}, False),  # Google
        ({"supportedGenerationMethods": ["generateContent", "countTokens"]}, True),
        ({"task": {"name": "Text Embeddings"}}, False),  # Cloudflare
        ({"task": {"name": "Text Generation"}}, True),
        ({"task": "image-text-to-text"}, True),
        ({"task": "score"}, False),  # vLLM
        ({"pipeline_tag": "feature-extraction"}, False),
        ({"mode": "realtime"}, False),
        ({"mode": "responses"}, True),
        ({"output_modalities": ["image"]}, False),  # xAI
        ({"output_modalities": ["text"]}, True),
        ({"type": [], "task": {}, "endpoints": [7, None], "capabilities": 3}, True),
        ({"object": "model", "owned_by": "vllm", "type": 7, "architecture": "x"}, True),
    ],
)
def test_what_a_server_says_of_a_model_decides(entry: dict[str, Any], chats: bool) -> None:
    assert is_chat_model("some-model", entry) == chats


def test_a_stated_kind_wins_over_a_name() -> None:
    assert is_chat_model("voyage-of-the-embed", {"type": "llm"})


async def test_a_compatible_server_offers_chat_models_alone() -> None:
    names = ("gpt-6-luna", "text-embedding-9", "whisper-1", "openai/gpt-4o", "my-own-model")
    with FakeOpenAI(models=names) as fake:
        async with looked(moved(openai=fake.base_url), ready=("openai",)) as providers:
            listed = list(providers.discovery.found["openai"])
            assert listed == ["gpt-6-luna", "openai/gpt-4o", "my-own-model"]
            takes = {
                name: facts.takes
                for name in listed
                if (facts := providers.table.facts("openai", name))
            }
            assert takes == {
                "gpt-6-luna": {"image", "pdf"},
                "openai/gpt-4o": {"image"},  # somebody else passes it on
                "my-own-model": set(),
            }
