from __future__ import annotations

from typing import Any

from django.apps import apps as installed
from django.db import migrations
from django.db.migrations.operations.base import Operation

MOVED = {
    "accounts": ("guest",),
    "kv_cache": ("kvsession",),
    "mail": ("mail", "mailaddress", "mailbox"),
    "talk": ("talkmessage", "talkroom"),
}
APPS = {f"conversations.{model}": app for app, models in MOVED.items() for model in models}


class MoveModels(Operation):
    """Gives each model to its feature. The database stays as it is: the tables keep their names.
    The models of a feature that was taken out are forgotten."""

    def state_forwards(self, app_label: str, state: Any) -> None:
        for path, app in APPS.items():
            model = state.models[tuple(path.split("."))].clone()
            state.remove_model(*path.split("."))
            if app not in installed.app_configs:
                continue
            for name, field in model.fields.items():
                target = APPS.get(str(getattr(field.remote_field, "model", "")).lower())
                if target is not None:
                    model.fields[name] = field = field.clone()
                    field.remote_field.model = f"{target}.{field.remote_field.model.split('.')[1]}"
            model.app_label = app
            model.options["db_table"] = path.replace(".", "_")
            state.add_model(model)

    def database_forwards(self, *args: Any) -> None:
        pass

    def database_backwards(self, *args: Any) -> None:
        pass


def move_rights(apps: Any, schema_editor: Any) -> None:
    """Rights in the administration belong to a content type: it goes with its table."""
    content_types = apps.get_model("contenttypes", "ContentType").objects
    for app, models in MOVED.items():
        content_types.filter(app_label="conversations", model__in=models).update(app_label=app)


def return_rights(apps: Any, schema_editor: Any) -> None:
    content_types = apps.get_model("contenttypes", "ContentType").objects
    for app, models in MOVED.items():
        content_types.filter(app_label=app, model__in=models).update(app_label="conversations")


class Migration(migrations.Migration):
    """The tables stay as they are, under their names; from here on each belongs to its feature."""

    dependencies = [
        ("contenttypes", "0002_remove_content_type_name"),
        ("conversations", "0023_server_clock"),
    ]

    operations = [migrations.RunPython(move_rights, return_rights), MoveModels()]
