"""Indexes that follow their conversations: what is read, cached, removed and evicted."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

import pytest
from django.utils import timezone

from chatsite.conversations.models import Conversation, SearchIndexPart
from chatsite.conversations.path import added_messages as background
from chatsite.conversations.path import loading, marks
from chatsite.conversations.path.active_path import append_to_path
from chatsite.conversations.records import IndexLines, IndexProgress
from chatsite.conversations.search import stored_indexes as search_index
from chatsite.conversations.versions import deletions, edits
from chatsite.history import Entry, Evidence, Users
from chatsite.history.lexical.index import Line
from chatsite.history.lexical.ranking import recall_messages
from chatsite.messages import Message
from chatsite.turns.context.decider import DecisionInputs
from chatsite.turns.evidence import recall as recalling
from chatsite.turns.evidence.index_cache import CachedIndex
from chatsite.turns.evidence.recall import Recaller
from tests.conversations.builders import ADA, begin, end, messages, new_id, row
from tests.sentence_vectors import installed_vectors
from tests.turns.conftest import World

FACT = "My sister Ana keeps a petrel."


class RecordingReader:
    """The real queries, with a record of how many lines each read returned."""

    def __init__(self) -> None:
        self.read: list[int] = []
        self.hold: threading.Event | None = None
        self.waits = threading.Event()
        self.broken = False

    async def index_progress(self, **fields: Any) -> IndexProgress:
        if self.broken:
            raise OSError("the disk is gone")
        return await search_index.index_progress(**fields)

    async def lines_between(self, **fields: Any) -> IndexLines:
        if self.hold is not None:
            self.waits.set()
            assert await asyncio.to_thread(self.hold.wait, 20)
        found = await search_index.lines_between(**fields)
        self.read.append(len(found.lines))
        return found


class Talk:
    """A conversation with its first turn in it, and a recaller that follows it."""

    def __init__(self, world: World, **options: Any) -> None:
        self.world = world
        self.reads = RecordingReader()
        self.recaller = Recaller(index=self.reads, **options)
        self.id = new_id()

    async def turns(self, *texts: str) -> None:
        for text in texts:
            await self.world.run(self._turn, text)

    def _turn(self, text: str) -> None:
        end(begin(self.id, text), f"About {text[:9]}")

    async def fill(self, count: int) -> None:
        """Store `count` messages without a turn for each, to make the conversation long."""

        def fill() -> None:
            hit_texts = row(self.id)
            texts = (f"Number {n} of the walk" for n in range(count))
            append_to_path(
                hit_texts, (Message.user(t, id=new_id()) for t in texts), now=hit_texts.updated
            )
            hit_texts.save()

        await self.world.run(fill)

    async def ask(self, text: str, *, id: str = "") -> Evidence:
        page_request = self.world.page_request(id or self.id)
        loaded = await loading.load_path(
            owner=ADA, conversation=page_request.conversation, reach=Users(2), ahead=1
        )
        draft = Entry(message=Message.user(text, id="draft"), seq=loaded.next_seq)
        context = self.world.context(replace(page_request, query="historyPolicy=relevant"))
        inputs = DecisionInputs(
            context=context,
            transcript=replace(loaded.transcript, entries=(*loaded.transcript.entries, draft)),
            head=context.agent.head,
            preview=True,
        )
        return await self.recaller.gather(inputs)

    async def hit_texts(self, text: str) -> list[str]:
        """The texts of the hits, the best first."""
        evidence = await self.ask(text)
        assert evidence.recall is not None, evidence.notes
        seqs = [hit.seq for hit in evidence.recall.hits]
        texts = await self.world.run(lambda: dict(messages(self.id).values_list("seq", "content")))
        return [texts[seq] or "" for seq in seqs]

    async def change(self, work: Callable[..., Any], content: str, **more: Any) -> None:
        def change() -> None:
            message = messages(self.id).get(content=content, on_path=True)
            work(owner=ADA, message=str(message.id), **more)

        await self.world.run(change)


@pytest.fixture
async def talk(world: World) -> AsyncIterator[Talk]:
    made = Talk(world)
    await made.turns(FACT, "The weather is fine", "Which train leaves first?")
    yield made
    await made.recaller.drain()


class TestFollowing:
    async def test_an_older_message_is_found_with_its_reason(self, talk: Talk) -> None:
        evidence = await talk.ask("What does my sister keep?")
        assert evidence.recall is not None
        assert evidence.recall.hits[0].why == 'it shares "keep" and "sister" with your message'
        assert evidence.notes == ()
        report = evidence.reports["lexical"]
        assert (report["passages"], report["added"], report["vectors"]) == (6, 6, None)

    async def test_long_texts_are_read_and_searched_where_they_hold_up_nobody(
        self, talk: Talk, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        threads: list[int] = []

        def noting(work: Callable[..., Any]) -> Callable[..., Any]:
            def noted(*args: Any, **fields: Any) -> Any:
                threads.append(threading.get_ident())
                return work(*args, **fields)

            return noted

        monkeypatch.setattr(recalling, "recall_messages", noting(recall_messages))
        monkeypatch.setattr(CachedIndex, "extend", noting(CachedIndex.extend))
        await talk.ask("Does my sister keep gulls?")
        assert set(threads) == {threading.get_ident()}
        threads.clear()
        await talk.turns("A gannet on the pier. " * 500)
        await talk.ask("Does my sister keep gulls? " * 100)
        assert len(threads) == 2
        assert threading.get_ident() not in threads

    async def test_only_what_is_new_is_read(self, talk: Talk) -> None:
        await talk.ask("sister")
        await talk.turns("A gannet on the pier")
        assert (await talk.hit_texts("gannet"))[0] == "A gannet on the pier"
        await talk.ask("gannet")
        assert talk.reads.read == [6, 2, 0]

    async def test_a_conversation_that_has_not_begun_has_no_hits(self, talk: Talk) -> None:
        evidence = await talk.ask("sister", id=new_id())
        assert evidence.recall is not None
        assert evidence.recall.hits == ()

    async def test_another_branch_is_indexed_from_where_it_branches_off(self, talk: Talk) -> None:
        await talk.turns("A gannet on the pier", "And a tern")
        await talk.ask("gannet")

        def branch() -> None:
            gannet = messages(talk.id).get(content="A gannet on the pier").seq
            messages(talk.id).filter(seq__gte=gannet).update(on_path=False)
            found = row(talk.id)
            found.path_messages -= 4
            append_to_path(
                found, [Message.user("A puffin instead", id=new_id())], now=found.updated
            )
            found.save()

        await talk.world.run(branch)
        assert await talk.hit_texts("gannet tern") == []
        assert (await talk.hit_texts("puffin"))[0] == "A puffin instead"
        assert talk.reads.read == [10, 1, 0]

    async def test_a_deleted_message_is_removed_from_the_index_with_its_words(
        self, talk: Talk
    ) -> None:
        await talk.ask("sister")
        await talk.change(deletions.delete_message.here, FACT)
        assert FACT not in await talk.hit_texts("What does my sister keep?")
        [kept] = talk.recaller.indexes.values()
        assert "petrel" not in kept.index.postings

    async def test_a_changed_message_is_read_again_after_the_index_is_notified(
        self, talk: Talk
    ) -> None:
        await talk.ask("sister")
        await talk.change(edits.edit_message.here, FACT, text="My brother keeps a tern.")
        talk.recaller.forget(talk.id)
        assert (await talk.hit_texts("tern"))[0] == "My brother keeps a tern."
        assert FACT not in await talk.hit_texts("petrel sister")

    async def test_a_cleared_conversation_has_an_empty_index(self, talk: Talk) -> None:
        await talk.ask("sister")

        def clear() -> None:
            messages(talk.id).update(on_path=False)
            Conversation.objects.filter(id=talk.id).update(path_messages=0, path_users=0)

        await talk.world.run(clear)
        assert await talk.hit_texts("What does my sister keep?") == []


class TestLeftOut:
    async def test_an_excluded_message_is_not_recalled(self, talk: Talk) -> None:
        await talk.change(marks.exclude_message.here, FACT, on=True)
        assert await talk.hit_texts("What does my sister keep?") == []
        await talk.change(marks.exclude_message.here, FACT, on=False)
        assert (await talk.hit_texts("What does my sister keep?"))[0] == FACT

    async def test_messages_above_the_forget_marker_are_not_recalled(self, talk: Talk) -> None:
        await talk.change(marks.forget_above_message.here, "The weather is fine", on=True)
        assert await talk.hit_texts("What does my sister keep?") == []

    async def test_messages_of_background_tasks_are_not_recalled(self, talk: Talk) -> None:
        write = background.add_message.here
        await talk.world.run(
            lambda: write(conversation=talk.id, source="briefing", text="The petrel is fed.")
        )
        await talk.world.run(
            lambda: write(
                conversation=talk.id, source="scheduled", role="user", text="Feed the petrel"
            )
        )
        found = await talk.hit_texts("petrel")
        assert found[0] == FACT
        assert not {"The petrel is fed.", "Feed the petrel"} & set(found)

    async def test_an_empty_draft_recalls_nothing(self, talk: Talk) -> None:
        assert await talk.hit_texts("") == []


class TestOnDisk:
    """What a server that starts anew finds: `Talk` with another recaller."""

    async def test_after_a_restart_the_index_is_loaded_and_only_what_is_new_is_read(
        self, talk: Talk
    ) -> None:
        await saved(talk)
        again = restarted(talk)
        await again.turns("A gannet on the pier")
        assert (await again.hit_texts("What does my sister keep?"))[0] == FACT
        assert again.reads.read == [2]
        assert (await again.ask("gannet")).reports["lexical"]["passages"] == 108

    async def test_a_server_that_started_loads_the_newest_indexes_before_anybody_asks(
        self, talk: Talk
    ) -> None:
        await saved(talk)
        again = restarted(talk)
        await warmed(again)
        [(id, cached)] = again.recaller.indexes.items()
        assert (id, len(cached.index), cached.lock.locked()) == (talk.id, 106, False)
        await again.turns("A gannet on the pier")
        assert (await again.hit_texts("What does my sister keep?"))[0] == FACT
        assert again.reads.read == [2]

    async def test_words_that_were_changed_since_an_index_was_loaded_ahead_are_not_found(
        self, talk: Talk
    ) -> None:
        await saved(talk)
        again = restarted(talk)
        await warmed(again)
        await talk.change(edits.edit_message.here, FACT, text="My brother keeps a tern.")
        assert FACT not in await again.hit_texts("What does my sister keep?")
        assert again.reads.read == [106]

    async def test_indexes_loaded_ahead_leave_most_of_the_memory_to_others(
        self, talk: Talk
    ) -> None:
        await saved(talk)
        again = restarted(talk)
        other = restarted(talk)
        other.recaller.indexes.use(new_id()).index.extend([Line(seq=1, author="u", text=FACT)])
        other.recaller.indexes.memory = 0
        for each in (again, other):
            await warmed(each)
        assert talk.id in again.recaller.indexes
        assert talk.id not in other.recaller.indexes

    async def test_a_deleted_conversation_is_not_loaded_ahead(self, talk: Talk) -> None:
        await saved(talk)
        deleted = timezone.now()
        await talk.world.run(
            lambda: Conversation.objects.filter(id=talk.id).update(deleted=deleted)
        )
        again = restarted(talk)
        await warmed(again)
        assert not again.recaller.indexes

    async def test_changed_and_deleted_words_leave_the_disk_with_the_text(self, talk: Talk) -> None:
        await saved(talk)
        await talk.change(deletions.delete_message.here, FACT)
        assert await parts_of(talk) == []
        assert FACT not in await restarted(talk).hit_texts("What does my sister keep?")

    async def test_an_index_made_before_a_change_is_not_saved_after_it(self, talk: Talk) -> None:
        await talk.fill(100)
        await talk.ask("sister")
        [cached] = talk.recaller.indexes.values()
        await asyncio.gather(*talk.recaller._tasks)
        cached.saved.clear()
        await talk.change(edits.edit_message.here, FACT, text="My brother keeps a tern.")
        await talk.recaller._save(cached, talk.id)
        assert await parts_of(talk) == []

    @pytest.mark.parametrize("data", [b"", b"0" * 200])
    async def test_what_cannot_be_read_is_made_anew_and_saved(
        self, talk: Talk, data: bytes
    ) -> None:
        await saved(talk)
        await talk.world.run(lambda: SearchIndexPart.objects.update(data=data))
        again = restarted(talk)
        assert (await again.hit_texts("What does my sister keep?"))[0] == FACT
        assert again.reads.read == [106]
        await asyncio.gather(*again.recaller._tasks)
        last = restarted(talk)
        await last.ask("sister")
        assert last.reads.read == [0]

    async def test_another_branch_replaces_the_parts_that_held_the_first(self, talk: Talk) -> None:
        await saved(talk)

        def branch() -> None:
            messages(talk.id).filter(content="Number 50 of the walk").update(content="A puffin")
            messages(talk.id).filter(seq__gt=60).update(on_path=False)
            Conversation.objects.filter(id=talk.id).update(path_messages=60)

        await talk.world.run(branch)
        again = restarted(talk)
        await again.ask("sister")
        [cached] = again.recaller.indexes.values()
        assert (len(cached.index), cached.saved) == (60, [])

    async def test_purging_the_conversation_purges_its_index(self, talk: Talk) -> None:
        await saved(talk)
        await talk.world.run(lambda: Conversation.objects.filter(id=talk.id).delete())
        assert await parts_of(talk) == []

    async def test_with_vectors_the_loaded_index_finds_exactly_what_a_new_one_finds(
        self, talk: Talk
    ) -> None:
        talk.recaller = with_vectors(talk).recaller
        await saved(talk)
        loaded, anew = with_vectors(talk), with_vectors(talk, saves=False)
        for question in ("What does my sister keep?", "Which birds do we own?", "walk 7"):
            one, other = await loaded.ask(question), await anew.ask(question)
            assert one.recall is not None and one.recall == other.recall
        assert (loaded.reads.read[0], anew.reads.read[0]) == (0, 106)

    @pytest.mark.parametrize("damage", [lambda kept: b"", lambda kept: kept[:16] + b"0" * 99])
    async def test_with_vectors_missing_or_broken_tokens_are_made_anew_and_saved(
        self, talk: Talk, damage: Callable[[bytes], bytes]
    ) -> None:
        talk.recaller = with_vectors(talk).recaller
        await saved(talk)

        def spoil() -> None:
            part = SearchIndexPart.objects.get()
            part.tokens = damage(bytes(part.tokens))
            part.save()

        await talk.world.run(spoil)
        again = with_vectors(talk)
        assert (await again.hit_texts("What does my sister keep?"))[0] == FACT
        assert again.reads.read == [106]
        await asyncio.gather(*again.recaller._tasks)
        last = with_vectors(talk)
        await last.ask("sister")
        assert last.reads.read == [0]


def with_vectors(talk: Talk, **options: Any) -> Talk:
    again = Talk(talk.world, vectors=installed_vectors(), **options)
    again.id = talk.id
    return again


async def saved(talk: Talk) -> None:
    await talk.fill(100)
    await talk.ask("sister")
    await asyncio.gather(*talk.recaller._tasks)
    assert await parts_of(talk) == [(0, 106)]


def restarted(talk: Talk) -> Talk:
    again = Talk(talk.world)
    again.id = talk.id
    return again


async def warmed(talk: Talk) -> None:
    talk.recaller.warm_up()
    await asyncio.gather(*talk.recaller._tasks)


async def parts_of(talk: Talk) -> list[tuple[int, int]]:
    return await talk.world.run(lambda: list(SearchIndexPart.objects.values_list("first", "end")))


class TestLongConversations:
    async def test_a_long_conversation_without_an_index_is_read_in_the_background(
        self, talk: Talk, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(recalling, "COLD", 50)
        monkeypatch.setattr(recalling, "CHUNK", 40)
        await talk.fill(100)
        talk.reads.hold = threading.Event()
        first, second = await talk.ask("sister"), await talk.ask("sister")
        assert first.recall is second.recall is None
        assert first.notes == second.notes == (recalling._COLD_NOTE.format(count=106),)
        talk.reads.hold.set()
        await asyncio.gather(*talk.recaller._tasks)
        assert (await talk.hit_texts("What does my sister keep?"))[0] == FACT
        assert talk.reads.read[:4] == [40, 40, 26, 0]

    async def test_ending_the_server_ends_the_reading(
        self, talk: Talk, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(recalling, "COLD", 1)
        talk.reads.hold = threading.Event()
        assert (await talk.ask("sister")).recall is None
        draining = asyncio.create_task(talk.recaller.drain())
        talk.reads.hold.set()
        await draining
        assert not talk.recaller._tasks

    async def test_the_least_recently_used_index_is_evicted_first(self, world: World) -> None:
        talk = Talk(world)
        first, second, *more, last = ids = [new_id() for _ in range(6)]
        for talk.id in ids:
            await talk.turns(FACT)
        for talk.id in (first, second, *more):
            await talk.ask("petrel")
        talk.recaller.indexes.memory = 11 * talk.recaller.indexes[first].size // 2
        for talk.id in (first, last):
            await talk.ask("petrel")
        assert list(talk.recaller.indexes) == [*more, first, last]

    async def test_a_very_large_index_evicts_no_other(self, world: World) -> None:
        talk = Talk(world)
        *small, large, last = ids = [new_id() for _ in range(5)]
        for talk.id in ids:
            await talk.turns(FACT)
        talk.id = large
        await talk.fill(200)
        for talk.id in small:
            await talk.ask("petrel")
        talk.recaller.indexes.memory = 5 * talk.recaller.indexes[small[0]].size
        talk.id = large
        await talk.ask("petrel")
        assert talk.recaller.indexes[large].size > talk.recaller.indexes.memory
        assert list(talk.recaller.indexes) == [*small, large]
        talk.id = last
        await talk.ask("petrel")
        assert list(talk.recaller.indexes) == [*small, last]

    async def test_after_a_stop_no_thread_works_in_an_open_index(self, talk: Talk) -> None:
        talk.reads.hold = threading.Event()
        page_request = asyncio.create_task(talk.ask("sister"))
        await asyncio.to_thread(talk.reads.waits.wait, 20)
        page_request.cancel()
        with pytest.raises(asyncio.CancelledError):
            await page_request
        talk.reads.hold.set()
        assert (await talk.hit_texts("What does my sister keep?"))[0] == FACT


async def test_a_failing_store_costs_the_hits_and_not_the_turn(
    talk: Talk, caplog: pytest.LogCaptureFixture
) -> None:
    talk.reads.broken = True
    evidence = await talk.ask("sister")
    assert evidence.recall is None
    assert evidence.notes == (recalling._FAILED_NOTE,)
    assert "couldn't be searched" in caplog.text
    talk.reads.broken = False
    assert (await talk.hit_texts("What does my sister keep?"))[0] == FACT


async def test_with_sentence_vectors_meaning_counts_too(world: World) -> None:
    plain, knowing = Talk(world), Talk(world, vectors=installed_vectors())
    knowing.id = plain.id
    fillers = [f"The train number {n} leaves from platform {n + 3}" for n in range(12)]
    await plain.turns("We adopted a puppy from the shelter", *fillers)
    assert await plain.hit_texts("Which pets do they own?") == []
    evidence = await knowing.ask("Which pets do they own?")
    assert evidence.recall is not None
    best = evidence.recall.hits[0]
    assert (best.seq, best.why) == (1, "it means something close to your message")
    assert evidence.reports["lexical"]["vectors"] == "wordllama"
