#!/bin/sh
# Searches each operator under examples/ on this machine's GPU, for the operator's example
# problem, and writes the table of `autotune report` as examples.md into docs/results/<gpu>/
# or FOLDER. Every search starts from an empty cache and ends after TIME (15s by default).
# If a search finds no winner, the other operators are still searched, and the exit code
# is 1.
#
#   EXAMPLES="scan reduce_sum" TIME=30s scripts/bench-examples.sh [FOLDER]
set -eu
cd "$(dirname "$0")/.."
. scripts/results_folder.sh
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
failed=
for place in examples/*.cu examples/*/op.yaml; do
	[ -e "$place" ] || continue
	place=${place%/op.yaml}
	name=$(basename "$place" .cu)
	case " ${EXAMPLES-$name} " in
	*" $name "*) ;;
	*) continue ;;
	esac
	shape=$($bin ops show "./$place" --json - | python3 -c 'import json, sys; print("x".join(map(str, json.load(sys.stdin)["example"])))')
	echo "searching $name $shape"
	XDG_CACHE_HOME=$temporary/$name $bin search "./$place" --shape "$shape" --device cuda --time "${TIME:-15s}" --quiet \
		--json "$temporary/$name.json" </dev/null || failed="$failed $name"
done
$bin report "$temporary"/*.json | tee "$out/examples.md"
if [ -n "$failed" ]; then
	echo "failed:$failed"
	exit 1
fi
