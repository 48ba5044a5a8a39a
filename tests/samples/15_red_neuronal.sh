#!/bin/sh
# SPDX-License-Identifier: MIT
#
# usage: 15_red_neuronal.sh PROGRAM
#
# The corrected network learns, in one call as row by row; the literal one does not.  The last digits
# depend on the library that multiplies.  --plot draws the error of each iteration.

set -e
export KUDZU_CPU_THREADS=1 # two threads wait for each other where others want the processor, too
picture=$(mktemp)
trap 'rm "$picture"' EXIT
"$1" --plot "$picture" 2>/dev/null | awk '
	$1 == "iteration" { error = $4; lines++ }
	$1 == "right:" { right = $2; singly = $NF }
	END { exit !(lines == 7 && error < 2e-3 && right >= 145 && singly == right) }' || {
	echo 'corrected: expected 145 of 150 or more, and an error below 0.002'
	exit 1
}
tests/samples/check_picture.sh "$picture" 3000
"$1" --literal 2>/dev/null | awk '
	$1 == "iteration" { error = $4; lines++ }
	$1 == "right:" { right = $2 }
	END { exit !(lines == 7 && error > 1 && error < 7.1 && right <= 50) }' || {
	echo 'literal: expected an error above 1, and no more than 50 of 150'
	exit 1
}
