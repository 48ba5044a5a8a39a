#!/bin/sh
# SPDX-License-Identifier: MIT
#
# usage: 16_iris.sh PROGRAM
#
# The losses are those that the course printed, all held-out rows are right, and --plot draws the
# curve.  Processors and compilers may differ in the last digits.

set -e
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
"$1" 2>/dev/null >"$folder/printed"
awk '
	BEGIN {
		split("1.15071142 0.93773186 0.77982736 0.60996711 0.40083539 0.25436994" \
			" 0.15052448 0.10086147 0.08127660 0.07230931", published, " ")
	}
	$1 == "epoch:" {
		away = $4 - published[++epochs]
		if (away * away > (epochs == 1 ? 2e-7 : 1e-4) ^ 2) {
			print "epoch " $2 ": expected " published[epochs] ", got " $4
			wrong = 1
		}
	}
	$1 == "right:" { right = $2 }
	END { exit wrong || epochs != 10 || right != 30 }' "$folder/printed" || {
	cat "$folder/printed"
	exit 1
}

"$1" --plot "$folder/loss.svg" >"$folder/log" 2>&1 || { cat "$folder/log"; exit 1; }
tests/samples/check_picture.sh "$folder/loss.svg" 100
if "$1" --plot /nowhere/loss.svg >"$folder/log" 2>&1; then
	echo 'a picture was drawn into a folder that is not there'
	exit 1
fi
grep -q '^/nowhere/loss.svg: ' "$folder/log"
