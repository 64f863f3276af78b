#!/bin/sh
# Runs the tests that need a GPU, from binaries that `make test-gpu-binaries` built on
# this or another machine: bin/cuda_gpu.test tests the CUDA device, bin/gputest.test
# every template with a table of shapes and parameters, and bin/library is a program
# that searches, packs and launches.
#
#   scripts/test-gpu.sh [TEST-FLAGS]     for example -test.v or -test.run PATTERN
#
# The binaries also contain tests that need no GPU, which run only if PATTERN matches them.
#
# AUTOTUNE_TEST_VARIANTS is the number of random configurations for each template and
# row of the table, 6 by default.
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
