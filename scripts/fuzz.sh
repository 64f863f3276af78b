#!/bin/sh
# Runs every fuzz target of the project, or of a folder, for a while, as many at once as
# there are processors; the first failure ends it.
#
#   scripts/fuzz.sh [TIME [FOLDER]]      as 20s (the default), 5m tuner/device/remote
#
# testdata/fuzz holds inputs that reach far into the parsers, to start from. What a
# target finds lies in its package's testdata/fuzz and fails every test
# run until the fault is mended: commit it with the mending.
#
# Go before 1.27 sometimes takes the end of the time for a failure
# (https://go.dev/issue/75804): "context deadline exceeded" and no input. That is
# no finding, since a finding is written down.
set -eu
cd "$(dirname "$0")/.."
time=${1:-20s}

grep -rE '^func Fuzz[A-Z]' --include='*_test.go' "./${2:-}" | sort |
	sed 's|^\(.*\)/[^/]*:func \(Fuzz[A-Za-z0-9_]*\).*|\1 \2|' |
	xargs -P "$(nproc)" -L 1 sh -c '
		said=$(go test -vet=off -ldflags "-s -w" "$1" -run "^\$" -fuzz "^$2\$" -fuzztime "$0" -parallel 1 -fuzzminimizetime 1x </dev/null 2>&1) && failed= || failed=yes
		printf "== %s %s\n%s\n" "$1" "$2" "$said"
		case $said in
		*"Failing input written"* | *panic:*) ;;
		*"--- FAIL: $2 ("*")
    context deadline exceeded
FAIL
"*) failed= ;;
		esac
		[ -z "$failed" ] || exit 255 # xargs starts no other
	' "$time"
