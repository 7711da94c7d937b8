"""The addresses of accounts: who may write by mail as whom."""

from __future__ import annotations

from django.db import IntegrityError, transaction
from django.utils import timezone

from chatsite.conversations.database.locks import hold
from chatsite.conversations.owners import Owner
from chatsite.errors import Refused
from chatsite.mail.models import MailAddress
from chatsite.storage import reading, writing
from chatsite.wording import say

# Somebody who adds more has another purpose.
MOST_ADDRESSES = 10


@reading
def address_owner(*, address: str) -> int | None:
    """Finds the active account that has verified this address."""
    verified = MailAddress.objects.filter(address=address, verified__isnull=False)
    return verified.filter(user__is_active=True).values_list("user", flat=True).first()


@reading
def addresses_of(*, user: int) -> list[MailAddress]:
    return list(MailAddress.objects.filter(user=user).order_by("address"))


@writing
def add_address(*, user: int, address: str) -> None:
    """Adds an address to an account. Raises Refused for too many. Nobody learns whether another
    account has the address."""
    hold(Owner(user=user))
    own = MailAddress.objects.filter(user=user)
    if own.filter(address=address).exists():
        return
    if own.count() >= MOST_ADDRESSES:
        raise Refused(
            say("An account may have {most} addresses. Remove one first.", most=MOST_ADDRESSES)
        )
    MailAddress.objects.create(user_id=user, address=address, created=timezone.now())


@writing
def verify_address(*, user: int, address: str) -> None:
    """Raises Refused if the account has removed the address, or another one has verified it."""
    hold(Owner(user=user))
    row = MailAddress.objects.filter(user=user, address=address).first()
    if row is None:
        raise Refused(say("This address was removed from your account. Add it again."))
    if row.verified is not None:
        return
    row.verified = timezone.now()
    try:
        with transaction.atomic():
            row.save(update_fields=["verified"])
    except IntegrityError:
        raise Refused(say("This address belongs to another account.")) from None


@writing
def remove_address(*, user: int, id: int) -> None:
    hold(Owner(user=user))
    MailAddress.objects.filter(user=user, id=id).delete()
