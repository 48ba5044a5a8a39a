#!/bin/sh
# SPDX-License-Identifier: MIT
#
# usage: 14_integrate.sh PROGRAM
#
# The integrals are those of float64, but for the digits that float32 does not have; Simpson's rule
# is exact; and all times are printed.

set -e
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
"$1" >"$folder/printed" 2>"$folder/times"
awk '
	function check(got, expected, within) {
		if (got < expected - within || got > expected + within) {
			print "expected " expected ", got " got
			wrong = 1
		}
	}
	$1 == "trapz" { lines++; check($(NF - 1), 1.31759795, 1e-6); check(substr($NF, 2) + 0, 1.31759795, 1e-7) }
	$1 == "trapz2d" { lines++; check($(NF - 1), 1.85805198, 1e-5); check(substr($NF, 2) + 0, 1.85805198, 1e-6) }
	END { exit wrong || lines != 2 }' "$folder/printed" || { cat "$folder/printed"; exit 1; }
sed '/^trapz/d' "$folder/printed" | diff -u /dev/fd/3 - 3<<'END'
simps of 0 to 9: 40.5 (40.5)
simps of their cubes, avg: 1642.5
simps of their cubes, first: 1644.5
simps of their cubes, last: 1640.5
END
sed 's/: [0-9.e-]* s$//' "$folder/times" | diff -u /dev/fd/3 - 3<<'END'
Tiempo en paralelo
Tiempo en paralelo (the median of 100)
Tiempo secuencial
Tiempo en paralelo
Tiempo en paralelo (the median of 100)
Tiempo en secuencial
END
