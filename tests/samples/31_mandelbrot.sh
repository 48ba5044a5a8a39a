#!/bin/sh
# SPDX-License-Identifier: MIT
#
# usage: tests/samples/31_mandelbrot.sh PROGRAM
#
# Frames are PNG files of the size that was asked for, one for each step of the zoom; a folder that is
# not there and a size that cannot be are errors.

set -eu
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT

"$1" "$folder" 3 80 60 >"$folder/printed"
[ "$(cat "$folder/printed")" = '0 pixels of the first frame are not those of the host' ]
for frame in 000 001 002; do
	# The signature, and of the first chunk the length, the name, width and height.
	head=$(od -An -tx1 -N24 "$folder/frame-$frame.png" | tr -d ' \n')
	[ "$head" = 89504e470d0a1a0a0000000d49484452000000500000003c ] || {
		echo "frame $frame begins with $head"
		exit 1
	}
done
[ ! -e "$folder/frame-003.png" ]
if "$1" "$folder/nowhere" 1 8 8 >"$folder/printed" 2>"$folder/said"; then
	echo 'a folder that is not there was accepted'
	exit 1
fi
grep -q 'nowhere/frame-000.png: not written: No such file or directory' "$folder/said"
if "$1" "$folder" 1 0 8 2>"$folder/said"; then
	echo 'a width of 0 was accepted'
	exit 1
fi
grep -q '^usage: ' "$folder/said"
