#!/bin/sh
# Measures on this machine's GPU how far a winner can be believed, and writes it as
# trust.md into docs/results/<gpu>/ (or the folder given):
#
#   one kernel under ten names, searched RUNS times (20): how often all ten tie,
#   and how often the same one of them wins;
#   each operator, searched without a flag, with SEEDS seeds (10): what that took, how
#   many winners there are, how far their medians are apart, and whether each is
#   among those that another seed's search says it ties with;
#   how far these winners are behind that of a search of LONG seconds (60; 0: none);
#   small spaces, searched whole: how far the seeds' winners are behind the best there;
#   each operator's last winner, timed with a cold and with a warm L2.
#
#   OPERATORS="avg_pool1d max_pool2d" DOCUMENTS=build/trust scripts/bench-trust.sh [FOLDER]
#
# DOCUMENTS is a folder that keeps what each search wrote; a search whose document
# is there already is not made again, so that an interrupted run goes on.
set -eu
cd "$(dirname "$0")/.."
. scripts/results_folder.sh
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
scratch=${DOCUMENTS:-$temporary/documents}
mkdir -p "$scratch"
export XDG_CACHE_HOME=$temporary/cache

shape() { # of the problem that an operator was made for
	case $1 in
	avg_pool1d) echo 64x128x65536 ;;
	avg_pool2d) echo 16x64x2048x2048 ;;
	max_pool2d) echo 32x64x512x512 ;;
	depthwise_conv2d) echo 16x64x512x512 ;;
	conv2d) echo 16x16x1024x1024 ;;
	esac
}

search() { # NAME OPERATOR SHAPE FLAGS...: the document is NAME.json
	document=$1 operator=$2 shape=$3
	shift 3
	[ ! -e "$scratch/$document.json" ] || return 0
	$bin search "$operator" --shape "$shape" --device cuda --no-cache --quiet --json "$scratch/$document.json" "$@" >/dev/null
}

run=0
while [ $run -lt "${RUNS:-20}" ]; do
	run=$((run + 1))
	search twins-$run ./scripts/trust/twins 16777216 --budget 0 --seed $run
done
for operator in ${OPERATORS-avg_pool1d avg_pool2d max_pool2d depthwise_conv2d conv2d}; do
	shape=$(shape "$operator")
	seed=0
	while [ $seed -lt "${SEEDS:-10}" ]; do
		seed=$((seed + 1))
		search seeds.$operator-$seed "$operator" "$shape" --seed $seed
	done
	if [ "${LONG:-60}" -gt 0 ]; then
		search long.$operator-1 "$operator" "$shape" --seed 1001 --time "${LONG:-60}s" --target 0
	fi
	case $operator in
	avg_pool1d | depthwise_conv2d)
		if [ -n "${ORACLE-yes}" ]; then
			search oracle.$operator-1 "$operator" "$shape" --strategy random --target 0 --budget 100000 --time 10m --record "$scratch/oracle-$operator.json.gz"
		fi
		;;
	esac
	if [ -e "$scratch/seeds.$operator-$seed.json" ]; then
		for l2 in cold warm; do
			search $l2.$operator-1 "$operator" "$shape" --config "$(python3 scripts/kept.py "$scratch/seeds.$operator-$seed.json")" --l2 $l2
		done
	fi
done
python3 scripts/trust_page.py "$scratch" "$gpu" | tee "$out/trust.md"
