/* SPDX-License-Identifier: MIT */
/*
 * kudzu dump: prints the PTX, the LLVM IR or the assembly of a file's kernels on the CPU device.
 *
 * The driver writes IR and assembly into the folder that KUDZU_CPU_DUMP names.  So this command
 * makes a temporary folder, looks up the kernels, which compiles them, and prints the files.
 */
#define _GNU_SOURCE
#include "cli/cli.h"
#include "cli/report.h"
#include "cli/source.h"
#include "cli/words.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char name[] = "kudzu dump"; /* getopt's messages begin with it */

/* A stage and the ending of the driver's files for it; NULL for PTX, which the driver does not
 * write. */
static const struct stage {
	const char *name;
	const char *suffix;
} stages[] = {{"ptx", NULL}, {"llvm", "ll"}, {"asm", "s"}};

struct dump {
	const struct stage *stage;
	const char *kernel; /* NULL: all */
	struct source_options source;
	char folder[PATH_MAX]; /* empty: there is none */
	FILE *out;             /* in memory: a closed pipe would end us before the folder is gone */
};

static bool dump_read_stage(struct dump *dump, const char *text)
{
	for (size_t i = 0; i < sizeof(stages) / sizeof(*stages); i++) {
		if (strcmp(text, stages[i].name) == 0) {
			dump->stage = &stages[i];
			return true;
		}
	}
	fprintf(stderr, "%s: expected a stage, ptx, llvm or asm, got '%s'\n", name, text);
	return false;
}

static bool dump_read_words(struct dump *dump, int argc, char **argv)
{
	static const struct option options[] = {
		{"stage", required_argument, NULL, 'S'},
		{"kernel", required_argument, NULL, 'k'},
		{"arch", required_argument, NULL, 'a'},
		{"std", required_argument, NULL, 's'},
		{NULL, 0, NULL, 0},
	};
	argv[0] = name;
	struct words words = words_begin(argc, argv);
	for (int c; (c = words_next(&words, "-k:a:I:D:", options)) != -1;) {
		if (c == 'k') {
			dump->kernel = optarg;
		} else if (c == 'S' ? !dump_read_stage(dump, optarg)
				: !source_options_take(&dump->source, c, optarg)) {
			return false;
		}
	}
	if (words.count != 1) {
		fprintf(stderr, "%s: expected one file, got %d; see `kudzu help dump`\n", name,
			words.count);
		return false;
	}
	return true;
}

/* The driver's folder */

/* The best code is shown, unless the user names a tier. */
static bool dump_make_folder(struct dump *dump)
{
	const char *tmp = secure_getenv("TMPDIR");
	snprintf(dump->folder, sizeof(dump->folder), "%s/kudzu-dump-XXXXXX",
		tmp && *tmp ? tmp : "/tmp");
	if (!mkdtemp(dump->folder)) {
		fprintf(stderr, "%s: cannot make the folder '%s': %s\n", name, dump->folder,
			strerror(errno));
		dump->folder[0] = '\0';
		return false;
	}
	return setenv("KUDZU_CPU_DUMP", dump->folder, 1) == 0
		&& setenv("KUDZU_CPU_TIER", "2", 0) == 0;
}

static void dump_remove_folder(struct dump *dump)
{
	DIR *folder = *dump->folder ? opendir(dump->folder) : NULL;
	if (!folder) {
		return;
	}
	for (struct dirent *entry; (entry = readdir(folder));) {
		if (entry->d_name[0] != '.') {
			(void)unlinkat(dirfd(folder), entry->d_name, 0);
		}
	}
	closedir(folder);
	(void)rmdir(dump->folder);
}

/* The driver cuts longer names. */
static bool dump_print_file(const struct dump *dump, const char *symbol)
{
	char path[PATH_MAX + 256];
	size_t size = 0;
	snprintf(path, sizeof(path), "%s/%.200s.%s", dump->folder, symbol, dump->stage->suffix);
	char *text = source_read(path, &size);
	if (!text) {
		fprintf(stderr, "%s: the CPU device did not write '%s': %s\n", name, path,
			strerror(errno));
		return false;
	}
	fwrite(text, 1, size, dump->out);
	free(text);
	return true;
}

/* PTX */

