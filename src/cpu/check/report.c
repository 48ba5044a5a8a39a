/* SPDX-License-Identifier: MIT */
/*
 * Keeps what checks have found, each distinct report once, with a count.
 *
 * A report is distinct by its check, its kernel and the places in the source that it is about: a
 * loop that the compiler has unrolled has one report.  Which lines of PTX belong to which place is
 * looked up once for each.
 *
 * The text of a report is like a compiler's: the place in the source, what is wrong there, and the
 * line with a caret; then notes that say through which calls the code was inlined, what the other
 * side is, and which thread of which kernel it was.  If KUDZU_CHECK is set, the text goes to
 * standard error at once, and a crash later does not lose it.
 */
#include "base/common.h"

#include "cpu/check/report.h"
#include "cpu/check/report_file.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/env.h"
#include "base/file.h"
#include "base/str.h"
#include "cpu/config/settings.h"
#include "cpu/mem/fault.h"
#include "cpu/ptx/line.h"
#include "cpu/ptx/ptx.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REPORT_MOST 1000 /* that are kept; later ones are dropped (report_drop) */
#define HIDDEN_MOST 10000 /* likewise */

struct kept_report {
	struct kept_report *next;
	struct kept_report *same; /* the first one about the same places, maybe this one */
	bool is_hidden; /* another one counts for it, or it is suppressed */
	struct kudzu_report out;
	enum check check;
	uint32_t lines[KUDZU_REPORT_SIDES]; /* of PTX */
	struct line places[KUDZU_REPORT_SIDES];
	char *where; /* the places as text, which outlives the PTX */
};

static struct {
	pthread_mutex_t lock;
	struct kept_report *first;
	struct kept_report **end; /* NULL: nothing is kept */
	size_t count;
	size_t hidden; /* which `count` leaves out */
	struct kept_report *rest; /* what stands for all that are dropped, or NULL */
} reports = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* --- Text --- */

static void report_write_place(struct str *out, const struct line_place *place)
{
	str_addn(out, place->file, place->file_size);
	str_addf(out, ":%d:", place->number);
	if (place->column > 0) {
		str_addf(out, "%d:", place->column);
	}
}

static bool report_has_place(const struct line *line)
{
	return line->place_count > 0 && line->places[0].file && line->places[0].number > 0;
}

/* The line of the source, if the file is there, and a caret below the column. */
static void report_quote(struct str *out, const struct line_place *place)
{
	char *path = mem_strndup(place->file, place->file_size), *data = NULL;
	size_t size = 0;
	if (!path || file_read(&data, &size, path, NULL)) {
		mem_free(path);
		return;
	}
	const char *at = data;
	for (int i = 1; at && i < place->number; i++) {
		at = strchr(at, '\n');
		at = at ? at + 1 : NULL;
	}
	if (at && *at) {
		const size_t length = strcspn(at, "\r\n");
		str_addf(out, "%5d | %.*s\n", place->number, (int)length, at);
		if (place->column > 0 && (size_t)place->column <= length) {
			str_add(out, "      | ");
			for (int i = 0; i + 1 < place->column; i++) {
				str_addc(out, at[i] == '\t' ? '\t' : ' ');
			}
			str_add(out, "^\n");
		}
	}
	mem_free(data);
	mem_free(path);
}

static void report_write_thread(struct str *out, const struct report *report, size_t side)
{
	const uint32_t *block = report->sides[side].block, *thread = report->sides[side].thread;
	str_addf(out, "kernel '%s', block (%u,%u,%u), thread (%u,%u,%u)\n", report->kernel->name,
		block[0], block[1], block[2], thread[0], thread[1], thread[2]);
}

static void report_write_side(struct str *out, const struct kept_report *kept,
	const struct report *report, size_t side)
{
	const struct line *line = &kept->places[side];
	const bool has_place = report_has_place(line);
	if (has_place) {
		report_write_place(out, &line->places[0]);
	} else {
		str_addf(out, "kernel '%s', PTX line %u:", report->kernel->name,
			report->sides[side].line);
	}
	str_addf(out, " %s: %s", side > 0 ? "note" : check_bit(report->check) & CHECK_OF_COSTS
		? "warning" : "error", report->sides[side].what);
	if (side == 0) {
		str_addf(out, " [%s]", kept->out.check);
	}
	str_addc(out, '\n');
	if (has_place) {
		report_quote(out, &line->places[0]);
	}
	for (size_t i = 1; has_place && i < line->place_count && line->places[i].file; i++) {
		char name[sizeof(line->places[0].function)];
		ptx_write_name(name, sizeof(name), line->places[i - 1].function);
		report_write_place(out, &line->places[i]);
		str_addf(out, " note: in the call of '%s' from here\n", name);
		report_quote(out, &line->places[i]);
	}
	str_add(out, "note: ");
	report_write_thread(out, report, side);
}

/* --- Suppressions --- */

