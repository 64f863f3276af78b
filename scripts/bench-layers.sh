#!/bin/bash
# Measures problems of public networks (scripts/layers.txt) on this machine's GPU: for
# each a search that knows no other, and PyTorch in turns with its winner, in the ways that -b
# names as --baseline does. Each winner is exported as a PyTorch module, and its largest error
# against double precision set beside PyTorch's own. Prints a table in Markdown; with -o, the
# searches' documents, words and modules go to a folder, and with -m the table to a file, too.
#
#   scripts/bench-layers.sh [-t LONG] [-b WAYS] [-o FOLDER] [-m FILE] [-s "SEARCH FLAGS"] [-e] [NAME ...]
#
# NAMEs are beginnings of problems' names, or their ends after a *; without any, all problems are
# measured. With -e nothing is exported and no error measured, which takes nvcc and a minute or two.
# One command searches all problems, so that PyTorch is imported once.
set -eu
cd "$(dirname "$0")/.."
bin=${AUTOTUNE:-bin/autotune}
long=60s ways=torch,torch-compile,cudnn-benchmark,channels-last out= flags= markdown=/dev/null errors=yes
while getopts t:b:o:m:s:e option; do
	case $option in
	t) long=$OPTARG ;;
	b) ways=$OPTARG ;;
	o) out=$OPTARG ;;
	m) markdown=$OPTARG ;;
	s) flags=$OPTARG ;;
	e) errors= ;;
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
		# shellcheck disable=SC2053
		if [[ $name == $wanted* ]] && grep -qx "$operator" <<<"$known"; then
			echo "$name $operator $rest"
			break
		fi
	done
done >"$scratch/problems"

torch=
if python3 -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null; then torch=yes; fi
touch "$scratch/errors"

# One search after another, each as if it were the first. One process of PyTorch serves them all.
(cd "$out" && while read -r name _; do rm -f "$name.json" "$name.py"; done) <"$scratch/problems"
scripts/layers_problems.py ask <"$scratch/problems" >"$scratch/problems.json"
# shellcheck disable=SC2086
CUDA_CACHE_PATH=$scratch/nvrtc $bin search --problems "$scratch/problems.json" --no-cache --device cuda:0 --time "$long" --baseline "$ways" \
	--json "$scratch/all.json" $flags >"$out/searches.txt" 2>&1 || tail -n 3 "$out/searches.txt"
[ -e "$scratch/all.json" ] && scripts/layers_problems.py split "$scratch/all.json" "$out" <"$scratch/problems"
while read -r name _; do
	if [ -n "$torch" ] && [ -n "$errors" ] && [ -e "$out/$name.json" ]; then
		$bin export --from "$out/$name.json" --format pytorch -o "$out/$name.py" >>"$out/searches.txt" 2>&1 || tail -n 1 "$out/searches.txt"
	fi
done <"$scratch/problems"

# Modules compile when they are imported, here several at a time.
if [ -n "$torch" ] && [ -n "$errors" ]; then
	export TORCH_EXTENSIONS_DIR=$scratch/extensions MAX_JOBS=2
	while read -r name _; do find "$out" -name "$name.py"; done <"$scratch/problems" |
		xargs -r -P "$(nproc)" -n 1 python3 >"$out/modules.txt" 2>&1 || tail -n 3 "$out/modules.txt"
	python3 scripts/torch_errors.py "$out" <"$scratch/problems" >"$scratch/errors" 2>"$out/errors.txt" || tail -n 3 "$out/errors.txt"
fi

{
	echo "Measured by \`scripts/bench-layers.sh -t $long\` on $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null | head -n 1), $(date -u +%F)."
	echo
	python3 scripts/layers_table.py "$out" "$scratch/problems" "$scratch/errors"
} | tee "$markdown"
