# SPDX-License-Identifier: MIT
#
# Completion of `kudzu` for fish: commands, their options, and the files that they take.

# Arrays from files: @x.npy
function __kudzu_arrays
	set -l word (commandline -ct)
	string match -q '@*' -- $word; and string replace -r '^' @ -- (__fish_complete_path (string sub -s 2 -- $word))
end

# The kernels of the files among the words, or of all sources here, as far as their text shows them.
function __kudzu_kernels
	set -l words (commandline -opc)
	set -l files
	for word in $words[3..-1]
		test -f "$word"; and set -a files $word
	end
	set -q files[1]; or set files *.cu *.ptx
	set -q files[1]; or return
	cat -- $files 2>/dev/null | tr -s '\n\t' '  ' | sed 's/__launch_bounds__ *([^)]*)//g' | \
		grep -aoE '__global__ [^(;]*\(|\.entry +[A-Za-z0-9_$]+' | sed 's/ *($//; s/.*[ *]//' | sort -u
end

complete -c kudzu -n __fish_use_subcommand -f -a bench -d 'time a kernel over block sizes and macros'
complete -c kudzu -n __fish_use_subcommand -f -a cache -d 'inspect the cache of compiled kernels'
complete -c kudzu -n __fish_use_subcommand -f -a compile -d 'compile files ahead of time, or to PTX and cubins'
complete -c kudzu -n __fish_use_subcommand -f -a cpu -d 'run a program of the CUDA driver API on the CPU'
complete -c kudzu -n __fish_use_subcommand -f -a debug -d 'debug kernels with gdb'
complete -c kudzu -n __fish_use_subcommand -f -a doctor -d 'find out whether kernels can run here'
complete -c kudzu -n __fish_use_subcommand -f -a dump -d 'show the code that the CPU device makes of a kernel'
complete -c kudzu -n __fish_use_subcommand -f -a explain -d 'say what an error code means, and what to do about it'
complete -c kudzu -n __fish_use_subcommand -f -a help -d 'explain a command'
complete -c kudzu -n __fish_use_subcommand -f -a info -d 'print everything about the devices'
complete -c kudzu -n __fish_use_subcommand -f -a new -d 'make a small project that uses the library'
complete -c kudzu -n __fish_use_subcommand -f -a profile -d 'show where kernels spend their time'
complete -c kudzu -n '__fish_seen_subcommand_from profile' -s o -l output -r -d 'file to write'
complete -c kudzu -n __fish_use_subcommand -f -a run -d 'launch a kernel of a file'
complete -c kudzu -l help -d 'explain the command'
complete -c kudzu -n __fish_use_subcommand -l version -d 'print the version'
complete -c kudzu -n __fish_use_subcommand -l cflags -d 'print the flags to compile a program'
complete -c kudzu -n __fish_use_subcommand -l libs -d 'print the flags to link a program'

