#!/bin/sh
# Measures the five main operators on this machine's GPU, and writes into docs/results/<gpu>/
# or FOLDER: for each problem the best configuration (JSON), its plots (PNG) and the command's
# output (text); for all problems summary.json, summary.md and summary.png; throughput.txt; and
# the searches as recordings. Every search starts from empty caches of trials and binaries.
# PyTorch is timed in the same run if it is installed.
#
#   scripts/bench-gpu.sh [FOLDER] [RECORDINGS]
set -eu
cd "$(dirname "$0")/.."
. scripts/results_folder.sh
recordings=${2:-recordings}
mkdir -p "$recordings"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Each line is a problem: its name, operator, shape and math mode.
cat >"$scratch/problems" <<END
avg_pool2d avg_pool2d 16x64x2048x2048 fp32
avg_pool1d avg_pool1d 64x128x65536 fp32
max_pool2d max_pool2d 32x64x512x512 fp32
depthwise_conv2d depthwise_conv2d 16x64x512x512 fp32
conv2d-tf32 conv2d 16x16x1024x1024 tf32
conv2d-fp32 conv2d 16x16x1024x1024 fp32
END
torch=
if python3 -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null; then
	torch='--baseline torch,torch-compile'
fi

# measure NAME OPERATOR SHAPE MATH searches a problem and times PyTorch in the same run.
measure() {
	name=$1 operator=$2 shape=$3 math=$4
	{
		echo "\$ autotune search $operator --shape $shape --math $math $torch"
		# shellcheck disable=SC2086
		XDG_CACHE_HOME=$scratch/$name $bin search "$operator" --shape "$shape" --math "$math" --device cuda \
			--json "$out/$name.json" --plot "$scratch" --record "$recordings" $torch 2>&1
	} | sed "s,$scratch/,,; s,$out/,,; s,$recordings/,," | tee "$out/$name.txt"
	for plot in speedup progress; do
		mv "$scratch/$plot.png" "$out/$name-$plot.png"
	done
	files="${files-} $out/$name.json"
}

while read -r name operator shape math; do
	measure "$name" "$operator" "$shape" "$math" </dev/null
done <"$scratch/problems"

# shellcheck disable=SC2086
$bin report $files --json "$out/summary.json" --plot "$out" | tee "$out/summary.md"

# The throughput is measured from the start of the process to its end, with every variant
# compiled, verified and timed.
{
	echo "\$ autotune search max_pool2d --shape 1x256x512x512 --budget 84 --baseline none"
	start=$(date +%s.%N)
	# Since 12.9, NVRTC has a cache of its own, which would make compilations look faster.
	XDG_CACHE_HOME=$scratch/throughput CUDA_CACHE_PATH=$scratch/nvrtc $bin search max_pool2d --shape 1x256x512x512 --budget 84 --device cuda --baseline none --quiet
	end=$(date +%s.%N)
	echo "$start $end" | awk '{ printf "84 configurations in %.2f s from start to end of the process: %.1f a second\n", $2 - $1, 84 / ($2 - $1) }'
} | tee "$out/throughput.txt"
