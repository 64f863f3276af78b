#!/bin/sh
# Runs the tests that need a GPU, from binaries that `make test-gpu-binaries`
# has built here or on another machine: bin/cuda_gpu.test, the device itself;
# bin/gputest.test, every template over a table of shapes and parameters; and
# bin/library, a program that searches, packs and launches.
#
#   scripts/test-gpu.sh [TEST-FLAGS]     as -test.v, -test.run PATTERN
#
# Tests that need no GPU are in these binaries, too. They run only where a PATTERN names them.
#
# AUTOTUNE_TEST_VARIANTS is how many configurations are drawn at random for each
# template and row of the table, 6 unless it is set.
set -u
cd "$(dirname "$0")/.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=

case " $* " in
*" -test.run"*) ;;
*) set -- -test.run GPU "$@" ;;
esac
bin/cuda_gpu.test "$@" || failed="$failed cuda_gpu.test"
bin/gputest.test -test.timeout 60m "$@" || failed="$failed gputest.test"
bin/library "$folder/layers" || failed="$failed library"

if [ -n "$failed" ]; then
	echo "failed:$failed"
	exit 1
fi
echo "all passed"
