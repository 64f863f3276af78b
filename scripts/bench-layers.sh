#!/bin/bash
# Measures problems of public networks (scripts/layers.txt) on this machine's GPU: for
# each a search from an empty cache, and PyTorch eager and torch.compile in the same run.
# Prints a table; with -o, the searches' documents and words go to a folder.
#
#   scripts/bench-layers.sh [-t LONG] [-o FOLDER] [-s "SEARCH FLAGS"] [NAME ...]
#
# NAMEs are beginnings of problems' names; without any, all problems are measured.
set -eu
cd "$(dirname "$0")/.."
bin=${AUTOTUNE:-bin/autotune}
long=60s out= flags=
while getopts t:o:s: option; do
	case $option in
	t) long=$OPTARG ;;
	o) out=$OPTARG ;;
	s) flags=$OPTARG ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
out=${out:-$scratch/out}
mkdir -p "$out"

known=$($bin ops | awk '{ print $1 }')
grep -v '^#' scripts/layers.txt | while read -r name operator rest; do
	for wanted in "${@:-}"; do
		if [[ $name == "$wanted"* ]] && grep -qx "$operator" <<<"$known"; then
			echo "$name $operator $rest"
			break
		fi
	done
done >"$scratch/problems"

if python3 -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null; then
	python3 scripts/torch_layers.py <"$scratch/problems" >"$scratch/torch" 2>"$out/torch.txt" || cat "$out/torch.txt"
fi
touch "$scratch/torch"

while read -r name operator shape math parameters; do
	settings=()
	for parameter in $parameters; do settings+=(--set "$parameter"); done
	# shellcheck disable=SC2086
	XDG_CACHE_HOME=$scratch/$name CUDA_CACHE_PATH=$scratch/nvrtc $bin search "$operator" --shape "$shape" "${settings[@]}" \
		--math "$math" --device cuda --time "$long" --json "$out/$name.json" $flags >"$out/$name.txt" 2>&1 </dev/null ||
		tail -n 3 "$out/$name.txt"
done <"$scratch/problems"

python3 - "$out" "$scratch/problems" "$scratch/torch" <<'END'
import json, math, os, sys
out, problems, torch = sys.argv[1:]
torch = {line.split()[0]: [float(w) for w in line.split()[1:]] for line in open(torch)}
row = "{:18} {:15} {:>9} {:>8} {:>9} {:>9} {:>6}  {}"
print(row.format("problem", "template", "ms", "TFLOP/s", "eager", "compile", "ratio", "configuration"))
ratios = []
for line in open(problems):
    name = line.split()[0]
    path = f"{out}/{name}.json"
    if not os.path.exists(path):
        print(name, "no winner")
        continue
    best = json.load(open(path))
    ms, eager = best["time_ms"]["median"], torch.get(name, [math.nan, math.nan])
    ratio = min(eager) / ms
    ratios.append(ratio)
    configuration = " ".join(f"{k}={v}" for k, v in best["configuration"].items())
    print(row.format(name, best["template"], f"{ms:.4g}", f"{best['roofline']['flops'] / ms / 1e9:.1f}",
                     *(f"{t:.4g}" for t in eager), f"{ratio:.2f}", configuration))
if ratios:
    print(f"geometric mean of ratios to the better of eager and torch.compile: {math.prod(ratios) ** (1 / len(ratios)):.2f}")
END
