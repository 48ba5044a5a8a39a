# SPDX-License-Identifier: MIT
#
# For .ci/check-layers: reads .ci/cycles.txt, then facts,
#
#	file FILE                       there is a source FILE
#	include FILE LINE QUOTE NAME    FILE includes NAME, in " or <
#	defines FILE SYMBOL             the object of FILE defines a global symbol
#	needs FILE SYMBOL               and needs one
#	declares FILE SYMBOL            the public header FILE declares a function
#
# complains about what they should not be, and draws the picture.  `layers` is the table in
# make/lib.mk: words FOLDER:LIBRARY:LIBRARY... from the lowest layer up.

BEGIN {
	count = split(layers, words, " ")
	for (i = 1; i <= count; i++) {
		parts = split(words[i], part, ":")
		folder[i] = part[1]
		rank[part[1]] = i
		for (p = 2; p <= parts; p++) {
			# Both halves of the driver of the CPU device are one program.
			family[part[1], part[p] == "llvm" ? "cpu" : part[p]] = 1
			holds[part[1], part[p]] = 1
			libraries[part[p]] = 1
		}
	}
	split("assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp " \
		"signal stdalign stdarg stdatomic stdbool stddef stdint stdio stdlib stdnoreturn " \
		"string tgmath threads time uchar wchar wctype", names, " ")
	for (i in names) {
		standard[names[i] ".h"] = 1
	}
	allowed_files = 40
}

function complain(text) {
	print text
	failed = 1
}

# src/cpu/ptx/lex.c -> cpu/ptx; "" outside src and for src/lib/kudzu.c and ffi.c, which know all.
function folder_of(path) {
	if (path !~ /^src\/.*\// || path ~ /^src\/lib\/[^\/]*$/) {
		return ""
	}
	sub(/^src\//, "", path)
	sub(/\/[^\/]*$/, "", path)
	return path
}

function same_family(a, b,    library) {
	for (library in libraries) {
		if ((a, library) in family && (b, library) in family) {
			return 1
		}
	}
	return 0
}

function may_use(a, b) {
	return a == b || same_family(a, b) && rank[b] < rank[a]
}

# Headers that are not of src: what each part of the tree may include.
function may_include_public(file, name) {
	if (name ~ /^llvm/) {
		return file ~ /^src\/cpu\/codegen\//
	}
	if (name == "kudzu/error.h" || name == "kudzu/version.h") {
		return 1
	}
	if (name ~ /^kudzu\//) {
		return file ~ /^(include|samples|bench)\// || (folder_of(file), "command") in family \
			|| file ~ /^src\/lib\/[^\/]*$/ || rank[folder_of(file)] >= rank["lib/core"] && (folder_of(file), "kudzu") in family
	}
	if (name ~ /^(cu|nv)[a-z0-9_]*\.h$/) {
		return 0
	}
	# A name without a dot is a header of C++, for the C++ half of a public header.
	return file !~ /^include\// || name in standard || name !~ /\./
}

FILENAME == ".ci/cycles.txt" {
	if ($0 !~ /^#/ && NF) {
		reason = $0
		sub(/^[^:]*: */, "", reason)
		listed = $0
		sub(/ *:.*/, "", listed)
		entries = split(listed, files, " ")
		from = files[1]
		key = ""
		for (i = 2; i <= entries; i++) {
			key = key " " from "/" files[i]
			total++
		}
		cycle_line[key] = FNR
		if (reason == "" || reason == $0) {
			complain(FILENAME ":" FNR ": an entry says why: FOLDER FILE FILE...: reason")
		}
	}
	next
}

$1 == "include" && $4 == "<" {
	if (!may_include_public($2, $5)) {
		complain($2 ":" $3 ": may not include <" $5 ">")
	} else if ($5 ~ /^kudzu\// && (folder_of($2) in rank || $2 ~ /^include\//)) {
		public_uses++
		public_file[public_uses] = $2
		public_line[public_uses] = $3
		public_header[public_uses] = "include/" $5
	}
}

$1 == "declares" {
	declared++
	declared_in[declared] = $2
	declaration[declared] = $3
}

$1 == "include" && $4 == "\"" && $2 ~ /^src\// {
	from = folder_of($2)
	to = folder_of("src/" $5)
	if ($5 ~ /^kernels\//) {
		# What a kernel shares with the library.
		if ($2 !~ /^src\/lib\//) {
			complain($2 ":" $3 ": may not include \"" $5 "\"")
		}
	} else if (to == "") {
		complain($2 ":" $3 ": includes are written from src: \"" $5 "\"")
	} else if (from != "" && from != to) {
		if (!may_use(from, to)) {
			complain($2 ":" $3 ": layer " from " may not include " $5 " of layer " to)
		}
	}
}

# A sample may have a header of its own folder.
$1 == "include" && $4 == "\"" && $2 ~ /^(samples|include)\// && !($2 ~ /^samples\// && $5 !~ /\//) {
	complain($2 ":" $3 ": may not include \"" $5 "\"")
}

$1 == "file" {
	seen[$2] = 1
}

$1 == "defines" {
	definers[$3] = definers[$3] " " $2
}

$1 == "needs" {
	wanted++
	user[wanted] = $2
	symbol[wanted] = $3
}

