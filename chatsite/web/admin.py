"""Accounts in the administration. Chatsite knows people and staff; groups would decide nothing in
the page, and so none are offered."""

from __future__ import annotations

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import Group, User

admin.site.unregister((Group, User))
_RIGHTS = ("is_active", "is_staff", "is_superuser", "user_permissions")


@admin.register(User)
class AccountAdmin(UserAdmin):  # type: ignore[type-arg]
    fieldsets = tuple(
        (title, {**options, "fields": _RIGHTS} if "groups" in options["fields"] else options)
        for title, options in UserAdmin.fieldsets or ()
    )
    list_filter = ("is_staff", "is_superuser", "is_active")
    filter_horizontal = ("user_permissions",)
