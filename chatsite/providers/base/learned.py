"""What refusals taught of the models at their servers: fields that they don't take, and how long a
prompt may be there. It lives as long as the site, in memory."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from chatsite.providers.base.provider import Model

# Where a refusal has no numbers, or its numbers say that the prompt should have fitted.
SHRINK = 0.8
# A server's count of the same text differs a little from turn to turn, by its template.
_MARGIN = 1.02
# Nobody's tokenizer makes so many times of ours: the numbers were misread.
_MOST_FACTOR = 8.0
_LEAST_WINDOW = 256
# A prompt of fewer tokens was refused for something else, unless the numbers say otherwise: a
# lesson holds for everybody.
_LEAST_PROMPT = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """`refused` fields are left out; those `on_trial` until a request without them is answered or
    refused, too. `factor`: tokens that the server counts for one of ours; `window` in its tokens,
    `most` of a prompt in ours, None where nothing is known; they hold while the model's window is
    said to be `stated`: a server that was started anew with another window says so."""

    refused: frozenset[str] = frozenset()
    on_trial: frozenset[str] = frozenset()
    factor: float = 1.0
    window: int | None = None
    most: int | None = None
    stated: int = 0

    @property
    def left_out(self) -> frozenset[str]:
        return self.refused | self.on_trial

    def applied(self, model: Model) -> Model:
        """The model as it is at its server."""
        lesson = self.for_window(model.window)
        window = min(model.window, lesson.window or model.window)
        tools = model.tools and "tools" not in self.left_out
        return replace(model, window=window, tools=tools, factor=self.factor, most=lesson.most)

    def for_window(self, stated: int) -> Lesson:
        """Without the lengths that were learned while another window was stated."""
        if stated == self.stated:
            return self
        return replace(self, window=None, most=None, stated=stated)


NOTHING = Lesson()


class Learned:
    """Lessons by `provider:model`."""

    def __init__(self) -> None:
        self._lessons: dict[str, Lesson] = {}

    def of(self, model: str) -> Lesson:
        return self._lessons.get(model, NOTHING)

    # ---- fields ------------------------------------------------------------------------------
    def leave_out(self, model: str, fields: Collection[str]) -> None:
        lesson = self.of(model)
        self._lessons[model] = replace(lesson, on_trial=lesson.on_trial | set(fields))

    def answered(self, model: str) -> None:
        """Without the fields on trial the request was taken."""
        lesson = self.of(model)
        if lesson.on_trial:
            self._lessons[model] = replace(lesson, refused=lesson.left_out, on_trial=frozenset())

    def refused_again(self, model: str) -> None:
        """Leaving out the fields on trial didn't help: they are sent again."""
        lesson = self.of(model)
        if lesson.on_trial:
            self._lessons[model] = replace(lesson, on_trial=frozenset())

    # ---- length ------------------------------------------------------------------------------
    def too_long(
        self, model: Model, *, sent: int, reply: int, limit: int | None, needed: int | None
    ) -> bool:
        """A prompt of `sent` tokens by our count was refused by the `model`, which is as it was
        stated; `reply` was kept for the reply. `limit` and `needed` are the server's numbers. False
        where nothing can be learned from it: so short a prompt was refused for something else."""
        name = f"{model.provider}:{model.name}"
        lesson = self.of(name).for_window(model.window)
        if limit is not None and limit >= _LEAST_WINDOW:
            lesson = replace(lesson, window=min(limit, lesson.window or limit))
        if needed is not None and 1.0 < (factor := needed * _MARGIN / sent) <= _MOST_FACTOR:
            lesson = replace(lesson, factor=max(lesson.factor, factor))
        now, most = lesson.applied(model), int(sent * SHRINK)
        if now.prompt_room(min(reply, now.window // 2)) >= sent:
            if sent < _LEAST_PROMPT:
                return False
            lesson = replace(lesson, most=min(most, lesson.most or most))
        self._lessons[name] = lesson
        return True
