"""Deletes one's own account: in pieces, so that nobody else's message waits for it."""

from __future__ import annotations

from chatsite.accounts.removal import release_piece, remove_account
from chatsite.conversations.owners import Owner
from chatsite.wiring.site import Site


async def delete_account(site: Site, user: int) -> None:
    """Everything is hidden at once; the next purge, within the hour, removes it from the disk. The
    account's sockets end because it isn't there any more."""
    site.turns.running.stop_all(Owner(user=user).key)
    while ids := await release_piece(user=user):
        for id in ids:
            site.recaller.forget(id)
            site.cache.forget(id)
    await remove_account(user=user)
