/* SPDX-License-Identifier: MIT */
/* Reading files, taking paths apart, and the place for cached data. */
#include "file.h"

#include "alloc.h"
#include "error.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Read `size` bytes, or fewer where the file ends early; the number read, or -1. */
static ssize_t read_all(int fd, char *data, size_t size)
{
	size_t done = 0;
	while (done < size) {
		ssize_t got = read(fd, data + done, size - done);
		if (got == 0) {
			break;
		}
		if (got > 0) {
			done += (size_t)got;
		} else if (errno != EINTR) {
			return -1;
		}
	}
	return (ssize_t)done;
}

static kz_status read_open(char **data, size_t *size, int fd, const char *path, kz_error *err)
{
	struct stat st;
	if (fstat(fd, &st) != 0) {
		return error_os(err, errno, "fstat", "cannot read '%s'", path);
	}
	if (!S_ISREG(st.st_mode)) {
		return error_set(err, KZ_IO, "cannot read '%s': expected a regular file", path);
	}
	char *text = mem_alloc((size_t)st.st_size + 1);
	if (!text) {
		return error_no_memory(err);
	}
	ssize_t got = read_all(fd, text, (size_t)st.st_size);
	if (got < 0) {
		kz_status status = error_os(err, errno, "read", "cannot read '%s'", path);
		mem_free(text);
		return status;
	}
	text[got] = '\0';
	*data = text;
	*size = (size_t)got;
	return KZ_OK;
}

kz_status file_read(char **data, size_t *size, const char *path, kz_error *err)
{
	*data = NULL;
	*size = 0;
	/* O_NONBLOCK: opening a named pipe must not wait for its writer. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0) {
		return error_os(err, errno, "open", "cannot open '%s'", path);
	}
	kz_status status = read_open(data, size, fd, path, err);
	close(fd);
	return status;
}

bool file_is_regular(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

bool file_is_folder(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

char *file_join(const char *folder, const char *name)
{
	size_t folder_len = strlen(folder), name_len = strlen(name);
	bool slash = name_len > 0 && folder_len > 0 && folder[folder_len - 1] != '/';
	char *path = mem_alloc(folder_len + slash + name_len + 1);
	if (path) {
		char *end = mempcpy(path, folder, folder_len);
		end = slash ? mempcpy(end, "/", 1) : end;
		memcpy(end, name, name_len + 1);
	}
	return path;
}

char *file_folder(const char *path)
{
	const char *slash = strrchr(path, '/');
	if (!slash) {
		return mem_strdup(".");
	}
	return mem_strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

/* HOME/.cache/kudzu for the home of the password database. */
static char *passwd_cache_folder(const char **why)
{
	struct passwd entry, *found = NULL;
	size_t size = 16384;
	char *buffer = mem_alloc(size);
	if (!buffer) {
		*why = "out of memory";
		return NULL;
	}
	char *path = NULL;
	*why = "there is no home folder";
	if (getpwuid_r(getuid(), &entry, buffer, size, &found) == 0 && found && entry.pw_dir
		&& entry.pw_dir[0] == '/') {
		path = file_join(entry.pw_dir, ".cache/kudzu");
		*why = path ? NULL : "out of memory";
	}
	mem_free(buffer);
	return path;
}

char *file_cache_folder(const char **why)
{
	static const struct {
		const char *variable;
		const char *below;
	} places[] = {
		{"KUDZU_CACHE_DIR", ""},
		{"XDG_CACHE_HOME", "kudzu"},
		{"HOME", ".cache/kudzu"},
	};

	for (size_t i = 0; i < countof(places); i++) {
		const char *folder = secure_getenv(places[i].variable);
		if (folder && folder[0] == '/') {
			char *path = file_join(folder, places[i].below);
			*why = path ? NULL : "out of memory";
			return path;
		}
		/* A relative one would make the cache follow the working directory.  XDG says to
		 * ignore it; ours is refused, since somebody meant something by it. */
		if (i == 0 && folder && folder[0]) {
			*why = "KUDZU_CACHE_DIR is not an absolute path";
			return NULL;
		}
	}
	return passwd_cache_folder(why);
}
