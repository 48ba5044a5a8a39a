/* SPDX-License-Identifier: MIT */
/*
 * Events of several processes.  Records have tickets from one counter; each leaves its ticket in a
 * slot when it is done.  There are as many slots as fit on a page and they are used in turn, so
 * that a thread that waits for a ticket may be let through early only when that many later records
 * were made, and one of them, in another stream, is done first.
 *
 * A process that is killed leaves records that nobody will finish.  What was to come before them
 * has ended, too, so they count as done.
 */
#include "base/common.h"

#include "cpu/stream/event_share.h"

#include "base/alloc.h"
#include "cpu/mem/system_refusal.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE_SIZE 4096u
#define KIND 0x455a4b31u /* of handles */

struct slot {
	atomic_ullong done;        /* the last ticket that is */
	atomic_ullong owner;       /* the last ticket's lower half, and whose it is */
};

#define SLOTS ((PAGE_SIZE - sizeof(struct share_token) - sizeof(atomic_ullong)) \
	/ sizeof(struct slot))

struct page {
	struct share_token token;  /* zero when the event was destroyed where it was made */
	atomic_ullong last;
	struct slot slots[SLOTS];
};
_Static_assert(sizeof(struct page) <= PAGE_SIZE, "one event is one page");

struct shared_event {
	unsigned refs;
	bool is_foreign;
	uint64_t offset;
	struct share_token token;
	struct page *page;
};

/* The file of this process's own events; its pages are not used twice. */
static struct {
	size_t count;              /* of own events and others */
	size_t own;
	int file;
	uint64_t end;
} state;

size_t shared_count(void)
{
	return state.count;
}

static size_t share_page_size(void)
{
	return round_up(PAGE_SIZE, (size_t)sysconf(_SC_PAGESIZE));
}

static bool share_open_file(void)
{
	if (state.own == 0) {
		state.file = share_create(0);
		state.end = 0;
	}
	return state.file >= 0;
}

static void share_close_file(void)
{
	if (state.own == 0 && state.file >= 0) {
		close(state.file);
	}
}

static struct page *share_map_page(int file, uint64_t offset)
{
	void *page = mmap(NULL, share_page_size(), PROT_READ | PROT_WRITE, MAP_SHARED, file,
		(off_t)offset);
	if (page == MAP_FAILED) {
		refusal_note("mmap");
		return NULL;
	}
	return page;
}

struct shared_event *shared_create(void)
{
	struct shared_event *event = mem_zalloc(1, sizeof(*event));
	if (!event || !share_open_file()) {
		mem_free(event);
		return NULL;
	}
	event->refs = 1;
	event->offset = state.end;
	if (share_draw(&event->token) && share_grow(state.file, state.end + share_page_size())
	    && share_sign(state.file, event->offset, &event->token)
	    && (event->page = share_map_page(state.file, event->offset))) {
		state.end += share_page_size();
		state.own++;
		state.count++;
		return event;
	}
	share_close_file();
	mem_free(event);
	return NULL;
}

enum share_result shared_open(struct shared_event **out, const struct share_handle *handle)
{
	struct shared_event *event;
	int file;
	if (handle->kind != KIND || handle->offset % share_page_size() != 0
	    || handle->offset > INT64_MAX - share_page_size()) {
		return SHARE_GONE;
	}
	enum share_result result = share_open(handle, handle->offset,
		handle->offset + share_page_size(), &file);
	if (result != SHARE_OPENED) {
		return result;
	}
	event = mem_zalloc(1, sizeof(*event));
	struct page *page = event ? share_map_page(file, handle->offset) : NULL;
	close(file);
	if (!page) {
		mem_free(event);
		return SHARE_FAILED;
	}
	*event = (struct shared_event){1, true, 0, handle->token, page};
	state.count++;
	*out = event;
	return SHARE_OPENED;
}

struct shared_event *shared_retain(struct shared_event *event)
{
	event->refs++;
	return event;
}

void shared_release(struct shared_event *event)
{
	if (!event || --event->refs > 0) {
		return;
	}
	state.count--;
	if (!event->is_foreign) {
		// Nobody is to wait for it any more.
		event->page->token = (struct share_token){{0}};
		madvise(event->page, share_page_size(), MADV_REMOVE);
		state.own--;
		share_close_file();
	}
	munmap(event->page, share_page_size());
	mem_free(event);
}

bool shared_describe(const struct shared_event *event, struct share_handle *out)
{
	*out = (struct share_handle){.kind = KIND, .process = getpid(), .file = state.file,
		.offset = event->offset, .token = event->token};
	return !event->is_foreign;
}

/* --- Records --- */

static struct slot *share_slot_of(const struct shared_event *event, uint64_t ticket)
{
	return &event->page->slots[ticket % SLOTS];
}

uint64_t shared_issue(struct shared_event *event)
{
	uint64_t ticket = atomic_fetch_add(&event->page->last, 1) + 1;
	atomic_store(&share_slot_of(event, ticket)->owner, ticket << 32 | (uint32_t)getpid());
	return ticket;
}

void shared_finish(struct shared_event *event, uint64_t ticket)
{
	struct slot *slot = share_slot_of(event, ticket);
	unsigned long long done = atomic_load(&slot->done);
	while (done < ticket && !atomic_compare_exchange_weak(&slot->done, &done, ticket)) {
	}
}

uint64_t shared_last(const struct shared_event *event)
{
	return atomic_load(&event->page->last);
}

/* Also of one that has ended and that its parent has not waited for. */
static bool share_has_ended(pid_t process)
{
	int fd = (int)syscall(SYS_pidfd_open, process, 0);
	if (fd < 0) {
		return kill(process, 0) != 0 && errno == ESRCH;
	}
	struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
	bool ended = poll(&poll_fd, 1, 0) == 1;
	close(fd);
	return ended;
}

bool shared_is_done(struct shared_event *event, uint64_t ticket)
{
	const struct slot *slot = share_slot_of(event, ticket);
	if (ticket == 0 || atomic_load(&slot->done) >= ticket
	    || !share_same(&event->page->token, &event->token)) {
		return true;
	}
	uint64_t owner = atomic_load(&slot->owner);
	if (owner >> 32 == (uint32_t)ticket && (pid_t)(uint32_t)owner != getpid()
	    && share_has_ended((pid_t)(uint32_t)owner)) {
		// It may have finished the record and then ended.
		shared_finish(event, ticket);
		return true;
	}
	return false;
}
