/* SPDX-License-Identifier: MIT */
/*
 * Which files may be run or loaded that nobody has named.
 *
 * The library looks beside itself for the driver of the CPU device, for LLVM's part of that driver,
 * and for the command.  That folder may be one in which others can put files, as /tmp is.  So a
 * file is trusted only if nobody else may have written it.  The file and its folder must belong to
 * root, to the user that the process runs as, or to the owner of the program or library that asks,
 * and nobody else may write them.  The same holds for the folders above, but others may write a
 * sticky one: there they cannot rename what is not theirs.
 *
 * A group may write where it may write the program or library that asks, as after a build with
 * umask 002: it has a way in already.  A privileged process (base/env.h) runs as a user who must
 * not direct it; it trusts root and the owner of the program, and no group.
 */
#include "base/trust.h"

#include "base/alloc.h"
#include "base/dl.h"
#include "base/env.h"
#include "base/error.h"
#include "base/file.h"
#include "base/str.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Who may write a file that is trusted. */
struct trust {
	uid_t users[5];
	size_t user_count;
	gid_t group;
	bool has_group;
};

static void trust_add_owner(struct trust *trust, const char *path)
{
	struct stat info;
	if (stat(path, &info) == 0) {
		trust->users[trust->user_count++] = info.st_uid;
	}
}

/* False: no memory. */
static bool trust_init(struct trust *trust, const void *self)
{
	struct stat info;
	*trust = (struct trust){.users = {0}, .user_count = 1}; /* root */
	/* This link leads to the program even when its name has gone to another file. */
	trust_add_owner(trust, "/proc/self/exe");
	if (env_is_privileged()) {
		return true;
	}
	trust->users[trust->user_count++] = geteuid();
	trust_add_owner(trust, "/"); /* root, who has another number in a user namespace */
	char *path = dl_path(self);
	if (path && stat(path, &info) == 0) {
		trust->users[trust->user_count++] = info.st_uid;
		trust->group = info.st_gid;
		trust->has_group = info.st_mode & S_IWGRP;
	}
	mem_free(path);
	return path;
}

/* Whether nobody else may write a file or folder; if somebody may, the reason is in *why. */
static bool trust_allows(const struct trust *trust, const char *path, bool may_be_sticky,
	struct str *why)
{
	struct stat info;
	if (stat(path, &info) != 0) {
		str_addf(why, "'%s' cannot be examined: %s", path, strerrordesc_np(errno));
		return false;
	}
	bool is_known = false;
	for (size_t i = 0; i < trust->user_count; i++) {
		is_known |= trust->users[i] == info.st_uid;
	}
	bool is_shared = !(may_be_sticky && (info.st_mode & S_ISVTX));
	if (!is_known) {
		str_addf(why, "'%s' belongs to another user, %lu", path,
			(unsigned long)info.st_uid);
	} else if (is_shared && (info.st_mode & S_IWOTH)) {
		str_addf(why, "everybody can write to '%s'", path);
	} else if (is_shared && (info.st_mode & S_IWGRP)
		&& !(trust->has_group && trust->group == info.st_gid)) {
		str_addf(why, "group %lu can write to '%s'", (unsigned long)info.st_gid, path);
	} else {
		return true;
	}
	return false;
}

/* The same for the folder of a file and all folders above it.  `path` is a real path, which is
 * cut. */
static bool trust_allows_folders(const struct trust *trust, char *path, struct str *why)
{
	char *end = strrchr(path, '/');
	for (bool is_above = false; end; is_above = true) {
		end[end == path] = '\0'; /* "/" stays */
		if (!trust_allows(trust, path, is_above, why)) {
			return false;
		}
		*end = '\0';
		end = strrchr(path, '/');
	}
	return true;
}

/* `path` may be a link: then its folder counts as well as that of the file. */
static bool trust_allows_all(const struct trust *trust, const char *path, const char *real,
	struct str *why)
{
	char at[PATH_MAX], link[PATH_MAX];
	if (!trust_allows(trust, real, false, why)) {
		return false;
	}
	strcpy(at, real);
	if (!trust_allows_folders(trust, at, why)) {
		return false;
	}
	char *folder = file_folder(path);
	if (!folder) {
		why->failed = true; /* no memory */
		return false;
	}
	bool is_there = realpath(folder, link) && strlen(link) + 2 <= sizeof(link);
	mem_free(folder);
	if (!is_there) {
		str_add(why, "its folder cannot be examined");
		return false;
	}
	strcat(link, "/");
	return strncmp(real, link, strlen(link)) == 0 || trust_allows_folders(trust, link, why);
}

kz_status trust_find(char **out, const char *path, const void *self, kz_error *err)
{
	char real[PATH_MAX];
	struct trust trust;
	struct str why = STR_INIT;
	*out = NULL;
	if (!realpath(path, real)) {
		return error_os(err, errno, "realpath", "cannot open '%s'", path);
	}
	if (!trust_init(&trust, self)) {
		return error_no_memory(err);
	}
	kz_status st = KZ_OK;
	if (!trust_allows_all(&trust, path, real, &why)) {
		st = why.failed ? error_no_memory(err)
			: error_set(err, KZ_PERMISSION, "'%s' is not used: %s", path, why.data);
	} else if (!(*out = mem_strdup(real))) {
		st = error_no_memory(err);
	}
	str_free(&why);
	return st;
}
