"""Times warm searches in the version of Chatsite that is first on the path. `long_answers` runs it.

The first line of the input is JSON: `lines` (seq, author, text and time of each message),
`questions` and `vectors` (whether sentence vectors are asked too). The answer is a line of JSON:
the number of passages. Every further line is answered with the milliseconds of each question.
"""

from __future__ import annotations

import json
import sys
import time
from datetime import datetime

from chatsite.history.lexical.index import Index, Line
from chatsite.history.lexical.ranking import question_in_chat, recall_messages
from chatsite.providers.tokens.passage_vectors import PassageVectors
from chatsite.providers.tokens.sentence_vectors import SentenceVectors


def main() -> None:
    given = json.loads(sys.stdin.readline())
    index = Index()
    vectors = SentenceVectors.find() if given["vectors"] else None
    meaning = PassageVectors(vectors, index) if vectors else None
    texts = index.extend(
        Line(seq=seq, author=author, text=text, at=datetime.fromisoformat(at))
        for seq, author, text, at in given["lines"]
    )
    if meaning is not None:
        meaning.add(texts)
    answer: object = len(index)
    while True:
        print(json.dumps(answer), flush=True)
        if not sys.stdin.readline():
            return
        taken = []
        for text in given["questions"]:
            began = time.perf_counter()
            recall_messages(index, question_in_chat(text), meaning=meaning, before=index.last + 1)
            taken.append(1000 * (time.perf_counter() - began))
        answer = taken


if __name__ == "__main__":
    main()
