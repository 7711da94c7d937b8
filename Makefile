# Chatsite. `make run` needs Python 3.11 to 3.14 and nothing else; the rest installs what it needs into .venv.
# PYTHON=... names the interpreter to make .venv with; HOST and PORT say where to serve.

PY = .venv/bin/python
INSTALL = sh scripts/install.sh
CHROMIUM ?= /usr/bin/chromium
UV = $(PY) -m uv pip compile --quiet --no-config --universal --python-version 3.11 \
	--generate-hashes --no-annotate --no-header --upgrade
# Makes requirements/$(1).in into $(2), whose first line points back to it; $(3) are more options.
lock_file = $(UV) $(3) requirements/$(1).in -o $(2) && \
	{ echo "\# The list to read is requirements/$(1).in; make lock writes this file from it, with hashes."; \
	cat $(2); } >$(2).new && mv $(2).new $(2)

.PHONY: help run dev channels-demo cluster engine embeddings quick test test-all lint
.PHONY: properties bench audit attacks pictures seed build words vendor lock clean

help: ## list what make can do
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' Makefile | awk -F'|' '{ printf "%-22s%s\n", $$1, $$2 }'

run: ## install what is missing and serve on http://127.0.0.1:8000
	@$(INSTALL) app engine
	@$(PY) manage.py serve

dev: ## the same, restarted whenever a file changes
	@$(INSTALL) app engine
	@DEBUG=$${DEBUG:-true} $(PY) manage.py serve --reload

channels-demo: ## show a Talk room and a mailbox beside the page, all on this machine
	@$(INSTALL) app dev engine
	@$(PY) -m tests.demo --port $${PORT:-8000}

cluster: ## three servers, PostgreSQL and nginx on this machine, at http://127.0.0.1:8000
	@sh scripts/debian.sh
	@$(INSTALL) app dev cluster engine
	@$(PY) -m tests.demo.cluster --port $${PORT:-8000}

engine: ## install the embedded engine and its model, also after a failure
	@$(INSTALL) app engine!

embeddings: ## install static sentence vectors: the policy `relevant` finds more with them
	@$(INSTALL) app embeddings

quick: ## run the tests that need no browser, no engine and no server: two minutes
	@$(INSTALL) app dev cluster
	@PY=$(PY) sh scripts/test.sh quick

test: ## run the test suite, browser and engine included: about 20 minutes
	@$(INSTALL) app dev cluster engine! embeddings
	@CHROMIUM=$(CHROMIUM) PY=$(PY) sh scripts/test.sh

test-all: ## the same with what kills and floods servers, and with more examples
	@$(INSTALL) app dev cluster engine! embeddings
	@CHROMIUM=$(CHROMIUM) PY=$(PY) sh scripts/test.sh all

lint: ## check style and types
	@$(INSTALL) app dev cluster
	$(PY) -m ruff check
	$(PY) -m ruff format --check
	.venv/bin/djlint --check --quiet templates
	.venv/bin/lint-imports
	$(PY) -m mypy
	sh scripts/lint_js.sh

properties: ## check the history properties with 100,000 examples each
	@$(INSTALL) app dev cluster
	HYPOTHESIS_PROFILE=thorough $(PY) -m pytest -n auto --dist worksteal -o faulthandler_timeout=0 tests/history

bench: ## measure against a stated baseline; BENCH="versions --before PATH" measures beside another
	@$(INSTALL) app dev cluster engine embeddings bench
	$(PY) -m tests.bench $(BENCH)

audit: ## ask for known weaknesses of every pinned package; AUDIT=... goes to pip-audit
	@$(INSTALL) app dev
	@$(PY) scripts/audit.py $(AUDIT)

attacks: ## attack a fresh server and measure what somebody else notices
	@$(INSTALL) app dev cluster
	$(PY) -m tests.attacks

pictures: ## make the pictures under docs/ again, from the running application
	@$(INSTALL) app dev engine!
	PICTURES=docs $(PY) -m pytest tests/browser/test_*pictures.py

seed: ## fill the database with conversations of every kind to look at
	@$(INSTALL) app
	@$(PY) -m tests.commands seed

build: ## bundle the page's modules and styles into static/built (needs npm)
	@sh scripts/build_js.sh

words: ## write the catalogues under locale/ from the texts in the code (needs GNU gettext)
	@$(INSTALL) app
	@$(PY) -m scripts.words

vendor: ## fetch the front-end libraries of static/vendor again (needs npm)
	@$(INSTALL) app
	$(PY) scripts/vendor.py

lock: ## update the lock files from requirements/*.in
	@$(INSTALL) app
	$(PY) -m pip install --quiet uv
	$(call lock_file,app,requirements.txt)
	$(call lock_file,cluster,requirements-cluster.txt)
	$(call lock_file,dev,requirements-dev.txt)
	$(call lock_file,engine,requirements-engine.txt,--no-deps --only-binary :all:)
	$(call lock_file,embeddings,requirements-embeddings.txt,--no-deps --only-binary :all:)
	$(call lock_file,bench,requirements-bench.txt)

clean: ## remove .venv and caches; var/ with its conversations stays
	rm -rf .venv node_modules .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
