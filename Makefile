# Thin: every target calls tools/dev.py, which says what it does. PYTHON= names another interpreter, ARGS= passes
# arguments on: make test ARGS="-k sum", make fuzz ARGS="--n 1000".
PYTHON ?= python3
export PYTHON ARGS
COMMANDS = demo build test test-all test-gpu debug sanitize check format wheel docs docs-check bench bench-check fuzz fuzz-math

help:
	@$(PYTHON) tools/dev.py --help

$(COMMANDS):
	@$(PYTHON) tools/dev.py $@

clean:
	rm -rf build

.PHONY: help clean $(COMMANDS)
