#!/bin/sh
# SPDX-License-Identifier: MIT
#
# usage: 11_bundle.sh PROGRAM
#
# The bundle is written without a device, and runs without NVRTC and nvJitLink.

set -e
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
KUDZU_CUDA_DRIVER=/nowhere KUDZU_CPU_DRIVER=/nowhere "$1" write "$folder/saxpy.kzb"
result=$(KUDZU_NVRTC=/nowhere KUDZU_NVJITLINK=/nowhere KUDZU_CACHE=0 "$1" run "$folder/saxpy.kzb")
[ "$result" = "$(cat tests/samples/11_bundle.out)" ] || { echo "printed: $result"; exit 1; }
if KUDZU_NVRTC=/nowhere KUDZU_CACHE=0 "$1" write "$folder/other.kzb" 2>/dev/null; then
	echo 'a bundle was written without NVRTC'
	exit 1
fi
if "$1" run /nowhere/at/all 2>/dev/null; then
	echo 'a bundle that is not there ran'
	exit 1
fi
