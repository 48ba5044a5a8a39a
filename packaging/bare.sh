# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154 # root
#
# For scripts of this folder: a bare Debian in the folder $root, which is removed when the script ends.
# Needs root, debootstrap, permission to mount, and the network.  $root belongs in /var/tmp: debootstrap
# refuses a folder that is mounted noexec or nodev, as /tmp may be.

chmod 755 "$root"

bare_remove() {
	umount "$root/proc" 2>/dev/null || true
	rm -rf --one-file-system "$root" "$root.log"
}
trap bare_remove EXIT

# within COMMAND: run it there, with little in the environment but what a proxy needs.
within() {
	# shellcheck disable=SC2046 # one word per setting
	chroot "$root" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive \
		$(env | sed -n 's/^\([A-Za-z]*_proxy\|[A-Z]*_PROXY\|PIP_[A-Z_]*\)=.*/&/p') sh -ec "$1"
}

# bare_make SUITE PACKAGES: with the network's settings, and certificates where a proxy needs its own.
bare_make() {
	[ "$(id -u)" = 0 ] || { echo 'a bare Debian needs root' >&2; return 1; }
	debootstrap --variant=minbase --include="$2,ca-certificates" "$1" "$root" >"$root.log" 2>&1 || {
		echo "no bare $1: $(tail -n 3 "$root.log")" >&2
		return 1
	}
	cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
	[ ! -e /etc/pip.conf ] || cp /etc/pip.conf "$root/etc/"
	cp -r /usr/local/share/ca-certificates "$root/usr/local/share/"
	rm -f "$root/etc/apt/sources.list"
	cp /etc/apt/sources.list.d/debian.sources "$root/etc/apt/sources.list.d/" 2>/dev/null ||
		cp /etc/apt/sources.list "$root/etc/apt/"
	mount -t proc proc "$root/proc"
	within 'update-ca-certificates && apt-get update' >/dev/null 2>&1
}
