#!/bin/sh
# SPDX-License-Identifier: MIT
#
# usage: tests/samples/check_picture.sh FILE.svg POINTS
#
# The picture is well-formed XML, its curve has so many points, and all of them are in the frame.

set -e
if command -v xmllint >/dev/null; then
	xmllint --noout "$1"
fi
awk -F, -v expected="$2" '
	/^<svg / { begun = NR == 1 }
	/^<\/svg>$/ { ended = NR }
	/^[0-9.]+,[0-9.]+$/ {
		points++
		outside = outside || $1 < 70 || $1 > 620 || $2 < 40 || $2 > 360
	}
	END { exit !begun || ended != NR || outside || points != expected }' "$1" || {
	echo "$1: not a picture of a curve with $2 points in the frame"
	exit 1
}
