# Every target makes and reuses .venv by itself; nothing but Python 3.11+ has to be there.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
SOURCES := analyzer replay reports tests benchmarks

.PHONY: install test check demo bench clean

install: $(VENV)/.installed

# torch first and by its pinned number: where a CPU build of it is at hand, pip takes that one.
$(VENV)/.installed: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet --constraint constraints.txt torch
	$(PIP) install --quiet --constraint constraints.txt --editable '.[replay,postgres]' \
	    hypothesis mypy pytest ruff types-PyYAML
	touch $@

test: install
	$(BIN)/python -m pytest -q

check: install
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/mypy analyzer/hitledger replay/hitledger_replay reports/hitledger_reports

clean:
	rm -rf $(VENV) build dist
