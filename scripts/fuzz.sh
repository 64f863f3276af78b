#!/bin/sh
# Runs every fuzz target of the project, or of a folder, for a while, as many at once as
# there are processors; the first failure ends it. A package's targets share its
# test binary, which takes longer to link than CI fuzzes.
#
#   scripts/fuzz.sh [TIME [FOLDER]]      as 20s (the default), 5m device/remote
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
	awk '{ all[$1] = all[$1] " " $2 } END { for (folder in all) print folder all[folder] }' |
	xargs -P "$(nproc)" -L 1 sh -c '
		folder=$1
		shift
		binary=$(mktemp)
		trap "rm -f $binary" EXIT
		go test -c -vet=off -ldflags "-s -w" -tags cuda -fuzz . -o "$binary" "$folder" || exit 255 # xargs starts no other
		cache=$(go env GOCACHE)/fuzz/$(go list "$folder")
		cd "$folder"
		for target; do
			said=$("$binary" -test.run "^\$" -test.fuzz "^$target\$" -test.fuzztime "$0" -test.fuzzcachedir "$cache" \
				-test.parallel 1 -test.fuzzminimizetime 1x </dev/null 2>&1) && failed= || failed=yes
			printf "== %s %s\n%s\n" "$folder" "$target" "$said"
			case $said in
			*"Failing input written"* | *panic:*) ;;
			*"--- FAIL: $target ("*")
    context deadline exceeded
FAIL"*) failed= ;;
			esac
			[ -z "$failed" ] || exit 255
		done
	' "$time"
