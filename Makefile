# Every target sets up what it needs; a fresh clone needs only Python >= 3.11 and make.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# The demo's vault and home, unless you have settings of your own (in the environment or in .env).
ifeq ($(wildcard .env)$(VAULT_PATH)$(VAULTLINE_HOME)$(DATABASE_URL),)
export VAULT_PATH := $(CURDIR)/examples/vault
export VAULTLINE_HOME := $(CURDIR)/.vaultline
endif

.PHONY: help setup demo serve test ui bench bench-peers bench-scale chaos lock clean

help: ## Show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 14

setup: $(VENV)/.installed ## Make the environment in .venv

$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet --constraint constraints.txt torch
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

demo: setup ## From a fresh machine to cited answers: index examples/vault and ask two questions
	$(BIN)/vaultline sync --vault examples/vault
	$(BIN)/vaultline search -k 3 "How do we roll back a release?"
	$(BIN)/vaultline search -k 3 "¿Qué hay que hacer cuando rota un secreto?"
	@echo
	@echo "The same in the browser: make serve (it runs vaultline serve), then open http://127.0.0.1:8321"

serve: setup ## The web page, HTTP and MCP on http://127.0.0.1:8321, over the same index
	$(BIN)/vaultline serve

test: setup ## Lint, types and the whole test suite
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pytest -n 2 --dist loadfile

ui: setup ## Dagster's UI with daemon and sensors on loopback, against the same database
	$(BIN)/vaultline sync --dry-run
	eval "$$($(BIN)/vaultline env)" && $(BIN)/dagster dev -m pipelines.definitions -h 127.0.0.1 -p $${PORT:-3000}

bench: setup ## Time cold index, no-op and edits: make bench VAULTS="folder [folder ...]"
	$(BIN)/python -m benchmarks.index_speed $(or $(VAULTS),examples/vault) --json bench.json

bench-scale: setup ## How every cost grows from 500 to 12,000 notes (about half an hour)
	$(BIN)/python -m benchmarks.scale --json bench-scale.json --plot bench-scale.svg

chaos: setup ## Kill -9 sync, runs, Postgres and provider 200 times, and compare with clean builds: make chaos KILLS=200 SEED=1
	$(BIN)/python -m benchmarks.chaos --kills $(or $(KILLS),200) --seed $(or $(SEED),1)

bench-peers: setup ## The same beside CocoIndex, LangChain and LlamaIndex, in an environment of their own
	test -x .venv-peers/bin/python || $(PYTHON) -m venv .venv-peers
	.venv-peers/bin/pip install --quiet --constraint benchmarks/peers/constraints.txt torch
	.venv-peers/bin/pip install --quiet --constraint benchmarks/peers/constraints.txt -r benchmarks/peers/requirements.txt
	$(BIN)/python -m benchmarks.peers_speed $(or $(VAULTS),examples/vault) --python .venv-peers/bin/python --json bench-peers.json

lock: ## Write constraints.txt from what a fresh environment took
	(echo '# Exact versions below the ranges of pyproject.toml, written by make lock. torch: see README.'; $(BIN)/pip freeze --exclude-editable | sed 's/+cpu$$//') > constraints.txt

clean: ## Stop the demo's server and remove its data and the environment
	-$(BIN)/vaultline db stop
	rm -rf $(VENV) .vaultline
