#!/bin/sh
# SPDX-License-Identifier: MIT
#
# usage: 16_iris.sh PROGRAM
#
# The losses are those that the course printed, all held-out rows are right, and gnuplot draws the
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

# A gnuplot that writes down what it is asked for, and none at all.
printf '#!/bin/sh\ncat >"%s/script"\n' "$folder" >"$folder/gnuplot"
chmod +x "$folder/gnuplot"
PATH="$folder:$PATH" "$1" --plot "$folder/loss.svg" >"$folder/log" 2>&1 || { cat "$folder/log"; exit 1; }
grep -q "term svg; set output '$folder/loss.svg'" "$folder/script"
[ "$(wc -l <"$folder/script")" = 101 ] || { echo 'the curve does not have 100 points'; exit 1; }
if PATH=/nowhere "$1" --plot "$folder/loss.svg" >"$folder/log" 2>&1; then
	echo 'a curve was drawn without gnuplot'
	exit 1
fi
grep -q 'gnuplot failed' "$folder/log"