/* Whether KUDZU_CHECK_SUPPRESS, "kernel:line,kernel", names a report.  The name of a kernel may
 * have colons and commas, "ns::scale<float, 4>". */
static bool report_is_suppressed(const struct kept_report *kept)
{
	const char *next = env_get("KUDZU_CHECK_SUPPRESS");
	const size_t length = strlen(kept->out.kernel);
	const int line = kept->out.sides[0].line;
	for (; next; next = strchr(next, ',')) {
		next += strspn(next, ", ");
		const char *rest = next + length;
		char *end;
		if (strncmp(next, kept->out.kernel, length) != 0) {
			continue;
		}
		if (*rest == ':' && line > 0 && strtol(rest + 1, &end, 10) == line) {
			rest = end;
		}
		if (*rest == '\0' || *rest == ',') {
			return true;
		}
	}
	return false;
}

/* --- The list --- */

static uint64_t report_count(const struct report *report)
{
	return report->count > 0 ? report->count : 1;
}

static bool report_is_same(const struct kept_report *kept, const struct report *report)
{
	bool same = kept->check == report->check
		&& kept->out.side_count == (int)report->side_count
		&& strcmp(kept->out.kernel, report->kernel->name) == 0;
	for (size_t i = 0; same && i < report->side_count; i++) {
		same = kept->lines[i] == report->sides[i].line;
	}
	return same;
}

static struct kept_report *report_find(const struct report *report)
{
	struct kept_report *kept = reports.first;
	while (kept && !report_is_same(kept, report)) {
		kept = kept->next;
	}
	return kept;
}

/* The first report in the list about the same places as one in it. */
static struct kept_report *report_find_places(const struct kept_report *report)
{
	struct kept_report *kept = reports.first;
	while (kept->check != report->check || strcmp(kept->out.kernel, report->out.kernel) != 0
	       || strcmp(kept->where, report->where) != 0) {
		kept = kept->next;
	}
	return kept;
}

static void report_free(struct kept_report *kept)
{
	for (size_t i = 0; i < KUDZU_REPORT_SIDES; i++) {
		mem_free((void *)(uintptr_t)kept->out.sides[i].what);
		mem_free((void *)(uintptr_t)kept->out.sides[i].file);
	}
	mem_free((void *)(uintptr_t)kept->out.kernel);
	mem_free((void *)(uintptr_t)kept->out.text);
	mem_free(kept->where);
	mem_free(kept);
}

static bool report_fill_side(struct kept_report *kept, const struct report *report, size_t i)
{
	static const char *const none = "";
	const struct report_side *side = &report->sides[i];
	struct kudzu_report_side *out = &kept->out.sides[i];
	const struct line_place *place = &kept->places[i].places[0];
	const bool has_place = report_has_place(&kept->places[i]);
	out->what = mem_strndup(side->what, strlen(side->what));
	out->file = mem_strndup(has_place ? place->file : none, has_place ? place->file_size : 0);
	out->line = has_place ? place->number : 0;
	out->column = has_place ? place->column : 0;
	memcpy(out->block, side->block, sizeof(out->block));
	memcpy(out->thread, side->thread, sizeof(out->thread));
	return out->what && out->file;
}

/* "k.cu:3:2;k.cu:9:4;" for an inlined function; "PTX 12;" where the source is not known. */
static void report_write_where(struct str *out, const struct kept_report *kept, size_t side)
{
	const struct line *line = &kept->places[side];
	if (!report_has_place(line)) {
		str_addf(out, "PTX %u", kept->lines[side]);
	}
	for (size_t i = 0; report_has_place(line) && i < line->place_count; i++) {
		str_addn(out, line->places[i].file, line->places[i].file_size);
		str_addf(out, ":%d:%d", line->places[i].number, line->places[i].column);
		str_addc(out, ';');
	}
	str_addc(out, '|');
}

/* NULL: no memory. */
static struct kept_report *report_make(const struct report *report)
{
	struct kept_report *kept = mem_zalloc(1, sizeof(*kept));
	struct str text = STR_INIT, where = STR_INIT;
	bool ok = kept;
	if (!ok) {
		return NULL;
	}
	kept->check = report->check;
	kept->out.check = check_name(report->check);
	kept->out.side_count = (int)report->side_count;
	kept->out.count = report_count(report);
	kept->out.kernel = mem_strndup(report->kernel->name, strlen(report->kernel->name));
	for (size_t i = 0; ok && i < report->side_count; i++) {
		kept->lines[i] = report->sides[i].line;
		if (report->kernel->text) {
			(void)line_look_up(&kept->places[i], report->kernel->text,
				report->sides[i].line);
		}
		ok = report_fill_side(kept, report, i);
		report_write_side(&text, kept, report, i);
		report_write_where(&where, kept, i);
	}
	kept->out.text = str_take(&text);
	kept->where = str_take(&where);
	if (!ok || !kept->out.kernel || !kept->out.text || !kept->where) {
		report_free(kept);
		return NULL;
	}
	return kept;
}

