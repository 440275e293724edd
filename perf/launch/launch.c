/* Runs one program on one core and tells what it used.
 *
 *   launch CORE REPORT_FD PROGRAM ARGUMENT...
 *
 * Writes `user_us system_us rss_kib wall_us status` to REPORT_FD, status as a shell would say
 * it. It exists because peak memory outlives an exec: a program started by an interpreter of
 * 15 MB is charged with those, one started by this is charged with less than its own start.
 * The program dies with it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long long microseconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000ll + now.tv_nsec / 1000;
}

static long long microseconds(struct timeval time) {
    return time.tv_sec * 1000000ll + time.tv_usec;
}

static void become(char **command, int core, int report) {
    signal(SIGTERM, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(report);
    cpu_set_t cores;
    CPU_ZERO(&cores);
    CPU_SET((size_t)core, &cores);
    if (sched_setaffinity(0, sizeof cores, &cores) < 0) {
        fprintf(stderr, "launch: failed to pin to core %d: %s\n", core, strerror(errno));
        _exit(126);
    }
    execvp(command[0], command);
    fprintf(stderr, "launch: failed to run %s: %s\n", command[0], strerror(errno));
    _exit(127);
}

int main(int argc, char **argv) {
    if (argc < 4) {
        fprintf(stderr, "usage: launch CORE REPORT_FD PROGRAM ARGUMENT...\n");
        return 2;
    }
    int core = atoi(argv[1]), report = atoi(argv[2]), status = 0;
    long long start = microseconds_now();
    /* A signal to the group ends the program; this one stays to collect it. */
    signal(SIGTERM, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    pid_t child = fork();
    if (child < 0) return 125;
    if (child == 0) become(argv + 3, core, report);
    struct rusage usage;
    while (wait4(child, &status, 0, &usage) < 0) {
        if (errno != EINTR) return 125;
    }
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    dprintf(report, "%lld %lld %ld %lld %d\n", microseconds(usage.ru_utime),
            microseconds(usage.ru_stime), usage.ru_maxrss, microseconds_now() - start, code);
    return code;
}
