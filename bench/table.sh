#!/bin/sh
# SPDX-License-Identifier: MIT
#
# usage: bench/table.sh FILE...      the results as tables, in Markdown
#        bench/table.sh -w PAGE      replace the tables of PAGE
#        bench/table.sh -c PAGE      fail if PAGE does not have what -w would write
#
# A FILE has the lines that bench/run.sh writes.  One file becomes all its tables: kernels
# (bench_cpu) are a row each, and the lines that `labels` names below are the second table.  A value
# that misses its goal, or is slower than width 1 or PoCL, is in bold.  The rows of bench_peers are
# a table, too.  Several files become one short table, `summary` below: what else does the same, its
# time, and ours.
#
# In a page, a table begins at <!-- bench/table.sh FILE... --> and ends at <!-- end -->.

set -eu

# table FOLDER FILE...: FOLDER is what a link from the page to FILE begins with.
table() {
	up=$1
	shift
	for file; do
		[ -e "$file" ] || return 0
	done
	awk -v up="$up" '
	# The rows of the second table: case, what, and the text of the row.
	BEGIN {
		labels = split( \
			"cold cpu|process start to result|from process start to the result of the " \
				"README\047s program, CPU device, nothing cached\n" \
			"cold cpu|kz_device_open|... of these: opening the device\n" \
			"cold cpu|kz_module_compile|... loading NVRTC and compiling\n" \
			"cold cpu|kz_module_kernel|... loading LLVM, PTX to machine code\n" \
			"warm cpu|process start to result|the same process, started again\n" \
			"latency|kz_launch, sync|a kernel that does nothing, launched and waited for, " \
				"CPU device\n" \
			"latency|kz_launch of six arguments, sync|... with six arguments\n" \
			"latency|cuLaunchKernel, sync|... by the driver itself\n" \
			"latency|cuLaunchKernel, 4096 blocks, sync|... of 4096 blocks\n" \
			"latency|cuGraphLaunch of 100, sync|... a graph of 100 of them\n" \
			"latency|kz_apply, 16 floats|an operation on 16 floats, to a new array\n" \
			"array: 2 * a to a new array, float32, 16|kudzu|`2*a` on 16 floats, CPU " \
				"device: new array, launch, result, release\n" \
			"launch|kudzu - bare|a checked launch of six arguments, beyond the bare driver " \
				"call, on a driver that does nothing\n" \
			"pool|alloc+free|a buffer created and released, its size in the pool\n" \
			"modules 10000 loaded|ratio of a launch|a launch among 10,000 kernels, " \
				"over one among few\n" \
			"modules 1000, new|load, one kernel ready|a module of 1000 kernels that is new: loaded, " \
				"one kernel ready\n" \
			"modules 1000, next process|image: load, one kernel ready|... that another " \
				"process has loaded, its image\n" \
			"modules 1000, next process|source: load, one kernel ready|... that another " \
				"process has compiled, its source\n" \
			"compile saxpy|kudzu/bare|a compile, over bare `nvrtcCompileProgram` with the " \
				"same options: saxpy\n" \
			"compile fp16|kudzu/bare|... with `cuda_fp16.h`\n" \
			"over nvcc: saxpy|kudzu/nvcc|a new process that compiles, over nvcc: saxpy\n" \
			"over nvcc: saxpy with cuda_fp16.h|kudzu/nvcc|... with `cuda_fp16.h`\n" \
			"hits: no header|disk|a source of 8 KB that was compiled before, in another " \
				"process: its image from disk\n" \
			"hits: cuda_fp16.h|disk|... with `cuda_fp16.h`\n" \
			"hits: no header|disk/compile|a source that was compiled before, in another " \
				"process: its image from disk, over a compile\n" \
			"hits: cuda_fp16.h|disk/compile|... with `cuda_fp16.h`\n" \
			"hits: cub/block/block_reduce.cuh|disk/compile|... with a CUB block header\n" \
			"hits: cuda_fp16.h|disk/preprocess|... with `cuda_fp16.h`, over the " \
				"`nvcc --preprocess` that PyCUDA does\n" \
			"warm up: 8 sources, 2 processes|processes/one after the other|eight kernels " \
				"with `cooperative_groups.h`: two processes of `kz_warm_up` over one " \
				"after the other", label, "\n")
		# The rows of the summary: what is done, what else does it, and the case and the two
		# names of its times in the results.
		summary_rows = split( \
			"compile a new kernel and run it|PyCUDA|peers: a new source|PyCUDA|kudzu\n" \
			"run it again, in the next process|PyCUDA|peers: a source again, next process" \
				"|PyCUDA|kudzu\n" \
			"launch a kernel with six arguments|PyCUDA|peers: launch of 6 arguments" \
				"|PyCUDA|kudzu\n" \
			"the same on a GPU|CuPy|launch|cupy|kudzu\n" \
			"compile a new kernel, on a GPU|CuPy|compile saxpy|cupy|kudzu\n" \
			"`2 * a` of 16 floats, to a new array|CuPy" \
				"|array: 2 * a to a new array, float32, 16|cupy|kudzu\n" \
			"`a + b` of 64 Mi floats|CuPy|array: a + b, float32, 67108864|cupy|kudzu\n" \
			"`a + b` of 16 Mi floats|numpy|array: a + b, float32, 16777216|numpy|kudzu\n" \
			"a kernel that adds vectors of 16 Mi floats|a loop in C|cpu: vecadd 16Mi" \
				"|gcc|kudzu\n" \
			"a tiled product of 512 x 512 matrices|a loop in C|cpu: matmul 512|gcc|kudzu\n" \
			"an inclusive scan of 1 Mi integers, the slowest kernel|a loop in C" \
				"|cpu: inclusive scan 1Mi|gcc|kudzu", summary, "\n")
	}
	FNR == 1 {
		file[++files] = FILENAME
		kind = "cpu"
	}
	# The same where there is a GPU.
	value("case") == "machine" && value("gpu") != "" {
		kind = "gpu"
		device[kind] = value("gpu")
		machine = machine ", " value("gpu") ", driver " value("driver")
		labels = split( \
			"cold cuda|process start to result|from process start to the result of the " \
				"README\047s program, nothing cached\n" \
			"cold cuda|kz_device_open|... of these: the driver, and a context\n" \
			"warm cuda|process start to result|the same process, started again\n" \
			"launch|kudzu|a checked launch of six arguments, without waiting for it\n" \
			"launch|kudzu/bare|... over bare `cuLaunchKernel`\n" \
			"launch|cupy|... by CuPy\047s `RawKernel`\n" \
			"array: a + b, float32, 16|kudzu|`a + b` on 16 floats, without waiting for it\n" \
			"array: a + b, float32, 16|kudzu/kz_launch|... over a launch\n" \
			"array: a + b, float32, 16|cupy|... by CuPy\n" \
			"array: 2 * a to a new array, float32, 16|kudzu|`2 * a` on 16 floats: new array, " \
				"launch, release\n" \
			"array: 2 * a to a new array, float32, 16|kudzu/kz_launch|... over a launch\n" \
			"array: 2 * a to a new array, float32, 16|cupy|... by CuPy\n" \
			"array: sum(a) to the host, float32, 16|kudzu|the sum of 16 floats, in the host\n" \
			"array: sum(a) to the host, float32, 16|kudzu/kz_launch|... over a launch whose " \
				"result is copied to the host\n" \
			"array: sum(a) to the host, float32, 16|cupy|... by CuPy\n" \
			"array: sum(a) and a copy to the host, float32, 16|kudzu/kz_launch|... with " \
				"`kz_sum` and `kz_array_get`, over the same\n" \
			"pool|alloc+free, 1 thread|an array of the pool, created and released\n" \
			"pool|cupy|... by CuPy\n" \
			"compile saxpy|kudzu|a new kernel, compiled\n" \
			"compile saxpy|kudzu/bare|... over bare `nvrtcCompileProgram` with the same options\n" \
			"compile saxpy|cupy|... and loaded by CuPy\n" \
			"modules 1000, new|ratio|loading a module of 1000 kernels and making one ready, " \
				"over a module of one\n" \
			"modules 1000, the driver alone|ratio|... by the driver alone\n" \
			"modules 10000 loaded|ratio of a launch|a launch among 10,000 kernels, over one " \
				"among few", label, "\n")
	}
	# A value of a line; these objects are flat, and no string has a quote in it.
	function value(key, found) {
		if (!match($0, "\"" key "\":(\"[^\"]*\"|[^,}]*)")) {
			return ""
		}
		found = substr($0, RSTART + length(key) + 3, RLENGTH - length(key) - 3)
		gsub("\"", "", found)
		return found
	}
	# Three digits, as people read them.
	function short(x) {
		if (x == "") {
			return "-"
		}
		x += 0
		return x < 0.02 && x > 0 ? sprintf("1/%.0f", 1 / x) : x >= 100 ? sprintf("%.0f", x) \
			: x >= 10 ? sprintf("%.1f", x) : x >= 0.1 ? sprintf("%.2f", x) : sprintf("%.3f", x)
	}
	# With its goal, and in bold what misses it; `sign` is 1 where less is better.
	function against(x, goal, sign) {
		if (x == "" || goal + 0 == 0) {
			return short(x)
		}
		if (sign * x <= sign * goal) {
			return short(x) " (" goal ")"
		}
		return "**" short(x) "** (" goal ")"
	}
	# In bold where the other one is faster.
	function beside(x) {
		return x + 0 >= 1.005 ? "**" short(x) "**" : short(x)
	}
	# What two threads are worth, beside two processes that share nothing.
	function scaling(name, twin) {
		twin = got[name, "two processes of gcc, over one"]
		return against(got[name, "one thread/two"], scale[name], -1) \
			(twin != "" ? ", two processes " short(twin) : "")
	}
	function share_goal(name) {
		return name ~ /^transpose/ ? 0.85 : name ~ /^(scan|cumsum)/ ? "" \
			: name ~ /^(sum|max|min|dot|arg|mean|var|norm|any|all|count)/ ? 0.9 : 0.92
	}
	# A time with its unit.
	function amount(number, unit) {
		if (unit == "us" && number + 0 >= 10000) {
			number /= 1000
			unit = "ms"
		}
		return short(number) (unit ~ /s$/ ? " " unit : "")
	}
	function limit(name, memory, vector, best) {
		memory = got[name, "share of memory\047s bandwidth"]
		vector = got[name, "share of the vector units"]
		if (memory == "" || vector == "") {
			return "-"
		}
		best = memory + 0 > vector + 0 ? memory : vector
		return sprintf("%s%s, %.0f %%", best < 0.1 ? "neither: " : "",
			best == memory ? "memory" : "vector units", 100 * best)
	}
	value("case") == "machine" && value("threads") != "" {
		threads = value("threads")
	}
	value("case") == "machine" && value("date") != "" {
		processor = value("cpu")
		if (value("family") != "") {
			processor = processor " (family " value("family") ", model " value("model") ")"
		}
		machine = "[" value("date") "](" up FILENAME "), " processor ", " value("cores") " cores"
		other = ""
		for (i = split("gcc GCC llvm LLVM pocl PoCL", parts) - 1; i > 0; i -= 2) {
			if (value(parts[i]) != "") {
				other = ", " parts[i + 1] " " value(parts[i]) other
			}
		}
	}
	value("case") ~ /^array: / && value("what") == "kudzu/gcc" {
		if (!(threads in arrays)) {
			counts[++groups] = threads
		}
		array[threads, ++arrays[threads]] = value("median") + 0
	}
	# On a GPU: a row for each operation, with the largest of these sizes that all were measured
	# at.
	value("case") ~ /^array: .*, 67108864$/ {
		name = substr(value("case"), 8)
		sub(/, 67108864$/, "", name)
		what = value("what")
		if (what ~ /^share of a copy/) {
			operations[++operation_count] = name
			gpu[name, "share"] = value("median")
		} else {
			gpu[name, what ~ /^cupy/ ? "cupy" : what] = value("median")
			cupy = what ~ /^cupy/ ? "CuPy " substr(what, 6) : cupy
		}
	}
	# What bench/cupy_python.py does beside CuPy.
	value("case") ~ /, GPU$/ {
		name = substr(value("case"), 1, length(value("case")) - 5)
		what = value("what")
		if (what == "kudzu") {
			besides[++beside_count] = name
		} else {
			cupy = "CuPy " substr(what, 17)
		}
		gpu[name, what == "kudzu" ? "ms" : "ratio"] = value("median")
	}
	value("case") ~ /^cpu: / {
		name = substr(value("case"), 6)
		if (!(name in known)) {
			known[name] = 1
			names[++count] = name
		}
		if (value("what") == "goal") {
			goal[name] = value("kudzu/gcc")
			scale[name] = value("one thread/two")
		} else {
			got[name, value("what")] = value("median")
		}
	}
	# Calls of a library beside the same by us: a row for each case.
	value("case") ~ /, / && value("what") ~ /^bare/ && value("unit") == "us" {
		name = value("case")
		if (!(name in of_library)) {
			libraries[++library_count] = name
		}
		of_library[name] = amount(value("median"), "us")
	}
	value("what") ~ /^(kudzu\/bare|kz_fft over bare cuFFT)$/ {
		over_library[value("case")] = value("median")
	}
	value("what") == "our kernels over cuFFT" {
		own_library[value("case")] = value("median")
	}
	# Of bench_peers: a row for each case, a column for each peer.
	value("case") == "peers" {
		absent = absent (absent == "" ? "" : "; ") value("what") ": " value("note")
	}
	value("case") ~ /^peers: / {
		name = substr(value("case"), 8)
		what = value("what")
		if (what == "kudzu") {
			beside_peers[++peer_rows] = name
		} else if (sub(/^kudzu\//, "", what)) {
			over_peer[name, what] = short(value("median"))
			if (value("low") + 0 > 1) { # 95 % sure
				over_peer[name, what] = "**" over_peer[name, what] "**"
			}
		} else if (!(what in peer_known)) {
			peer_known[what] = 1
			peer_names[++peer_count] = what
		}
		peer_time[name, what] = value("unit") == "ratio" ? peer_time[name, what] \
			: amount(value("median"), value("unit"))
	}
	# The first time of each case and name, the version left out, in microseconds, and its
	# device.
	value("median") != "" && value("unit") ~ /^[mun]s$/ {
		what = value("what")
		sub(/ [0-9][0-9.]*(, .*)?$/, "", what)
		key = FILENAME SUBSEP value("case") SUBSEP what
		if (!(key in times)) {
			times[key] = value("median") \
				* (value("unit") == "ms" ? 1000 : value("unit") == "ns" ? 0.001 : 1)
			where[key] = kind == "gpu" ? device[kind] : "CPU device, " processor
			gsub(/\(R\)| Processor| \([^)]*\)$/, "", where[key])
		}
	}
	{
		what = value("what")
		key = value("case") "|" (what ~ /^cupy/ ? "cupy" : what)
		number = value("median") == "" ? value("value") : value("median")
		if (!((kind, key) in one) && number != "") {
			one[kind, key] = amount(number, value("unit"))
		}
	}
	# Sort list[1..n] and return its median.
	function median(list, n, i, k, x) {
		for (i = 2; i <= n; i++) {
			x = list[i]
			for (k = i - 1; k > 0 && list[k] > x; k--) {
				list[k + 1] = list[k]
			}
			list[k + 1] = x
		}
		return n ? (list[int((n + 1) / 2)] + list[int(n / 2) + 1]) / 2 : ""
	}
	# The cases of one number of threads, in order, as a line.
	function array_row(t, n, i, list, middle, within) {
		n = arrays[t]
		for (i = 1; i <= n; i++) {
			list[i] = array[t, i]
			within += list[i] <= 1.25
		}
		middle = median(list, n)
		return "| " n " array operations and reductions on the CPU device, over gcc -O3, " t \
			" thread" (t == 1 ? "" : "s") " | " short(list[1]) " to " short(list[n]) \
			", median " short(middle) "; " within " cases at most 1.25 |\n"
	}
	function print_libraries(i, name) {
		print "| beside NVIDIA\047s library | the bare call | Kudzu\047s, over it | our kernels, over it |\n" \
			"|---|---|---|---|"
		for (i = 1; i <= library_count; i++) {
			name = libraries[i]
			print "| " name " | " of_library[name] " | " short(over_library[name]) " | " \
				short(own_library[name]) " |"
		}
	}
	function print_peers(i, k, head, line, name, peer) {
		for (k = 1; k <= peer_count; k++) {
			head = head " over " peer_names[k] " |"
			line = line "---|"
		}
		print "| | Kudzu |" head "\n|---|---|" line
		for (i = 1; i <= peer_rows; i++) {
			name = beside_peers[i]
			line = "| " name " | " peer_time[name, "kudzu"] " |"
			for (k = 1; k <= peer_count; k++) {
				peer = peer_names[k]
				line = line " " ((name, peer) in over_peer \
					? over_peer[name, peer] " (" peer_time[name, peer] ")" : "-") " |"
			}
			print line
		}
		if (absent != "") {
			print "\n" absent "."
		}
	}
	# A time for people: with three digits, in the unit that suits it.
	function readable(us) {
		return us >= 1000 ? short(us / 1000) " ms" : short(us) " us"
	}
	# Each row is from the first file that has both times, so that one machine measured them.
	function print_summary(i, f, parts, theirs, ours) {
		print "| what you do | on | what you would use instead | its time | Kudzu |\n|---|---|---|---|---|"
		for (i = 1; i <= summary_rows; i++) {
			split(summary[i], parts, "|")
			for (f = 1; f <= files; f++) {
				theirs = file[f] SUBSEP parts[3] SUBSEP parts[4]
				ours = file[f] SUBSEP parts[3] SUBSEP parts[5]
				if (theirs in times && ours in times) {
					print "| " parts[1] " | " where[ours] " | " parts[2] " | " \
						readable(times[theirs]) " | " readable(times[ours]) " |"
					break
				}
			}
		}
	}
	END {
		if (files > 1) {
			print_summary()
			exit
		}
		if (machine != "") {
			print machine (operation_count ? "" : other) "; medians" (count ? ", of ratios less is better but for how " \
				"much faster two threads are" : "") ".\n"
		}
		if (count) {
			print "| kernel, one thread | us | over gcc -O3 (goal) | over width 1 | over PoCL |" \
				" with AVX2, over gcc | two threads, over gcc | two threads faster by | nearest limit |"
			print "|---|---|---|---|---|---|---|---|---|"
		}
		for (i = 1; i <= count; i++) {
			n = names[i]
			printf "| %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", n,
				short(got[n, "kudzu"]), against(got[n, "kudzu/gcc"], goal[n], 1),
				beside(got[n, "kudzu/w1"]), beside(got[n, "kudzu/pocl"]),
				short(got[n, "kudzu-avx2/gcc-avx2"]), short(got[n, "kudzu-2/gcc-2"]),
				scaling(n), limit(n)
		}
		if (operation_count) {
			print "| 64 Mi elements | us | share of the bandwidth of a copy (goal) | " cupy ", us | " \
				"over CuPy |\n|---|---|---|---|---|"
		}
		for (i = 1; i <= operation_count; i++) {
			n = operations[i]
			peer = gpu[n, "cupy"]
			printf "| %s | %s | %s | %s | %s |\n", n, short(gpu[n, "kudzu"]), \
				against(gpu[n, "share"], share_goal(n), -1), short(peer), \
				peer == "" ? "-" : beside(gpu[n, "kudzu"] / peer)
		}
		if (beside_count) {
			print (count || operation_count ? "\n" : "") "| 16 Mi elements | ms | over " cupy " |\n|---|---|---|"
		}
		for (i = 1; i <= beside_count; i++) {
			n = besides[i]
			printf "| %s | %s | %s |\n", n, short(gpu[n, "ms"]), \
				gpu[n, "ratio"] == "" ? "-" : beside(gpu[n, "ratio"])
		}
		if (library_count) {
			printf "%s", count || operation_count ? "\n" : ""
			print_libraries()
		}
		if (peer_rows) {
			printf "%s", count || operation_count ? "\n" : ""
			print_peers()
		}
		for (i = 1; i <= labels; i++) {
			split(label[i], parts, "|")
			if (one[kind, parts[1] "|" parts[2]] != "") {
				rows = rows "| " parts[3] " | " one[kind, parts[1] "|" parts[2]] " |\n"
			}
		}
		for (i = 1; i <= groups; i++) {
			rows = rows array_row(counts[i])
		}
		if (rows != "") {
			printf "%s| | |\n|---|---|\n%s", count || operation_count || peer_rows ? "\n" : "", rows
		}
	}' "$@"
}

# The page with its tables as they should be.
page() {
	inside=
	up=
	case $1 in
	docs/*) up=../ ;;
	esac
	while IFS= read -r line; do
		case $line in
		'<!-- bench/table.sh '*' -->')
			files=${line#'<!-- bench/table.sh '}
			printf '%s\n' "$line"
			# shellcheck disable=SC2086 # a list
			table "$up" ${files%' -->'}
			inside=1
			;;
		'<!-- end -->')
			inside=
			;;
		esac
		[ -n "$inside" ] || printf '%s\n' "$line"
	done <"$1"
}

cd "$(dirname "$0")/.."
case $1 in
-w)
	page "$2" >"$2.new"
	mv "$2.new" "$2"
	;;
-c)
	page "$2" | diff -u "$2" - || { echo "$2: run bench/table.sh -w $2" >&2; exit 1; }
	;;
*)
	table '' "$@"
	;;
esac
