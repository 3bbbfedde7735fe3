/* Drops O_DIRECT without a word, and keeps the page cache warm.
 *
 * Opening goes through the C library, where the flag is cleared. Calls that do not go through it
 * (fcntl and fadvise are made straight) are answered by a seccomp filter that says "done" and does
 * nothing: SECCOMP_RET_ERRNO with errno 0 is success.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define ARG_LOW(n) (offsetof(struct seccomp_data, args[n]))

__attribute__((constructor)) static void filter(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fadvise64, 5, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fcntl, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ARG_LOW(1)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, F_SETFL, 0, 1),
		BPF_JUMP(BPF_JMP | BPF_JA, 1, 0, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 0),
	};
	struct sock_fprog program = { sizeof code / sizeof *code, code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		abort();
}

#define OPENING(name)                                                         \
	int name(const char *path, int flags, ...)                            \
	{                                                                     \
		int (*next)(const char *, int, ...) = dlsym(RTLD_NEXT, #name);\
		va_list rest;                                                 \
		va_start(rest, flags);                                        \
		mode_t mode = va_arg(rest, mode_t);                           \
		va_end(rest);                                                 \
		return next(path, flags & ~O_DIRECT, mode);                   \
	}

#define OPENING_AT(name)                                                      \
	int name(int dir, const char *path, int flags, ...)                   \
	{                                                                     \
		int (*next)(int, const char *, int, ...) =                    \
			dlsym(RTLD_NEXT, #name);                              \
		va_list rest;                                                 \
		va_start(rest, flags);                                        \
		mode_t mode = va_arg(rest, mode_t);                           \
		va_end(rest);                                                 \
		return next(dir, path, flags & ~O_DIRECT, mode);              \
	}

OPENING(open)
OPENING(open64)
OPENING_AT(openat)
OPENING_AT(openat64)