complete -c kudzu -n '__fish_seen_subcommand_from cache; and not __fish_seen_subcommand_from list stats clear why' -f -a 'list stats clear why'
complete -c kudzu -n '__fish_seen_subcommand_from cache; and __fish_seen_subcommand_from list stats clear' -f
complete -c kudzu -n '__fish_seen_subcommand_from cache; and __fish_seen_subcommand_from why' -l name -x -d 'name of the source'
complete -c kudzu -n '__fish_seen_subcommand_from cpu' -x -a '(__fish_complete_subcommand --fcs-skip=2)'
complete -c kudzu -n '__fish_seen_subcommand_from cpu run' -l report -r -d 'write what --check finds'
complete -c kudzu -n '__fish_seen_subcommand_from cpu' -l devices -x -d 'how many devices'
complete -c kudzu -n '__fish_seen_subcommand_from debug' -s x -r -d 'commands of gdb'
complete -c kudzu -n '__fish_seen_subcommand_from debug' -l batch -d 'gdb ends after the commands'
complete -c kudzu -n '__fish_seen_subcommand_from debug' -l script -d 'print the Python file that gdb reads'
complete -c kudzu -n '__fish_seen_subcommand_from doctor' -f -l json -d 'for programs'
complete -c kudzu -n '__fish_seen_subcommand_from help' -f -a 'bench cache compile cpu debug doctor dump explain help info new profile run'
complete -c kudzu -n '__fish_seen_subcommand_from info' -f -a 'cpu cuda cuda:0 cuda:1'
complete -c kudzu -n '__fish_seen_subcommand_from compile' -s o -l output -r -d 'write the image there'
complete -c kudzu -n '__fish_seen_subcommand_from compile' -s j -l jobs -x -d 'processes'
complete -c kudzu -n '__fish_seen_subcommand_from dump' -l stage -x -a 'ptx llvm asm' -d 'what to show'
complete -c kudzu -n '__fish_seen_subcommand_from bench dump run' -s k -l kernel -x -a '(__kudzu_kernels)' -d 'the kernel'
complete -c kudzu -n '__fish_seen_subcommand_from bench run' -a '(__kudzu_arrays)'
complete -c kudzu -n '__fish_seen_subcommand_from bench run' -l grid -x -d 'blocks'
complete -c kudzu -n '__fish_seen_subcommand_from bench run' -l block -x -d 'threads of a block'
complete -c kudzu -n '__fish_seen_subcommand_from bench run' -l shared -x -d 'bytes of dynamic shared memory'
complete -c kudzu -n '__fish_seen_subcommand_from bench' -l size -x -d 'elements'
complete -c kudzu -n '__fish_seen_subcommand_from bench' -l try -x -d 'texts of a macro to try: MACRO=TEXT,TEXT'
complete -c kudzu -n '__fish_seen_subcommand_from bench' -l repeat -x -d 'launches that are timed'
complete -c kudzu -n '__fish_seen_subcommand_from bench' -l bytes -x -d 'bytes that a launch reads and writes'
complete -c kudzu -n '__fish_seen_subcommand_from bench' -f -l json -d 'for programs'
complete -c kudzu -n '__fish_seen_subcommand_from run' -l cooperative -d 'run all blocks at once'
complete -c kudzu -n '__fish_seen_subcommand_from run' -l out -r -d 'save an array: PARAMETER=FILE'
complete -c kudzu -n '__fish_seen_subcommand_from run' -l plot -r -d 'draw an array: PARAMETER, or PARAMETER=FILE.png'
complete -c kudzu -n '__fish_seen_subcommand_from run' -l time -x -d 'time so many launches'
complete -c kudzu -n '__fish_seen_subcommand_from run' -l schedules -x -d 'run the threads in so many orders'
complete -c kudzu -n '__fish_seen_subcommand_from run' -l watch -d 'run again when the file changes'
complete -c kudzu -n '__fish_seen_subcommand_from bench run' -l device -x -a 'cpu cuda cuda:0 cuda:1' -d 'where to run'
complete -c kudzu -n '__fish_seen_subcommand_from run' -l profile -d 'print what each line took'
complete -c kudzu -n '__fish_seen_subcommand_from run' -l check -d 'find bugs of the kernel'
complete -c kudzu -n '__fish_seen_subcommand_from bench why compile dump run' -s I -r -d 'search a folder for headers'
complete -c kudzu -n '__fish_seen_subcommand_from bench why compile dump run' -s D -x -d 'define a macro'
complete -c kudzu -n '__fish_seen_subcommand_from bench why compile dump run' -s a -l arch -x -a 'sm_75 sm_80 sm_86 sm_89 sm_90 sm_100 sm_120 compute_75 compute_90 lto_75 lto_90' -d 'compile for an architecture'
complete -c kudzu -n '__fish_seen_subcommand_from bench why compile dump run' -l std -x -a 'c++11 c++14 c++17 c++20' -d 'language'