/* What a program and the processes that it starts have in common: the file in which the command
 * counts their reports.  Without that, a process and those that it forks later. */
static const char *report_run(void)
{
	static char run[64];
	const char *path = settings_tally_file();
	const char *name = path ? strrchr(path, '/') : NULL;
	if (path) {
		return name ? name + 1 : path;
	}
	if (run[0] == '\0') {
		snprintf(run, sizeof(run), "%ld-%" PRIx64, (long)getpid(), clock_now_ns());
	}
	return run;
}

static void report_print(const char *text)
{
	(void)file_print(stderr, text, strlen(text));
	(void)file_flush(stderr);
}

/* The lock is held.  If the file cannot be written, standard error says so: a check that fails
 * silently looks like one that has found nothing. */
static void report_save_locked(void)
{
	const char *path = settings_report_file();
	struct kudzu_report *all = path ? mem_zalloc(reports.count + 1, sizeof(*all)) : NULL;
	struct report_file file = {path, report_run(), getpid(), settings_checks(), all};
	for (const struct kept_report *kept = reports.first; all && kept; kept = kept->next) {
		if (!kept->is_hidden) {
			file.rest = kept == reports.rest ? &all[file.count] : file.rest;
			all[file.count++] = kept->out;
		}
	}
	if (path && !(all && report_file_write(&file))) {
		char text[256];
		snprintf(text, sizeof(text), "kudzu: KUDZU_CHECK_REPORT: cannot write '%.150s'\n",
			path);
		report_print(text);
	}
	mem_free(all);
}

/* Append a mark to the file of KUDZU_CHECK_TALLY, which counts for all processes of a program: '.'
 * for one in which a check is active, '!' for a report.  Where that fails, the command says that no
 * check was active. */
static void report_tally(char mark)
{
	const char *path = settings_tally_file();
	const int file = path ? open(path, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;
	if (file >= 0) {
		(void)!write(file, &mark, 1);
		close(file);
	}
}

void report_save(void)
{
	pthread_mutex_lock(&reports.lock);
	report_tally('.');
	report_save_locked();
	pthread_mutex_unlock(&reports.lock);
}

static void report_append(struct kept_report *kept)
{
	*(reports.end ? reports.end : &reports.first) = kept;
	reports.end = &kept->next;
	kept->same = kept;
}

/* Tell everybody of a report, for which there may be no memory. */
static void report_tell(const struct kept_report *kept)
{
	report_tally('!');
	if (!kept) {
		report_print("kudzu: a check has found a bug, and memory ran out for its report\n");
		return;
	}
	reports.count++;
	report_save_locked();
	if (settings_prints_reports()) {
		report_print(kept->out.text);
	}
}

/* A report of lines of PTX that are new, with the lock held. */
static void report_add_new(const struct report *report)
{
	struct kept_report *kept = report_make(report);
	if (kept) {
		report_append(kept);
		kept->same = report_find_places(kept);
		kept->is_hidden = kept->same != kept || report_is_suppressed(kept);
	}
	if (kept && kept->is_hidden) {
		kept->same->out.count += kept->out.count;
		reports.hidden++;
	} else {
		report_tell(kept);
	}
}

/* There are too many reports: one that says so counts for this one and all later ones. */
static void report_drop(const struct report *report)
{
	if (reports.rest) {
		reports.rest->out.count += report_count(report);
		return;
	}
	struct report rest = *report;
	rest.side_count = 1;
	snprintf(rest.sides[0].what, sizeof(rest.sides[0].what),
		"too many bugs were found: this one and all other new ones are not reported");
	reports.rest = report_make(&rest);
	if (reports.rest) {
		report_append(reports.rest);
	}
	report_tell(reports.rest);
}

void report_set_side(struct report_side *side, const struct rt_launch *launch,
	const uint32_t block[3], uint32_t thread, uint32_t line)
{
	side->line = line;
	for (int axis = 0; axis < 3; axis++) {
		side->block[axis] = block[axis];
		side->thread[axis] = launch->tid[axis][thread];
	}
}

void report_add(const struct report *report)
{
	fault_hold();
	pthread_mutex_lock(&reports.lock);
	struct kept_report *kept = report_find(report);
	if (kept) {
		kept->same->out.count += report_count(report);
	} else if (reports.count < REPORT_MOST && reports.hidden < HIDDEN_MOST) {
		report_add_new(report);
	} else {
		report_drop(report);
	}
	pthread_mutex_unlock(&reports.lock);
	fault_release();
}

size_t report_list(struct kudzu_report *out, size_t most)
{
	size_t count = 0;
	pthread_mutex_lock(&reports.lock);
	for (const struct kept_report *kept = reports.first; kept; kept = kept->next) {
		if (count < most && !kept->is_hidden) {
			out[count] = kept->out;
		}
		count += !kept->is_hidden;
	}
	pthread_mutex_unlock(&reports.lock);
	return count;
}