/* From the line that declares an entry to its closing brace. */
static bool dump_print_entry(FILE *out, const char *ptx, const char *symbol)
{
	size_t length = strlen(symbol);
	for (const char *at = ptx; (at = strstr(at, ".entry ")); at++) {
		const char *start = at, *end = strchr(at, '{');
		if (strncmp(at + 7, symbol, length) != 0 || !end
		    || !strchr("( \t\n", at[7 + length])) {
			continue;
		}
		while (start > ptx && start[-1] != '\n') {
			start--;
		}
		for (int depth = 1; depth > 0 && *end++;) {
			depth += *end == '{' ? 1 : *end == '}' ? -1 : 0;
		}
		fprintf(out, "%.*s\n", (int)(end + 1 - start), start);
		return true;
	}
	fprintf(stderr, "%s: there is no entry '%s' in the PTX\n", name, symbol);
	return false;
}

static const char *dump_symbol_of(const kz_image *image, const char *kernel)
{
	for (int64_t i = 0; i < kz_image_kernel_count(image); i++) {
		if (strcmp(kz_image_kernel_name(image, i), kernel) == 0) {
			return kz_image_kernel_symbol(image, i);
		}
	}
	return kernel;
}

static int dump_print_kernel(const struct dump *dump, kz_module *mod, const char *kernel_name,
	kz_error *err)
{
	kz_kernel *kernel = NULL;
	kz_kernel_info info = KZ_KERNEL_INFO_INIT;
	if (kz_module_kernel(&kernel, mod, kernel_name, err)
	    || kz_kernel_describe(kernel, &info, err)) {
		return report_status(err);
	}
	const char *symbol = dump_symbol_of(kz_module_get_image(mod), kz_kernel_name(kernel));
	bool ok = dump->stage->suffix ? dump_print_file(dump, symbol)
		: dump_print_entry(dump->out, kz_module_image(mod, NULL), symbol);
	return ok ? CLI_OK : CLI_FAILED;
}

static int dump_print_module(const struct dump *dump, kz_module *mod, kz_error *err)
{
	int64_t size = 0;
	int status = CLI_OK;
	if (dump->kernel) {
		return dump_print_kernel(dump, mod, dump->kernel, err);
	}
	if (!dump->stage->suffix) {
		const char *text = kz_module_image(mod, &size);
		fwrite(text, 1, (size_t)size, dump->out);
		return CLI_OK;
	}
	if (kz_module_kernel_count(mod) == 0) {
		fprintf(stderr, "%s: there is no kernel in the file\n", name);
		return CLI_USAGE;
	}
	for (int64_t i = 0; i < kz_module_kernel_count(mod) && status == CLI_OK; i++) {
		status = dump_print_kernel(dump, mod, kz_module_kernel_name(mod, i), err);
	}
	return status;
}

static int dump_source(struct dump *dump, const struct source *source)
{
	kz_error err = KZ_ERROR_INIT;
	kz_device *dev = NULL;
	kz_module *mod = NULL;
	const char *instance = dump->kernel && strchr(dump->kernel, '<') ? dump->kernel : NULL;
	int status;
	if (kz_device_open(&dev, "cpu", &err)
	    || source_load(&mod, dev, source, &dump->source, instance, &err)) {
		status = report_status(&err);
	} else {
		report_log(kz_module_log(mod));
		status = dump_print_module(dump, mod, &err);
	}
	report_error(&err);
	kz_error_clear(&err);
	kz_module_release(mod);
	kz_device_close(dev);
	return status;
}

static int dump_file(struct dump *dump, const char *path)
{
	struct source source;
	char *text = NULL;
	size_t size = 0;
	int status = CLI_FAILED;
	if (!source_open(&source, "dump", path)) {
		return CLI_USAGE;
	}
	dump->out = open_memstream(&text, &size);
	if (dump->out && (!dump->stage->suffix || dump_make_folder(dump))) {
		status = dump_source(dump, &source);
	}
	dump_remove_folder(dump);
	if (!dump->out || fclose(dump->out)) {
		fprintf(stderr, "%s: out of memory\n", name);
		status = CLI_FAILED;
	} else {
		fwrite(text, 1, size, stdout);
	}
	free(text);
	source_close(&source);
	return status;
}

int dump_main(int argc, char **argv)
{
	struct dump *dump = calloc(1, sizeof(*dump));
	int status = CLI_FAILED;
	if (!dump || !source_options_init(&dump->source, argc)) {
		fprintf(stderr, "%s: out of memory\n", name);
	} else {
		dump->stage = &stages[0];
		status = dump_read_words(dump, argc, argv) ? dump_file(dump, argv[1])
							   : CLI_USAGE;
	}
	if (dump) {
		source_options_finish(&dump->source);
	}
	free(dump);
	return status;
}
