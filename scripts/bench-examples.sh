#!/bin/sh
# Searches each operator under examples/ on this machine's GPU, on the problem that it
# names as its example, and writes what came of it as examples.md into
# docs/results/<gpu>/ (or the folder given): the winners, how near they come to the
# bandwidth of a copy, and PyTorch's times where python3 has it, from the same run.
# Every search starts from an empty cache and ends after TIME (15s) at the latest.
#
#   EXAMPLES="scan reduce_sum" TIME=30s DOCUMENTS=build/examples scripts/bench-examples.sh [FOLDER]
#
# DOCUMENTS is a folder that keeps what each search wrote; a search whose document is
# there already is not made again, so that an interrupted run goes on. An example that
# has no winner does not keep the others from being searched; the exit code is 1 then.
set -eu
cd "$(dirname "$0")/.."
. scripts/results_folder.sh
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
documents=${DOCUMENTS:-$temporary/documents}
mkdir -p "$documents"

# An example a line: name, place, shape.
for place in examples/*.cu examples/*/op.yaml; do
	[ -e "$place" ] || continue
	place=${place%/op.yaml}
	name=$(basename "$place" .cu)
	case " ${EXAMPLES-$name} " in
	*" $name "*) ;;
	*) continue ;;
	esac
	shape=$($bin ops show "./$place" --json - | python3 -c 'import json, sys; print("x".join(map(str, json.load(sys.stdin)["example"])))')
	echo "$name ./$place $shape"
done >"$temporary/examples"

: >"$temporary/baselines"
if python3 -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null; then
	python3 scripts/examples_torch.py <"$temporary/examples" | tee "$temporary/baselines"
fi

failed=
while read -r name place shape; do
	[ ! -e "$documents/$name.json" ] || continue
	echo "searching $name $shape"
	baselines=$(sed -n "s/^$name / --baseline /p" "$temporary/baselines")
	# shellcheck disable=SC2086
	XDG_CACHE_HOME=$temporary/$name $bin search "$place" --shape "$shape" --device cuda --time "${TIME:-15s}" --quiet \
		--json "$documents/$name.json" $baselines >"$documents/$name.txt" </dev/null || failed="$failed $name"
done <"$temporary/examples"

python3 scripts/tables.py examples "$documents" "$gpu" <"$temporary/examples" >"$temporary/examples.md"
mv "$temporary/examples.md" "$out/examples.md"
cat "$out/examples.md"
if [ -n "$failed" ]; then
	echo "failed:$failed"
	exit 1
fi
