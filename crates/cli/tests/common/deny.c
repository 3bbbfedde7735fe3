/* Runs a program to which the kernel denies some calls, as an older kernel or a container's filter does.
 *
 *     deny GROUP=ERRNO... -- PROGRAM ARGUMENTS
 *
 * A seccomp filter answers each call of a group with the error; it stays in force for the program and all that
 * it starts. The group `setup:FLAGS` is every io_uring_setup with one of these flags. They stand in memory that no
 * filter can look into, so a process beside it is asked, which needs root.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_cachestat
#define SYS_cachestat 451
#endif

/* From include/uapi/linux/io_uring.h: where the flags stand in struct io_uring_params; IORING_REGISTER_RING_FDS. */
#define SETUP_FLAGS_AT 8
#define REGISTER_RING_FDS 20

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

/* A word takes at most six instructions, after the one that loads the call's number and before the one that allows it. */
static struct sock_filter code[2 + 6 * 16];
static unsigned short length;

/* What is asked of the process beside. */
static unsigned setup_flags;
static int setup_error;

static void add(struct sock_filter instruction)
{
	code[length++] = instruction;
}

static void load(size_t offset)
{
	add((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset));
}

/* The next `count` instructions are for this value alone. */
static void only(unsigned value, unsigned char count)
{
	add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, count));
}

static void answer(unsigned action)
{
	add((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action));
}

static void deny(const char *name, unsigned error)
{
	if (!strncmp(name, "setup:", 6)) {
		setup_flags = (unsigned)strtoul(name + 6, NULL, 0);
		setup_error = (int)error;
		only(SYS_io_uring_setup, 1);
		answer(SECCOMP_RET_USER_NOTIF);
		return;
	}
	if (!strcmp(name, "ring_fds")) {
		only(SYS_io_uring_register, 4);
		load(offsetof(struct seccomp_data, args[1]));
		only(REGISTER_RING_FDS, 1);
		answer(SECCOMP_RET_ERRNO | error);
		load(offsetof(struct seccomp_data, nr));
		return;
	}
	for (size_t g = 0; g < sizeof groups / sizeof *groups; g++) {
		if (strcmp(groups[g].name, name))
			continue;
		for (int i = 0; i < 3; i++) {
			if (groups[g].calls[i] < 0)
				continue;
			only((unsigned)groups[g].calls[i], 1);
			answer(SECCOMP_RET_ERRNO | error);
		}
		return;
	}
	fprintf(stderr, "deny: %s: no such group\n", name);
	exit(125);
}

/* Flags of a ring that a process is about to set up; none when they cannot be read, as the kernel will say itself. */
static unsigned flags_of(const struct seccomp_notif *asked)
{
	char path[64];
	unsigned flags = 0;

	snprintf(path, sizeof path, "/proc/%u/mem", asked->pid);
	int memory = open(path, O_RDONLY | O_CLOEXEC);
	if (memory < 0 ||
	    pread(memory, &flags, sizeof flags, (off_t)(asked->data.args[1] + SETUP_FLAGS_AT)) != sizeof flags)
		flags = 0;
	if (memory >= 0)
		close(memory);
	return flags;
}

/* Answers for the kernel until the program, whose child this is, ends. */
static void supervise(int listener)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* Whoever reads what the program prints waits for all who could. */
	for (int fd = 0; fd < 3; fd++)
		close(fd);
	for (;;) {
		struct seccomp_notif asked = { 0 };
		struct seccomp_notif_resp said = { 0 };

		if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &asked)) {
			if (errno == EINTR || errno == ENOENT)
				continue;
			_exit(0);
		}
		said.id = asked.id;
		if (flags_of(&asked) & setup_flags)
			said.error = -setup_error;
		else
			said.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
		ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &said);
	}
}

int main(int count, char **words)
{
	int at = 1;

	load(offsetof(struct seccomp_data, nr));
	for (; at < count && at <= 16 && strcmp(words[at], "--"); at++) {
		char *equals = strchr(words[at], '=');
		if (!equals)
			return 125;
		*equals = 0;
		deny(words[at], (unsigned)atoi(equals + 1));
	}
	if (at + 1 >= count || strcmp(words[at], "--"))
		return 125;
	answer(SECCOMP_RET_ALLOW);

	struct sock_fprog program = { length, code };
	unsigned flags = setup_flags ? SECCOMP_FILTER_FLAG_NEW_LISTENER : 0;
	long listener = -1;

	if (!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		listener = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
	if (listener < 0) {
		perror("deny");
		return 125;
	}
	if (setup_flags && fork() == 0)
		supervise((int)listener);
	execv(words[at + 1], words + at + 1);
	perror(words[at + 1]);
	return 125;
}
