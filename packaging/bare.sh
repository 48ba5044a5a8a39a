# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154 # root
#
# For scripts: a bare Debian in the folder $root, which is removed when the script ends (KEEP=1 keeps
# it).  Needs root, debootstrap, permission to mount, and the network.  $root belongs in /var/tmp:
# debootstrap refuses a folder that is mounted noexec or nodev, as /tmp may be.

chmod 755 "$root"

bare_remove() {
	umount "$root/proc" "$root/dev/shm" "$root/dev/pts" 2>/dev/null || true
	rm -f "$root.log"
	if [ -n "${KEEP:-}" ]; then
		echo "kept: $root"
	else
		rm -rf --one-file-system "$root"
	fi
}
trap bare_remove EXIT
trap 'exit 1' HUP INT TERM

# bare_settings: what a proxy needs in the environment, one a line.
bare_settings() {
	env | sed -n 's/^\([A-Za-z]*_proxy\|[A-Z]*_PROXY\|PIP_[A-Z_]*\)=.*/&/p'
}

# within COMMAND: run it there, with little else in the environment.
within() {
	# shellcheck disable=SC2046 # one word per setting
	chroot "$root" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive \
		$(bare_settings) sh -ec "$1" </dev/null
}

# Try it, since root in a container may not.
bare_can_mount() {
	mkdir "$root/proc"
	mount -t proc proc "$root/proc" 2>/dev/null && umount "$root/proc"
}

# bare_make SUITE PACKAGES: or set `why` to the reason why it cannot be made.  With what the kernel has, as
# the machine would boot; the network's settings; Debian's own list of sources when this machine has
# one; and the certificates where a proxy needs its own.
bare_make() {
	PATH=$PATH:/usr/sbin:/sbin
	why=
	if [ "$(id -u)" != 0 ]; then
		why='not root'
	elif ! command -v debootstrap >/dev/null; then
		why='no debootstrap; make setup-dev installs it'
	elif ! bare_can_mount; then
		why='mounting is not permitted'
	elif ! debootstrap --variant=minbase --include="$2" "$1" "$root" >"$root.log" 2>&1; then
		why="debootstrap failed: $(tail -n 1 "$root.log")"
		if grep -q '^E: Failed getting release file\|^E: Couldn.t download' "$root.log"; then
			why="there is no network, or Debian's archive cannot be reached from here ($why)"
		fi
	fi
	[ -z "$why" ] || return 1
	mkdir -p "$root/dev/shm" "$root/dev/pts" "$root/usr/local/share/ca-certificates"
	mount -t proc proc "$root/proc"
	mount -t tmpfs tmpfs "$root/dev/shm"
	mount -t devpts -o newinstance,ptmxmode=666 devpts "$root/dev/pts"
	cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
	sources=/etc/apt/sources.list.d/debian.sources
	# Unstable has no updates of its own, and debootstrap's list is whole.
	if [ -e $sources ] && [ "$1" != sid ]; then
		# Its suites are those of this machine.
		sed "s/\\b$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)\\b/$1/g" $sources >"$root$sources"
		rm -f "$root/etc/apt/sources.list"
	fi
	[ ! -e /etc/pip.conf ] || cp /etc/pip.conf "$root/etc/"
	cp -r /usr/local/share/ca-certificates/. "$root/usr/local/share/ca-certificates/"
}
