#!/bin/sh
# Searches each operator under examples/ on this machine's GPU, on the problem that it
# names as its example, and writes the table of `autotune report` as examples.md into
# docs/results/<gpu>/ (or the folder given). Every search starts from an empty cache and
# ends after TIME (15s) at the latest. An example that has no winner does not keep the
# others from being searched; the exit code is 1 then.
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
