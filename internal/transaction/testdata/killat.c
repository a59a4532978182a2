// killat runs a program and stops it, or lets one system call fail, at the
// N-th system call that changes files, counted over all threads.
//
//     killat N MODE DIRECTORY PROGRAM ARGUMENT...
//
// MODE: before, after (SIGKILL before or after the call), eio, enospc (the call
// fails, undone), short (a write is cut in half and the next one finds the disk
// full). Calls on descriptors that lead outside DIRECTORY do not count. Exit
// status 77: the program made fewer calls. Linux on x86-64 only.
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

static const int calls[] = {
    SYS_write, SYS_pwrite64, SYS_fsync, SYS_fdatasync, SYS_ftruncate, SYS_fallocate, SYS_openat,
    SYS_rename, SYS_renameat, SYS_renameat2, SYS_link, SYS_linkat, SYS_unlink, SYS_unlinkat,
    SYS_fchmod, SYS_fchown, SYS_fsetxattr, SYS_copy_file_range, SYS_sendfile,
};
enum { CALLS = sizeof calls / sizeof *calls };

static void die(const char *what) {
    perror(what);
    exit(99);
}

static void child(char **argv) {
    struct sock_filter f[CALLS + 3];
    int n = 0;
    f[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (int i = 0; i < CALLS; i++)
        f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i], CALLS - i, 0);
    f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE);
    struct sock_fprog prog = {.len = n, .filter = f};
    if (ptrace(PTRACE_TRACEME, 0, 0, 0)) die("ptrace");
    raise(SIGSTOP);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog)) die("seccomp");
    execvp(argv[0], argv);
    die(argv[0]);
}

// counts tells whether a call changes a file in the directory.
static int counts(pid_t pid, struct user_regs_struct *r, const char *dir) {
    long nr = r->orig_rax;
    char link[64], to[4096];
    switch (nr) {
    case SYS_openat:
        return (r->rdx & O_CREAT) != 0;
    case SYS_rename: case SYS_renameat: case SYS_renameat2: case SYS_link: case SYS_linkat:
    case SYS_unlink: case SYS_unlinkat:
        return 1;
    }
    snprintf(link, sizeof link, "/proc/%d/fd/%d", pid, (int)r->rdi);
    ssize_t n = readlink(link, to, sizeof to - 1);
    return n > 0 && (to[n] = 0, strncmp(to, dir, strlen(dir)) == 0);
}

static void fail(pid_t pid, struct user_regs_struct *r, int error) {
    r->orig_rax = -1;
    r->rax = -error;
    if (ptrace(PTRACE_SETREGS, pid, 0, r)) die("setregs");
}

int main(int argc, char **argv) {
    if (argc < 5) return 98;
    long at = atol(argv[1]), seen = 0;
    const char *mode = argv[2], *dir = argv[3];
    pid_t first = fork();
    if (first == 0) child(argv + 4);
    int status, full = 0;
    pid_t exiting = 0;
    if (waitpid(first, &status, 0) != first) die("waitpid");
    ptrace(PTRACE_SETOPTIONS, first, 0,
           PTRACE_O_TRACESECCOMP | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD);
    ptrace(PTRACE_CONT, first, 0, 0);
    for (;;) {
        pid_t pid = waitpid(-1, &status, __WALL);
        if (pid < 0) return 97;
        if (WIFEXITED(status) || WIFSIGNALED(status)) {
            if (pid != first) continue;
            if (seen < at) return 77;
            return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        }
        int signal = WSTOPSIG(status), event = status >> 16;
        if (pid == exiting && signal == (SIGTRAP | 0x80)) {
            kill(first, SIGKILL);
            continue;
        }
        if (event == PTRACE_EVENT_SECCOMP) {
            struct user_regs_struct r;
            if (ptrace(PTRACE_GETREGS, pid, 0, &r)) continue; // killed meanwhile
            int writes = r.orig_rax == SYS_write || r.orig_rax == SYS_pwrite64;
            if (counts(pid, &r, dir)) {
                seen++;
                if (full && writes) {
                    full = 0;
                    fail(pid, &r, ENOSPC);
                } else if (seen == at) {
                    if (!strcmp(mode, "before")) {
                        kill(first, SIGKILL);
                        continue;
                    } else if (!strcmp(mode, "after")) {
                        exiting = pid;
                        ptrace(PTRACE_SYSCALL, pid, 0, 0);
                        continue;
                    } else if (!strcmp(mode, "eio")) {
                        fail(pid, &r, EIO);
                    } else if (!strcmp(mode, "enospc") || !writes) {
                        fail(pid, &r, ENOSPC);
                    } else {
                        r.rdx /= 2;
                        full = 1;
                        ptrace(PTRACE_SETREGS, pid, 0, &r);
                    }
                }
            }
            signal = 0;
        } else if (event || signal == SIGTRAP || signal == SIGSTOP) {
            signal = 0;
        }
        ptrace(PTRACE_CONT, pid, 0, signal);
    }
}