# Files of the same name in one library are hard to tell apart in messages and debuggers.
function check_names(    file, name, l, key) {
	for (file in seen) {
		name = file
		sub(/.*\//, "", name)
		for (l in libraries) {
			if ((folder_of(file), l) in holds) {
				key = l SUBSEP name
				if (key in first && first[key] != file) {
					complain(file ": library " l " has " first[key] " already")
				}
				first[key] = file
			}
		}
	}
}

# Which program alone holds a file: the library or the driver of the CPU device; "" if both do.
function program_of(file,    where) {
	where = folder_of(file)
	if (((where, "kudzu") in family) == ((where, "cpu") in family)) {
		return ""
	}
	return (where, "cpu") in family ? "cpu" : "kudzu"
}

# A debugger that has both programs finds each by its name.
function check_both(    symbol_name, n, defs, i, owner, other) {
	for (symbol_name in definers) {
		n = split(definers[symbol_name], defs, " ")
		owner = ""
		for (i = 1; i <= n; i++) {
			other = program_of(defs[i])
			if (owner != "" && other != "" && other != owner) {
				complain(defs[i] ": the other program has a symbol " symbol_name ", too")
			}
			owner = other != "" ? other : owner
		}
	}
}

# Who calls whom, by symbols.
function check_symbols(    i, d, n, defs, from, to) {
	for (i = 1; i <= wanted; i++) {
		n = split(definers[symbol[i]], defs, " ")
		from = folder_of(user[i])
		for (d = 1; d <= n; d++) {
			to = folder_of(defs[d])
			if (from == "" || to == "" || !same_family(from, to)) {
				continue
			}
			if (from == to) {
				if (user[i] != defs[d]) {
					calls[user[i], defs[d]] = 1
					inside[from] = inside[from] " " user[i] " " defs[d]
				}
				continue
			}
			uses[from, to] = 1
			if (!may_use(from, to)) {
				complain(user[i] ": layer " from " may not use " symbol[i] " of " defs[d] \
					" (layer " to ")")
			}
		}
	}
}

# A public header belongs to the lowest layer that defines one of its functions.  The files of a
# layer include the headers of this layer and of those below, and so do the headers themselves.
function check_public(    i, d, n, defs, at, file, header) {
	for (i = 1; i <= declared; i++) {
		n = split(definers[declaration[i]], defs, " ")
		for (d = 1; d <= n; d++) {
			at = folder_of(defs[d])
			header = declared_in[i]
			if (at in rank && (!(header in layer_of) || rank[at] < rank[layer_of[header]])) {
				layer_of[header] = at
			}
		}
	}
	for (i = 1; i <= public_uses; i++) {
		file = public_file[i]
		header = public_header[i]
		at = file ~ /^include\// ? layer_of[file] : folder_of(file)
		if ((at, "command") in family || file == "include/kudzu/kudzu.h") {
			continue
		}
		if (header == "include/kudzu/kudzu.h" \
			|| header in layer_of && at in rank && rank[layer_of[header]] > rank[at] \
			&& header !~ /\/error\.h$/) {
			complain(file ":" public_line[i] ": layer " at " may not include " header \
				(header in layer_of ? " of layer " layer_of[header] : ""))
		}
	}
}

# Circles of files in one folder: those that reach each other.
function check_cycles(where,    n, list, files, i, j, k, reach, key, done) {
	n = split(inside[where], list, " ")
	for (i = 1; i <= n; i++) {
		if (!(list[i] in done)) {
			done[list[i]] = 1
			files[++k] = list[i]
		}
	}
	n = k
	sort(files, n)
	for (i = 1; i <= n; i++) {
		for (j = 1; j <= n; j++) {
			reach[i, j] = (files[i], files[j]) in calls
		}
	}
	for (k = 1; k <= n; k++) {
		for (i = 1; i <= n; i++) {
			for (j = 1; reach[i, k] && j <= n; j++) {
				reach[i, j] = reach[i, j] || reach[k, j]
			}
		}
	}
	for (i = 1; i <= n; i++) {
		if (!reach[i, i] || files[i] in in_cycle) {
			continue
		}
		key = ""
		for (j = 1; j <= n; j++) {
			if (reach[i, j] && reach[j, i]) {
				in_cycle[files[j]] = 1
				name = files[j]
				sub(/^src\//, "", name)
				key = key " " name
			}
		}
		if (key in cycle_line) {
			delete cycle_line[key]
		} else {
			complain("these files of one folder call each other, and .ci/cycles.txt does not say why:" key)
		}
	}
}

function sort(list, n,    i, j, item) {
	for (i = 2; i <= n; i++) {
		item = list[i]
		for (j = i - 1; j >= 1 && list[j] > item; j--) {
			list[j + 1] = list[j]
		}
		list[j + 1] = item
	}
}

# A row for each folder, a column for each that it may use: x where it does.
function draw(program, title,    i, j, n, rows, line, width) {
	print title "\n\n```" >picture
	for (i = 1; i <= count; i++) {
		if ((folder[i], program) in family) {
			rows[++n] = folder[i]
			if (length(folder[i]) > width) {
				width = length(folder[i])
			}
		}
	}
	for (i = 1; i <= n; i++) {
		line = sprintf("%2d %-" width "s ", i, rows[i])
		for (j = 1; j < i; j++) {
			line = line " " ((rows[i], rows[j]) in uses ? sprintf("%2d", j) : " .")
		}
		print line >picture
	}
	print "```\n" >picture
}

END {
	check_names()
	check_both()
	check_symbols()
	check_public()
	for (i = 1; i <= count; i++) {
		check_cycles(folder[i])
	}
	for (key in cycle_line) {
		complain(".ci/cycles.txt:" cycle_line[key] ": these do not call each other in a circle any more:" key)
	}
	if (total > allowed_files) {
		complain(".ci/cycles.txt names " total " files; at most " allowed_files " may be in circles")
	}
	draw("kudzu", "The library, libkudzu:")
	draw("cpu", "The driver of the CPU device, libkudzu-cpu.so, and LLVM's part of it, libkudzu-cpu-llvm.so:")
	exit failed
}
