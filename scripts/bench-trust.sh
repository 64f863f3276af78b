#!/bin/sh
# Measures on this machine's GPU how far a winner can be believed, and writes it as
# trust.md into docs/results/<gpu>/ (or the folder given):
#
#   one kernel under ten names, searched RUNS times (20): how often all ten tie,
#   and how often the same one of them wins;
#   each operator, searched with SEEDS seeds (10) for SECONDS_EACH each (20): how many
#   winners there are, how far their medians are apart, and whether each is
#   among those that another seed's search says it ties with.
#
#   OPERATORS="avg_pool1d max_pool2d" scripts/bench-trust.sh [FOLDER]
set -eu
cd "$(dirname "$0")/.."
bin=bin/autotune
gpu=$(nvidia-smi --query-gpu=name --format=csv,noheader | head -n 1)
slug=$(printf %s "$gpu" | tr 'A-Z' 'a-z' | sed 's/^nvidia //; s/[^a-z0-9].*//')
out=${1:-docs/results/$slug}
mkdir -p "$out"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export XDG_CACHE_HOME=$scratch/cache

shape() {
	case $1 in
	avg_pool1d) echo 64x128x65536 ;;
	avg_pool2d) echo 16x64x2048x2048 ;;
	max_pool2d) echo 32x64x512x512 ;;
	depthwise_conv2d) echo 16x64x512x512 ;;
	conv2d) echo 16x16x1024x1024 ;;
	esac
}

run=0
while [ $run -lt "${RUNS:-20}" ]; do
	run=$((run + 1))
	$bin search ./scripts/trust/twins --shape 16777216 --device cuda --no-cache --budget 0 --seed $run \
		--quiet --json "$scratch/twins-$run.json" >/dev/null
done
for operator in ${OPERATORS-avg_pool1d avg_pool2d max_pool2d depthwise_conv2d conv2d}; do
	seed=0
	while [ $seed -lt "${SEEDS:-10}" ]; do
		seed=$((seed + 1))
		$bin search "$operator" --shape "$(shape "$operator")" --device cuda --no-cache --seed $seed --time "${SECONDS_EACH:-20}s" \
			--quiet --json "$scratch/$operator-$seed.json" >/dev/null
	done
done
python3 scripts/trust/table.py "$scratch" "$gpu" | tee "$out/trust.md"
