from tests.web.conftest import server as server  # the fixture
