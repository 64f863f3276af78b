#!/bin/sh
# Runs every fuzz target of the project, or of FOLDER, for TIME each, as many at once as
# there are processors. The first failure ends the script. The targets of a package share
# one test binary, since linking it takes longer than CI fuzzes.
#
#   scripts/fuzz.sh [TIME [FOLDER]]      TIME is 20s by default; an example: 5m device/remote
#
# Fuzzing starts from the inputs in testdata/fuzz, which reach far into the parsers. A
# failing input is added to its package's testdata/fuzz and fails every test run until
# the bug is fixed: commit it together with the fix.
#
# Go before 1.27 sometimes reports the end of TIME as a failure with the message "context
# deadline exceeded" (https://go.dev/issue/75804). Such a failure has no input in
# testdata/fuzz and is not a bug.
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
		go test -c -vet=off -ldflags "-s -w" -tags cuda -fuzz . -o "$binary" "$folder" || exit 255 # xargs then stops
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
