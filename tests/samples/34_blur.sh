#!/bin/sh
# SPDX-License-Identifier: MIT
#
# usage: tests/samples/34_blur.sh PROGRAM
#
# With a radius of 0 a picture stays as it is, and one of one color stays so with any: Python writes
# and reads the files.  What is not a whole PNG gets an error that names the file.

set -eu
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT

# refuse TEXT ARGUMENT...: the program fails and says so.
refuse() {
	text=$1
	shift
	if "$@" 2>"$folder/said"; then
		echo "accepted: $*"
		exit 1
	fi
	grep -q -- "$text" "$folder/said" || { cat "$folder/said"; exit 1; }
}

echo 'no picture' >"$folder/text"
: >"$folder/empty"
refuse 'text: cannot be read as a PNG: Not a PNG file' "$1" "$folder/text" "$folder/out.png"
refuse 'empty: cannot be read as a PNG: ' "$1" "$folder/empty" "$folder/out.png"
refuse 'nowhere: cannot be read as a PNG: No such file' "$1" "$folder/nowhere" "$folder/out.png"
refuse '^usage: ' "$1" "$folder/text"
refuse '^usage: ' "$1" "$folder/text" "$folder/out.png" -1
[ ! -e "$folder/out.png" ]

if ! command -v python3 >/dev/null; then
	echo '34_blur: no python3 here, so no picture was blurred'
	exit 0
fi
cat >"$folder/png.py" <<'END'
import struct, subprocess, sys, zlib

def chunk(name, data):
    body = name + data
    return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

def write(path, rows):
    head = struct.pack(">IIBBBBB", len(rows[0]) // 3, len(rows), 8, 2, 0, 0, 0)
    data = zlib.compress(b"".join(b"\0" + row for row in rows))
    with open(path, "wb") as f:
        f.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", data) + chunk(b"IEND", b""))

def paeth(a, b, c):
    return min((abs(b - c), 0, a), (abs(a - c), 1, b), (abs(a + b - 2 * c), 2, c))[2]

def read(path):
    text, at, data = open(path, "rb").read(), 8, b""
    while at < len(text):
        size, name = struct.unpack(">I4s", text[at:at + 8])
        body = text[at + 8:at + 8 + size]
        if name == b"IHDR":
            width, height, depth, color = struct.unpack(">IIBB", body[:10])
            assert (depth, color) == (8, 2)
        data += body if name == b"IDAT" else b""
        at += size + 12
    data, rows, last = zlib.decompress(data), [], bytes(3 * width)
    for y in range(height):
        line = data[y * (3 * width + 1):(y + 1) * (3 * width + 1)]
        row = bytearray()
        for x, byte in enumerate(line[1:]):
            a, b, c = (row[x - 3], last[x], last[x - 3]) if x >= 3 else (0, last[x], 0)
            row.append((byte + (0, a, b, (a + b) // 2, paeth(a, b, c))[line[0]]) % 256)
        rows.append(bytes(row))
        last = row
    return rows

program, folder = sys.argv[1:]
pictures = {
    0: [bytes((x * y + 7 * x) % 256 for x in range(3 * 21)) for y in range(13)],
    5: [bytes((200, 31, 7) * 40) for y in range(30)],
}
for radius, rows in pictures.items():
    write(folder + "/in.png", rows)
    subprocess.run([program, folder + "/in.png", folder + "/out.png", str(radius)], check=True)
    assert read(folder + "/out.png") == rows, radius

# A single white pixel becomes a hill with the same sum, the highest in its middle.
black = [bytes(3 * 15)] * 15
write(folder + "/in.png", black[:7] + [bytes(21) + b"\xff" * 3 + bytes(21)] + black[8:])
subprocess.run([program, folder + "/in.png", folder + "/out.png", "4"], check=True)
hill = [row[::3] for row in read(folder + "/out.png")]
assert max(map(max, hill)) == hill[7][7] < 30 and 240 < sum(map(sum, hill)) < 270, hill
assert hill == hill[::-1] == [row[::-1] for row in hill], hill
END
python3 "$folder/png.py" "$1" "$folder"
