"""What holds for all tests: which are `slow`, how many examples a run takes, how the database is
emptied, and that storage's threads end with each test."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.management.color import no_style
from django.db import connection
from django.test import TransactionTestCase
from hypothesis import settings
from pytest_django import DjangoDbBlocker

from chatsite import storage
from tests.examples import some

STORIES = Path(__file__).parent / "story"

settings.register_profile("run", max_examples=some(100), deadline=None)
settings.load_profile("run")


# Collecting makes a million objects that stay: looking through them costs a fifth of the time.
gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests here, once, instead of in some 25 modules."""
    for item in items:
        if STORIES in item.path.parents or "server" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(autouse=True, scope="session")
def emptied_tables() -> Iterator[None]:
    """After a test that used the database itself, empty all tables but those of the rights: Django
    would make the rights again each time, which takes 20 ms and concerns a thousand tests."""

    def empty(_: TransactionTestCase) -> None:
        names = connection.introspection.django_table_names(only_existing=True, include_views=False)
        tables = sorted({*names} - {"auth_permission", "django_content_type"})
        connection.ops.execute_sql_flush(connection.ops.sql_flush(no_style(), tables))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", empty)
        yield


@pytest.fixture(autouse=True)
def ended_threads() -> Iterator[None]:
    """No test finds the threads of another one, with their connections."""
    yield
    storage.close()


if os.environ.get("TEST_DATABASE_URL"):  # on PostgreSQL; the kit's checks know no models
    from tests import held_locks

    @pytest.fixture(scope="session")
    def django_db_setup(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> None:
        with django_db_blocker.unblock():
            held_locks.create_triggers()

    @pytest.fixture(autouse=True)
    def watched_locks() -> Iterator[None]:
        with held_locks.watching():
            yield
