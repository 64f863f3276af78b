# Read by the scripts that measure on this machine's GPU, from the project's folder: what
# they measure with, and where results go: docs/results/<gpu>/, or the folder given first.
bin=bin/autotune
gpu=$(nvidia-smi --query-gpu=name --format=csv,noheader | head -n 1)
slug=$(printf %s "$gpu" | tr 'A-Z' 'a-z' | sed 's/^nvidia //; s/[^a-z0-9].*//')
out=${1:-docs/results/$slug}
mkdir -p "$out"
