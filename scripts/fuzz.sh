#!/bin/sh
# Runs every fuzz target of the project for a while; the first failure ends it.
#
#   scripts/fuzz.sh [TIME]      as 20s (the default), 5m
#
# testdata/fuzz holds inputs that reach far into the parsers, to start from. What a
# target finds lies in its package's testdata/fuzz and fails every test
# run until the fault is mended: commit it with the mending.
set -eu
cd "$(dirname "$0")/.."
time=${1:-20s}

grep -rlE '^func Fuzz[A-Z]' --include='*_test.go' . | sort | while read -r file; do
	package=./$(dirname "${file#./}")
	sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\).*/\1/p' "$file" | while read -r target; do
		echo "== $package $target"
		go test "$package" -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 1x </dev/null
	done
done
