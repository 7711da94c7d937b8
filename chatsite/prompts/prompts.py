"""Keeps and finds a person's own prompts."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from chatsite.conversations.database.locks import hold
from chatsite.conversations.owners import Owner
from chatsite.conversations.ownership import owner_now
from chatsite.errors import NotFound, Refused
from chatsite.prompts.models import MAX_NAME, Prompt
from chatsite.storage import reading, writing
from chatsite.wording import say

MOST = 200
Record = dict[str, str]


def _of(owner: Owner) -> QuerySet[Prompt]:
    return Prompt.objects.filter(owner.filter())


def _record(prompt: Prompt) -> Record:
    return {"id": str(prompt.id), "name": prompt.name, "text": prompt.text}


@reading
def list_prompts(*, owner: Owner) -> list[Record]:
    """Return `{id, name, text}` of all that the owner has, by name."""
    return sorted(map(_record, _of(owner)), key=lambda one: one["name"].casefold())


@writing
def keep_prompt(*, owner: Owner, name: str, text: str) -> Record:
    """Store a new one. Raises Refused where the name is taken, or where there are too many."""
    hold(owner := owner_now(owner))
    _require_free(owner, name)
    if _of(owner).count() >= MOST:
        raise Refused(
            say("You have {most} prompts, and there is no room for more. Delete one.", most=MOST)
        )
    return _record(
        Prompt.objects.create(user_id=owner.user, guest=owner.guest, name=name, text=text)
    )


@writing
def change_prompt(*, owner: Owner, id: UUID, name: str, text: str) -> Record:
    """Give it this name and this text. Raises NotFound, or Refused where the name is taken."""
    hold(owner := owner_now(owner))
    prompt = _owned(owner, id)
    _require_free(owner, name, but=id)
    prompt.name, prompt.text = name, text
    prompt.save(update_fields=["name", "text"])
    return _record(prompt)


@writing
def delete_prompt(*, owner: Owner, id: UUID) -> None:
    """Remove it. Raises NotFound."""
    hold(owner := owner_now(owner))
    _owned(owner, id).delete()


def _owned(owner: Owner, id: UUID) -> Prompt:
    found = _of(owner).filter(id=id).first()
    if found is None:
        raise NotFound(say("There is no such prompt."))
    return found


def _require_free(owner: Owner, name: str, *, but: UUID | None = None) -> None:
    taken = _of(owner).filter(name=name).values_list("id", flat=True)
    if any(id != but for id in taken):
        raise Refused(
            say("You have a prompt “{name}” already. Choose another name.", name=name),
            code="name_taken",
        )


def follow_owner(sender: Any, *, owner: Owner, user: int | None, **more: Any) -> None:
    """Give a guest's prompts to the account that they sign in to, or remove those of an owner who
    goes. The caller holds the owner. A name that the account has already gets a number."""
    if user is None:
        _of(owner).delete()
        return
    taken = set(Prompt.objects.filter(user=user).values_list("name", flat=True))
    for prompt in _of(owner).order_by("name"):
        prompt.user_id, prompt.guest = user, ""
        prompt.name = _free_name(prompt.name, taken)
        taken.add(prompt.name)
        prompt.save(update_fields=["user", "guest", "name"])


def _free_name(name: str, taken: set[str]) -> str:
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name[: MAX_NAME - 4]} {number}"
    return free
