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
tests/samples/check_losses.sh "$folder/printed"
"$1" --plot "$folder/loss.svg" >"$folder/log" 2>&1 || { cat "$folder/log"; exit 1; }
tests/samples/check_picture.sh "$folder/loss.svg" 100
if "$1" --plot /nowhere/loss.svg >"$folder/log" 2>&1; then
	echo 'a picture was drawn into a folder that is not there'
	exit 1
fi
grep -q '^/nowhere/loss.svg: ' "$folder/log"
