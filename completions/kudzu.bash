# SPDX-License-Identifier: MIT
#
# Completion of `kudzu` for bash: commands, their options, and the files that they take.

_kudzu_words() {
	case $1 in
	'') echo 'bench cache compile cpu debug doctor dump explain help info new profile run --help --version --cflags --libs' ;;
	bench) echo '-k --kernel --size --grid --block --try --repeat --bytes --shared --json --device -I -D -a --arch --std --help' ;;
	cache) echo 'list stats clear why --help' ;;
	'cache why') echo '-I -D -a --arch --std --name --help' ;;
	'cache '*) ;;
	cpu) echo '--devices --check --report --help' ;;
	debug) echo '-x --batch --script --help' ;;
	compile) echo '-o --output -a --arch -I -D --std -j --jobs --help' ;;
	doctor) echo '--json --help' ;;
	dump) echo '--stage -k --kernel -I -D -a --arch --std --help' ;;
	info) echo 'cpu cuda cuda:0 cuda:1 --help' ;;
	help) echo 'bench cache compile cpu debug doctor dump explain help info new profile run' ;;
	profile) echo '-o --output --help' ;;
	run) echo '-k --kernel --grid --block --shared --cooperative --out --plot --time --schedules --watch --device --check --report --profile -I -D -a --arch --std --help' ;;
	*) echo '--help' ;;
	esac
}

# The kernels of the files among the words, or of all sources here, as far as their text shows them.
_kudzu_kernels() {
	local file files=()
	for file; do
		[ -f "$file" ] && files+=("$file")
	done
	[ "${#files[@]}" -gt 0 ] || files=(*.cu *.ptx)
	cat -- "${files[@]}" 2>/dev/null | tr -s '\n\t' '  ' | sed 's/__launch_bounds__ *([^)]*)//g' |
		grep -aoE '__global__ [^(;]*\(|\.entry +[A-Za-z0-9_$]+' | sed 's/ *($//; s/.*[ *]//' | sort -u
}

# What may follow an option; false if it takes no value, or a file.
_kudzu_values() {
	case $1 in
	--stage) echo 'ptx llvm asm' ;;
	--device) echo 'cpu cuda cuda:0 cuda:1' ;;
	--std) echo 'c++11 c++14 c++17 c++20' ;;
	-a | --arch) echo 'sm_75 sm_80 sm_86 sm_89 sm_90 sm_100 sm_120 compute_75 compute_90 lto_75 lto_90' ;;
	-k | --kernel) _kudzu_kernels "${COMP_WORDS[@]:2}" ;;
	-D | -j | --jobs | --grid | --block | --shared | --time | --name | --size | --try | --repeat | --bytes) ;; # up to the user
	*) return 1 ;;
	esac
}

_kudzu() {
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command='' values
	[ "$COMP_CWORD" -gt 1 ] && command=${COMP_WORDS[1]}
	[ "$command" = cache ] && [ "$COMP_CWORD" -gt 2 ] && command="cache ${COMP_WORDS[2]}"
	COMPREPLY=()
	if [ "$command" = cpu ] && [ "${word:0:2}" = -- ] && [ "$COMP_CWORD" = 2 ]; then
		mapfile -t COMPREPLY < <(compgen -W "$(_kudzu_words cpu)" -- "$word")
	elif [ "$command" = cpu ] && [ "$COMP_CWORD" -gt 2 ] && [ "$before" != -- ]; then
		mapfile -t COMPREPLY < <(compgen -f -- "$word")
	elif [ "$command" = cpu ] && [ "$word" != - ]; then
		mapfile -t COMPREPLY < <(compgen -c -- "$word")
	elif values=$(_kudzu_values "$before"); then
		mapfile -t COMPREPLY < <(compgen -W "$values" -- "$word")
	elif [ "$before" = -I ]; then
		mapfile -t COMPREPLY < <(compgen -d -- "$word")
	elif [ "${word:0:1}" = @ ]; then
		mapfile -t COMPREPLY < <(compgen -f -P @ -- "${word:1}")
	else
		mapfile -t COMPREPLY < <(compgen -W "$(_kudzu_words "$command")" -- "$word")
		case $command in
		'cache why' | bench | compile | dump | run)
			[ "${word:0:1}" = - ] || mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY \
				< <(compgen -f -- "$word")
			;;
		esac
	fi
}

complete -o filenames -F _kudzu kudzu
