#!/bin/sh
# Runs the tests that need a GPU, from binaries that `make test-gpu-binaries`
# has built here or on another machine: bin/cuda_gpu.test, the device itself;
# bin/gputest.test, every template over a table of shapes and parameters; and
# bin/library, a program that searches, packs and launches. Where python3 has
# PyTorch, the references are then held against it.
#
#   scripts/test-gpu.sh [TEST-FLAGS]     as -test.v, -test.run PATTERN
#
# Tests that need no GPU are in these binaries, too. They run only where a PATTERN names them.
#
# AUTOTUNE_TEST_VARIANTS is how many configurations are drawn at random for each
# template and row of the table, 6 unless it is set.
set -u
cd "$(dirname "$0")/.."
cases=$(mktemp -d)
trap 'rm -rf "$cases"' EXIT
failed=

case " $* " in
*" -test.run"*) ;;
*) set -- -test.run GPU "$@" ;;
esac
bin/cuda_gpu.test "$@" || failed="$failed cuda_gpu.test"
AUTOTUNE_TORCH_CASES=$cases bin/gputest.test -test.timeout 60m "$@" || failed="$failed gputest.test"
bin/library "$cases/layers" || failed="$failed library"
if python3 -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null; then
	if [ -e "$cases/generator.cubin" ]; then
		python3 scripts/torch_check.py "$cases" || failed="$failed torch_check.py"
	fi
else
	echo "python3 has no PyTorch that sees a GPU: the references are not held against it"
fi

if [ -n "$failed" ]; then
	echo "failed:$failed"
	exit 1
fi
echo "all passed"
