#!/bin/sh
# Plays the default strategy on recordings of whole spaces with one device and with many,
# asked ahead by little and by much, and prints a table of the scores (docs/simulation.md,
# docs/distributed.md); the curves without asking ahead go to PLOT, if that is given.
#
#   PLOT=docs/distributed.png REPEATS=10 scripts/distributed/simulate.sh RECORDING...
set -eu
bin=$(dirname "$0")/../../bin/autotune
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# How many are asked for ahead of each device, and the numbers of devices.
for play in 0:1,2,8,64,512 1:8,64 3:1,8 7:1,8 15:1,8 31:1 63:1; do
	ahead=${play%%:*}
	plot=
	if [ "$ahead" = 0 ] && [ -n "${PLOT-}" ]; then plot="--plot $PLOT"; fi
	# shellcheck disable=SC2086
	$bin simulate "$@" --devices "${play#*:}" --ahead "$ahead" --repeats "${REPEATS:-10}" --json "$folder/$ahead.json" $plot >&2
done
python3 - "$folder"/*.json <<'END'
import json
import sys

rows = []
for path in sys.argv[1:]:
    with open(path) as file:
        report = json.load(file)
    for s in report["strategies"]:
        devices, ahead = s.get("devices", 1), report.get("ahead", 0)
        rows.append((devices * (1 + ahead), devices, ahead, s["mean"], s["ci95"]))
print("| under way | devices | asked ahead of each | score | 95 % interval |")
print("| --- | --- | --- | --- | --- |")
for under_way, devices, ahead, mean, (low, high) in sorted(rows):
    print(f"| {under_way} | {devices} | {ahead} | {mean:.2f} | {low:.2f} to {high:.2f} |")
END
