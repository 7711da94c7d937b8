"""The administrator's lists: owners of conversations and ends of turns, without any text."""

from __future__ import annotations

from django.contrib import admin

from chatsite.conversations.models import Conversation, Turn


@admin.register(Conversation)
class ConversationAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = (
        *("id", "agent", "model", "user", "path_messages", "path_tokens", "updated", "deleted"),
    )
    list_filter = ("agent",)
    fields = ("id", "agent", "model", "user", "created", "updated", "deleted", "path_messages")
    readonly_fields = fields

    def has_add_permission(self, request: object) -> bool:
        return False


@admin.register(Turn)
class TurnAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ("id", "number", "mode", "state", "problem_code", "started", "ended")
    list_filter = ("mode", "state", "problem_code")
    fields = ("id", "number", "mode", "state", "problem_code", "problem", "started", "ended")
    readonly_fields = fields

    def has_add_permission(self, request: object) -> bool:
        return False
