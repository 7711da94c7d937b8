"""The sentences where the engine can't run. Its package is replaced in the child process by one
that fails in the same way, so that no test needs the model."""

from __future__ import annotations

from pathlib import Path

import pytest

from chatsite.errors import ProviderError
from chatsite.messages import Message
from chatsite.providers.base.provider import Request
from chatsite.providers.embedded import engine as engine_module
from chatsite.providers.embedded.engine import Engine
from chatsite.providers.embedded.provider import EmbeddedProvider
from chatsite.providers.tokens.tokenizers import Estimate

CASES = {
    "missing": ("raise ModuleNotFoundError('gone', name='xllamacpp')", "isn't installed"),
    "for another system": ("raise ImportError('GLIBC_2.38 not found')", "doesn't load"),
    "for another processor": (
        "import os, signal; os.kill(os.getpid(), signal.SIGILL)",
        "processor can't run",
    ),
    "unable to take the model": (
        "class CommonParams:\n    def __getattr__(self, name): raise RuntimeError('bad model')",
        "can't use the model any.gguf",
    ),
    "dying each time": (
        "import os; print('native noise', flush=True); os._exit(9)",
        "three attempts",
    ),
}


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "any.gguf"
    path.write_bytes(b"GGUF" + bytes(100))
    return path


def replace_package(folder: Path, code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "xllamacpp.py").write_text(code)
    monkeypatch.setenv("PYTHONPATH", str(folder))


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
async def test_an_engine_that_cant_run_explains_what_to_do(
    case: str, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, words = CASES[case]
    replace_package(tmp_path, code, monkeypatch)
    engine = Engine(model, log_path=tmp_path / "var" / "engine.log")
    provider = EmbeddedProvider(engine)
    engine.start()
    request = Request(
        conversation="c", messages=(Message.user("hi", id="u"),), model="m", max_tokens=5
    )
    with pytest.raises(ProviderError) as caught:
        await anext(provider.stream(request))
    assert caught.value.code == "unavailable"
    assert words in caught.value.message
    assert "OPENAI_API_KEY" in caught.value.message or "CHAT_MODEL_PATH" in caught.value.message
    assert provider.status().sentence == caught.value.message
    assert isinstance(provider.tokenizer(provider.model(None)), Estimate)
    await engine.stop()


async def test_without_the_models_package_it_explains_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chatsite.providers.embedded.engine.find_bundled_model", lambda: None)
    engine = Engine(log_path=tmp_path / "engine.log")
    engine.start()
    with pytest.raises(ProviderError, match="make run"):
        await engine.ready()
    await engine.stop()


async def test_waiting_for_a_slow_start_has_an_end(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace_package(tmp_path, "import time; time.sleep(60)", monkeypatch)
    engine = Engine(model, log_path=tmp_path / "engine.log")
    engine.start()
    with pytest.raises(ProviderError) as caught:
        await engine.ready(seconds=0.2)
    assert (caught.value.code, caught.value.retryable) == ("loading", True)
    await engine.stop()
    assert engine.status().state == "unavailable"


@pytest.mark.slow
async def test_a_number_of_starts_is_enough(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace_package(
        tmp_path, f"open({str(tmp_path / 'n')!r}, 'a').write('x'); exit(7)", monkeypatch
    )
    engine = Engine(model, log_path=tmp_path / "engine.log")
    engine.start()
    with pytest.raises(ProviderError, match="exit 7"):
        await engine.ready()
    await engine.stop()
    assert len((tmp_path / "n").read_text()) == engine_module._STARTS
