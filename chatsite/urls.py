from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView

from chatsite.web import health, pages
from chatsite.web.api import arrangement, compaction, files, history, imports, messages, sample
from chatsite.web.api import conversations as api

# With its query: a link's agent and history settings count there too.
to_chat = RedirectView.as_view(
    pattern_name="chat", query_string=True, http_method_names=["get", "head"]
)

# The administration's own form would take guesses at the old password without a delay.
to_password = RedirectView.as_view(pattern_name="password", http_method_names=["get", "head"])

urlpatterns = [
    path("", to_chat, name="home"),
    path("chat", pages.chat, name="chat"),
    path("chat/", to_chat, name="chat-with-slash"),
    path("chat/<uuid:conversation>", pages.chat, name="conversation-page"),
    path("diagram", pages.diagram, name="diagram"),
    path("preview", pages.preview, name="preview"),
    path("conversations", api.conversations, name="conversations"),
    path("conversations/search", api.search, name="search"),
    path("conversations/bookmarks", api.bookmarks, name="bookmarks"),
    path("conversations/changes", arrangement.changes, name="changes"),
    path("conversations/import", imports.import_file, name="import"),
    path("conversations/sample", sample.sample, name="sample"),
    path("conversations/import/progress", imports.import_progress, name="import-progress"),
    path("conversations/<uuid:id>", api.conversation, name="conversation"),
    path("conversations/<uuid:id>/restore", api.restore, name="restore"),
    path("conversations/<uuid:id>/clear", api.clear, name="clear"),
    path("conversations/<uuid:id>/forget", messages.forget, name="forget"),
    path("conversations/<uuid:id>/messages", api.messages, name="messages"),
    path("conversations/<uuid:id>/costs", api.costs, name="costs"),
    path("conversations/<uuid:id>/kept_whole", messages.kept_whole, name="kept-whole"),
    path("conversations/<uuid:id>/export", api.export, name="export"),
    path("conversations/<uuid:id>/compare", history.compare_draft, name="compare-draft"),
    path("conversations/<uuid:id>/summary", history.summary, name="summary"),
    path("conversations/<uuid:id>/summary/switch", history.switch, name="summary-switch"),
    path("conversations/<uuid:id>/compact", compaction.compact, name="compact"),
    path("conversations/<uuid:id>/compact/plan", compaction.plan, name="compact-plan"),
    path("conversations/<uuid:id>/compact/draft", compaction.draft, name="compact-draft"),
    path("conversations/<uuid:id>/compact/undo", compaction.undo, name="compact-undo"),
    path("conversations/<uuid:id>/compact/again", compaction.again, name="compact-again"),
    path("conversations/<uuid:id>/", include("chatsite.kv_cache.urls")),
    path("conversations/<uuid:id>/", include("chatsite.temporary.urls")),
    path("files", files.files, name="files"),
    path("files/<uuid:id>", files.file, name="file"),
    path("models", api.models, name="models"),
    path("session", pages.session, name="session"),
    path("language", pages.language, name="language"),
    path("messages/<uuid:id>", messages.message, name="message"),
    path("messages/<uuid:id>/text", messages.edit_message, name="message-text"),
    path("messages/<uuid:id>/restore", messages.restore_message, name="message-restore"),
    path("messages/<uuid:id>/version", messages.version, name="message-version"),
    path("messages/<uuid:id>/show", messages.show, name="show"),
    path("messages/<uuid:id>/copy", messages.copy, name="message-copy"),
    path("messages/<uuid:id>/why", messages.why_forgotten, name="why"),
    path("turns/<uuid:id>/receipt", api.receipt, name="receipt"),
    path("turns/<uuid:id>/request", api.sent_request, name="request"),
    path("turns/<uuid:id>/compare", history.compare_turn, name="compare-turn"),
    path("", include("chatsite.mail.urls")),
    path("", include("chatsite.shares.urls")),
    path("", include("chatsite.own_agents.urls")),
    path("", include("chatsite.prompts.urls")),
    path("accounts/", include("chatsite.accounts.urls")),
    path("healthz", health.health, name="health"),
    path("readyz", health.ready, name="ready"),
    path("admin/password_change/", to_password, name="admin-password"),
    path("admin/", admin.site.urls),
]
