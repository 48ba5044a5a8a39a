#!/bin/sh
# SPDX-License-Identifier: MIT
#
# usage: tests/samples/38_tune.sh PROGRAM
#
# The first run tries the configurations whose tile is small enough, the second finds the best one
# kept; both print the sums that awk makes of the same numbers.

set -e
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
export KUDZU_CACHE=1 KUDZU_CACHE_DIR="$folder/cache"
awk 'BEGIN {
	n = 100000
	for (i = -8; i < n + 8; i++) {
		at = i < 0 ? 0 : i < n ? i : n - 1
		x[i] = at * 7919 % 1001
	}
	for (i = 0; i < n; i++) {
		y = 0
		for (k = -8; k <= 8; k++) {
			y += x[i + k]
		}
		first = first (i < 3 ? " " y : "")
		sum += y * (i % 10)
	}
	printf "first:%s\nlast: %d\nweighted sum: %.0f\n", first, y, sum
}' >"$folder/expected"
for run in first second; do
	"$1" >"$folder/out" 2>"$folder/$run" </dev/null
	diff -u "$folder/expected" "$folder/out"
done
grep -q '^12 configurations, 1 skipped, 11 tried$' "$folder/first"
[ "$(grep -c ' ms .*  BLOCK=[0-9]* ITEMS=[0-9]*$' "$folder/first")" = 11 ]
grep -q '^12 configurations, 0 skipped, 0 tried: the best one was kept$' "$folder/second"
[ "$(sed -n 2p "$folder/second")" = "$(sed -n 2p "$folder/first")" ]
