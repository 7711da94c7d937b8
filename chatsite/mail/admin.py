"""The administrator's list of mails: what became of each, without its text."""

from __future__ import annotations

from django.conf import settings
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from chatsite.mail.mails import drop_held, mailbox_account, release_held
from chatsite.mail.models import Mail


@admin.register(Mail)
class MailAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """What is held waits here for a decision; of that alone the subject is shown."""

    list_display = ("id", "received", "sender", "about", "state", "external", "ended")
    list_filter = ("state", "external")
    fields = ("id", "received", "sender", "about", "state", "external", "ended")
    readonly_fields = fields
    actions = ("answer_as_external", "drop")

    @admin.display(description="subject")
    def about(self, mail: Mail) -> str:
        return mail.subject if mail.state == "held" else ""

    @admin.action(description="Answer as external sender", permissions=["change"])
    def answer_as_external(self, request: HttpRequest, chosen: QuerySet[Mail]) -> None:
        account = settings.MAIL
        if account is None:
            self.message_user(request, "Mail is off.", level="ERROR")
            return
        user = mailbox_account.here(address=account.address)
        count = release_held.here(_held(chosen), user=user, agent=account.agent)
        self.message_user(request, f"Mails that are answered now: {count}")

    @admin.action(description="Drop", permissions=["change"])
    def drop(self, request: HttpRequest, chosen: QuerySet[Mail]) -> None:
        self.message_user(request, f"Mails that were dropped: {drop_held.here(_held(chosen))}")

    def has_add_permission(self, request: object) -> bool:
        return False

    def has_delete_permission(self, request: object, obj: object = None) -> bool:
        return False


def _held(chosen: QuerySet[Mail]) -> list[str]:
    return [str(id) for id in chosen.filter(state="held").values_list("id", flat=True)]
