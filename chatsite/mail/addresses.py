"""The addresses of accounts: who may write by mail as whom."""

from __future__ import annotations

from django.db import IntegrityError, transaction
from django.utils import timezone

from chatsite.errors import Refused
from chatsite.mail.models import MailAddress
from chatsite.mail.records import AccountAddress
from chatsite.storage import reading, writing
from chatsite.wording import say

# Somebody who adds more has another purpose.
MOST_ADDRESSES = 10


@reading
def address_owner(*, address: str) -> int | None:
    """The account that has verified this address; None for a disabled one."""
    found = MailAddress.objects.filter(
        address=address, verified__isnull=False, user__is_active=True
    )
    return found.values_list("user", flat=True).first()


@reading
def addresses_of(*, user: int) -> list[AccountAddress]:
    rows = MailAddress.objects.filter(user=user).order_by("address")
    return [
        AccountAddress(id=row.pk, address=row.address, verified=row.verified is not None)
        for row in rows
    ]


@writing
def add_address(*, user: int, address: str) -> None:
    """Raises Refused for too many. Whose it is besides stays unsaid."""
    there = MailAddress.objects.filter(user=user)
    if there.filter(address=address).exists():
        return
    if there.count() >= MOST_ADDRESSES:
        raise Refused(
            say("An account may have {most} addresses. Remove one first.", most=MOST_ADDRESSES)
        )
    MailAddress.objects.create(user_id=user, address=address, created=timezone.now())


@writing
def verify_address(*, user: int, address: str) -> None:
    """Raises Refused where the account hasn't it any more, or another account has verified it."""
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
    MailAddress.objects.filter(user=user, id=id).delete()
