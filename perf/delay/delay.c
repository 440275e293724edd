/* A server whose delays are known: the truth that a client's quantiles are held against.
 *
 *   delay PORT SHORT_US LONG_US EVERY [spin]
 *
 * Answers each request SHORT_US after it has been read, and each EVERY-th one after LONG_US.
 * With `spin` it never sleeps: its core is then its own, and delays are met to a microsecond
 * or two; without, timeouts are in nanoseconds and the timer slack is one, and a wake-up adds
 * what the machine takes for one. PORT 0 takes a free one; it prints `listening PORT`.
 * A request is whatever a read brings that ends with an empty line: no parsing, no pipelining.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { EVENTS = 256, PENDING = 1 << 15 };

static const char ANSWER[] =
    "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 13\r\n\r\nHello, world!";

/* All entries of a queue have the same delay: first in, first due, so a ring is a timer heap. */
struct queue {
    uint64_t delay_ns;
    struct {
        int fd;
        uint64_t due;
    } slots[PENDING];
    size_t first, count;
};

static struct queue queues[2];
static uint64_t requests, every;

static void fail(const char *what) {
    fprintf(stderr, "delay: failed to %s: %s\n", what, strerror(errno));
    exit(1);
}

static uint64_t nanoseconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int listening(unsigned short port) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), on = 1;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    socklen_t size = sizeof address;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, (struct sockaddr *)&address, size) < 0) fail("bind");
    if (listen(fd, 4096) < 0) fail("listen");
    getsockname(fd, (struct sockaddr *)&address, &size);
    printf("listening %u\n", ntohs(address.sin_port));
    fflush(stdout);
    return fd;
}

static void accept_all(int listener, int poll) {
    for (;;) {
        int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC), on = 1;
        if (fd < 0) return;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
        epoll_ctl(poll, EPOLL_CTL_ADD, fd, &event);
    }
}

/* A client that leaves while it is owed an answer makes its number free for another: due
 * answers to it are given up here, so that nobody gets an answer that was not asked for. */
static void leave(int fd) {
    for (int kind = 0; kind < 2; kind++) {
        struct queue *queue = &queues[kind];
        for (size_t index = 0; index < queue->count; index++) {
            size_t slot = (queue->first + index) % PENDING;
            if (queue->slots[slot].fd == fd) queue->slots[slot].fd = -1;
        }
    }
    close(fd);
}

static void take_request(int fd) {
    char buffer[8192];
    ssize_t count = recv(fd, buffer, sizeof buffer, 0);
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) {
        leave(fd);
        return;
    }
    if (count < 4 || memcmp(buffer + count - 4, "\r\n\r\n", 4) != 0) return;
    requests++;
    struct queue *queue = &queues[requests % every == 0];
    if (queue->count == PENDING) {
        fprintf(stderr, "delay: more than %d answers are owed\n", PENDING);
        exit(1);
    }
    size_t slot = (queue->first + queue->count++) % PENDING;
    queue->slots[slot].fd = fd;
    queue->slots[slot].due = nanoseconds_now() + queue->delay_ns;
}

static void answer_due(void) {
    for (int kind = 0; kind < 2; kind++) {
        struct queue *queue = &queues[kind];
        while (queue->count > 0 && queue->slots[queue->first].due <= nanoseconds_now()) {
            int fd = queue->slots[queue->first].fd;
            if (fd >= 0) send(fd, ANSWER, sizeof ANSWER - 1, MSG_NOSIGNAL);
            queue->first = (queue->first + 1) % PENDING;
            queue->count--;
        }
    }
}

/* Time until the next answer is due; a second when none is owed. */
static struct timespec patience(void) {
    uint64_t now = nanoseconds_now(), next = now + 1000000000u;
    for (int kind = 0; kind < 2; kind++) {
        struct queue *queue = &queues[kind];
        if (queue->count > 0 && queue->slots[queue->first].due < next) {
            next = queue->slots[queue->first].due;
        }
    }
    uint64_t left = next > now ? next - now : 0;
    return (struct timespec){.tv_sec = (time_t)(left / 1000000000u),
                             .tv_nsec = (long)(left % 1000000000u)};
}

int main(int argc, char **argv) {
    if (argc < 5 || atoll(argv[4]) < 1) {
        fprintf(stderr, "usage: delay PORT SHORT_US LONG_US EVERY [spin]\n");
        return 2;
    }
    queues[0].delay_ns = strtoull(argv[2], NULL, 10) * 1000;
    queues[1].delay_ns = strtoull(argv[3], NULL, 10) * 1000;
    every = strtoull(argv[4], NULL, 10);
    int spin = argc > 5 && strcmp(argv[5], "spin") == 0;
    prctl(PR_SET_TIMERSLACK, 1);
    int poll = epoll_create1(EPOLL_CLOEXEC);
    int listener = listening((unsigned short)atoi(argv[1]));
    struct epoll_event event = {.events = EPOLLIN, .data.fd = listener};
    if (epoll_ctl(poll, EPOLL_CTL_ADD, listener, &event) < 0) fail("watch");
    for (;;) {
        struct epoll_event events[EVENTS];
        struct timespec wait = {0};
        if (!spin) wait = patience();
        int ready = epoll_pwait2(poll, events, EVENTS, &wait, NULL);
        if (ready < 0 && errno != EINTR) fail("wait");
        for (int index = 0; index < ready; index++) {
            if (events[index].data.fd == listener) accept_all(listener, poll);
            else take_request(events[index].data.fd);
        }
        answer_due();
    }
}
