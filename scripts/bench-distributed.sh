#!/bin/sh
# Measures on this machine's GPUs what a second one is worth, and writes it as
# distributed.md into docs/results/<gpu>/ (or the folder given):
#
#   searches of TIME (30s) with one GPU and with two: trials a second, winners, tie sets;
#   ten problems, PROBLEM_TIME (10s) each, with one GPU and with two.
#
#   OPERATORS="conv2d depthwise_conv2d" PARTS="searches problems" LIMIT=120 DOCUMENTS=build/distributed scripts/bench-distributed.sh [FOLDER]
#
# Every search starts from an empty cache and an empty cache of binaries, and is killed
# LIMIT seconds (600) after its start. DOCUMENTS is a folder that keeps what each search
# wrote; a search whose document is there already is not made again, so that an interrupted
# run goes on.
set -eu
cd "$(dirname "$0")/.."
. scripts/results_folder.sh
. scripts/showcases.sh
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
documents=${DOCUMENTS:-$temporary/documents}
mkdir -p "$documents"

# measure NAME DEVICE ARGUMENTS...: the document is NAME.json, and NAME.wall has the
# seconds from the start of the process to its end.
measure() {
	name=$1 device=$2
	shift 2
	[ ! -e "$documents/$name.json" ] || return 0
	echo "$name"
	start=$(date +%s.%N)
	XDG_CACHE_HOME=$temporary/$name CUDA_CACHE_PATH=$temporary/$name.nvrtc timeout -k 5 "${LIMIT:-600}" $bin search "$@" \
		--device "$device" --target 0 --budget 0 --json "$documents/$name.json" >"$documents/$name.txt" 2>"$documents/$name.log" </dev/null || {
		echo "failed, exit code $?"
		tail -n 3 "$documents/$name.log"
		failed=1
	}
	echo "$start $(date +%s.%N)" | awk '{ print $2 - $1 }' >"$documents/$name.wall"
}

failed=
parts=${PARTS-searches problems}
for part in $parts; do
	case $part in
	searches)
		for operator in ${OPERATORS-conv2d depthwise_conv2d}; do
			measure "$operator.1" cuda:0 "$operator" --shape "$(shape "$operator")" --time "${TIME:-30s}"
			measure "$operator.2" cuda:0,1 "$operator" --shape "$(shape "$operator")" --time "${TIME:-30s}"
		done
		;;
	problems)
		for devices in 1 2; do
			gpus=$(echo 0 0,1 | cut -d ' ' -f $devices)
			measure "problems.$devices" "cuda:$gpus" --problems scripts/distributed/problems.yaml --time "${PROBLEM_TIME:-10s}"
		done
		;;
	esac
done

python3 scripts/tables.py distributed "$documents" "$gpu" >"$temporary/distributed.md"
mv "$temporary/distributed.md" "$out/distributed.md"
cat "$out/distributed.md"
[ -z "$failed" ]
