/* Runs a program to which the kernel denies some calls, as an older kernel or a container's filter does.
 *
 *     deny GROUP=ERRNO... -- PROGRAM ARGUMENTS
 *
 * A seccomp filter answers each call of a group with the error; it stays in force for the program and all that
 * it starts.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_cachestat
#define SYS_cachestat 451
#endif

static const struct group {
	const char *name;
	long calls[3];
} groups[] = {
	{ "io_uring", { SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register } },
	{ "register", { SYS_io_uring_register, -1, -1 } },
	{ "libaio", { SYS_io_setup, SYS_io_submit, -1 } },
	{ "cachestat", { SYS_cachestat, -1, -1 } },
	{ "mincore", { SYS_mincore, -1, -1 } },
	{ "statx", { SYS_statx, -1, -1 } },
	{ "getrandom", { SYS_getrandom, -1, -1 } },
	{ "affinity", { SYS_sched_setaffinity, -1, -1 } },
	{ "fallocate", { SYS_fallocate, -1, -1 } },
	{ "mlock", { SYS_mlock, SYS_mlockall, -1 } },
};

/* Each call takes two instructions, after the one that loads its number and before the one that allows it. */
static struct sock_filter code[2 + 2 * 3 * 16];
static unsigned short length;

static void deny(const char *name, unsigned error)
{
	for (size_t g = 0; g < sizeof groups / sizeof *groups; g++) {
		if (strcmp(groups[g].name, name))
			continue;
		for (int i = 0; i < 3; i++) {
			if (groups[g].calls[i] < 0)
				continue;
			code[length++] = (struct sock_filter)BPF_JUMP(
				BPF_JMP | BPF_JEQ | BPF_K, (unsigned)groups[g].calls[i], 0, 1);
			code[length++] = (struct sock_filter)BPF_STMT(
				BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error);
		}
		return;
	}
	fprintf(stderr, "deny: %s: no such group\n", name);
	exit(125);
}

int main(int count, char **words)
{
	int at = 1;

	code[length++] = (struct sock_filter)BPF_STMT(
		BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (; at < count && at <= 16 && strcmp(words[at], "--"); at++) {
		char *equals = strchr(words[at], '=');
		if (!equals)
			return 125;
		*equals = 0;
		deny(words[at], (unsigned)atoi(equals + 1));
	}
	if (at + 1 >= count || strcmp(words[at], "--"))
		return 125;
	code[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);

	struct sock_fprog program = { length, code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
		perror("deny");
		return 125;
	}
	execv(words[at + 1], words + at + 1);
	perror(words[at + 1]);
	return 125;
}
