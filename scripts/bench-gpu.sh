#!/bin/sh
# Measures the five operators on this machine's GPU and writes, into
# docs/results/<gpu>/ (or the folder given), for each problem: the best
# configuration (JSON), its plots (PNG) and what the command printed (text);
# for all of them summary.json; and the searches as recordings. Every search
# starts from an empty cache. PyTorch is timed in the same run if it is there.
#
#   scripts/bench-gpu.sh [FOLDER] [RECORDINGS]
set -eu
cd "$(dirname "$0")/.."
bin=bin/autotune
gpu=$(nvidia-smi --query-gpu=name --format=csv,noheader | head -n 1)
slug=$(printf %s "$gpu" | tr 'A-Z' 'a-z' | sed 's/^nvidia //; s/[^a-z0-9].*//')
out=${1:-docs/results/$slug}
recordings=${2:-recordings}
mkdir -p "$out" "$recordings"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

torch=no
if python3 -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null; then torch=yes; fi

# measure NAME OPERATOR SHAPE MATH PARAMETERS...: PyTorch's times, then the
# search, with the parameters that the operator runs with when none are set.
measure() {
	name=$1 operator=$2 shape=$3 math=$4
	shift 4
	baselines=
	if [ "$torch" = yes ]; then
		for time in $(python3 scripts/torch_baselines.py "$operator" "$shape" "$@"); do
			baselines="$baselines --baseline $time"
		done
	fi
	{
		echo "\$ autotune search $operator --shape $shape --math $math"
		# shellcheck disable=SC2086
		$bin search "$operator" --shape "$shape" --math "$math" --device cuda --cache "$scratch/$name.db" \
			--json "$out/$name.json" --plot "$scratch/$name" --record "$recordings/$slug-$name.json.gz" $baselines 2>&1
	} | tee "$out/$name.txt"
	for png in "$scratch/$name"/*.png; do
		mv "$png" "$out/$name-$(basename "$png")"
	done
}

measure avg_pool2d avg_pool2d 16x64x2048x2048 fp32 kernel=11
measure avg_pool1d avg_pool1d 64x128x65536 fp32 kernel=8 stride=1 padding=4
measure max_pool2d max_pool2d 32x64x512x512 fp32 kernel=4 stride=1 padding=1
measure depthwise_conv2d depthwise_conv2d 16x64x512x512 fp32 kernel=3
measure conv2d-tf32 conv2d 16x16x1024x1024 tf32 kernel=3 c_out=128
measure conv2d-fp32 conv2d 16x16x1024x1024 fp32 kernel=3 c_out=128

{
	separator='['
	for name in avg_pool2d avg_pool1d max_pool2d depthwise_conv2d conv2d-tf32 conv2d-fp32; do
		echo "$separator"
		cat "$out/$name.json"
		separator=','
	done
	echo ']'
} >"$out/summary.json"
echo "wrote $out/summary.json"
