"""The least that an app for Chainlit does: it streams the answer of an OpenAI model.

`chainlit run` serves it, by the interpreter that `--chainlit` names: Chainlit is no requirement.
"""

from __future__ import annotations

import os

import chainlit  # type: ignore[import-not-found, unused-ignore]
from openai import AsyncOpenAI

model = AsyncOpenAI(api_key="sk-bench", base_url=os.environ["PROVIDER"])


@chainlit.on_message  # type: ignore[untyped-decorator, unused-ignore]
async def answer(message: chainlit.Message) -> None:
    reply = chainlit.Message(content="")
    stream = await model.chat.completions.create(
        model="gpt-4o-mini", messages=[{"role": "user", "content": message.content}], stream=True
    )
    async for chunk in stream:
        if chunk.choices and (piece := chunk.choices[0].delta.content):
            await reply.stream_token(piece)
    await reply.update()
