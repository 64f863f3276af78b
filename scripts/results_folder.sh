# Scripts that measure on this machine's GPU source this file in the project's folder. It sets
# the program and the folder of results: docs/results/<gpu>/, or the script's first argument.
bin=bin/autotune
gpu=$(nvidia-smi --query-gpu=name --format=csv,noheader | head -n 1)
slug=$(printf %s "$gpu" | tr 'A-Z' 'a-z' | sed 's/^nvidia //; s/[^a-z0-9].*//')
out=${1:-docs/results/$slug}
mkdir -p "$out"
