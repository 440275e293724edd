/* The reference for open loops: sends on a constant schedule without ever sleeping.
 *
 *   spin HOST PORT PATH CLIENTS RATE SECONDS     (HOST is an IPv4 address)
 *
 * It turns on its core between two sends, so that no timer and no wake-up stands between the
 * schedule and the wire; what it reports is close to what the server and the loopback take.
 * Latency counts from the intended time; a request for which no connection is free waits in
 * the schedule and keeps its intended time. It expects answers as long as the first one, and
 * it has no idea of what a frugal client would cost.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <sys/epoll.h>
#include <time.h>

#include "../canned.h"

/* 2^7 buckets in each octave: a value is known to 0.8 %. */
enum { EVENTS = 256, BITS = 7, BUCKETS = (64 - BITS + 1) << BITS };

struct connection {
    int fd;
    size_t missing;
    uint64_t intended;
};

struct idle { /* A ring, so that all connections take their turn. */
    struct connection **slots;
    size_t size, first, count;
};

static uint64_t histogram[BUCKETS];

static uint64_t nanoseconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static size_t bucket(uint64_t value) {
    if (value < (1u << BITS)) return value;
    unsigned shift = 63u - (unsigned)__builtin_clzll(value) - BITS;
    return ((size_t)shift << BITS) + (size_t)(value >> shift);
}

/* The middle of a bucket: the inverse of `bucket`. */
static uint64_t value_of(size_t index) {
    if (index < (2u << BITS)) return index;
    unsigned shift = (unsigned)(index >> BITS) - 1;
    uint64_t low = (uint64_t)((index & ((1u << BITS) - 1)) | (1u << BITS)) << shift;
    return low + ((1ull << shift) >> 1);
}

static uint64_t quantile(double share, uint64_t total) {
    uint64_t rank = (uint64_t)(share * (double)total), seen = 0;
    for (size_t index = 0; index < BUCKETS; index++) {
        seen += histogram[index];
        if (seen > rank) return value_of(index);
    }
    return 0;
}

static void put(struct idle *idle, struct connection *connection) {
    idle->slots[(idle->first + idle->count) % idle->size] = connection;
    idle->count++;
}

static struct connection *take(struct idle *idle) {
    struct connection *connection = idle->slots[idle->first];
    idle->first = (idle->first + 1) % idle->size;
    idle->count--;
    return connection;
}

static struct idle opened(const struct sockaddr_in *address, size_t count, int poll) {
    struct connection *connections = calloc(count, sizeof *connections);
    struct idle idle = {.slots = calloc(count, sizeof(struct connection *)), .size = count};
    if (connections == NULL || idle.slots == NULL) fail("allocate connections");
    for (size_t index = 0; index < count; index++) {
        connections[index].fd = connected(address);
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &connections[index]};
        if (epoll_ctl(poll, EPOLL_CTL_ADD, connections[index].fd, &event) < 0) fail("watch");
        put(&idle, &connections[index]);
    }
    return idle;
}

/* Reads what has come; returns how many answers were completed by it. */
static uint64_t answers(int poll, struct idle *idle) {
    struct epoll_event events[EVENTS];
    int ready = epoll_wait(poll, events, EVENTS, 0);
    uint64_t complete = 0;
    for (int index = 0; index < ready; index++) {
        struct connection *connection = events[index].data.ptr;
        ssize_t count = recv(connection->fd, buffer, sizeof buffer, MSG_DONTWAIT);
        if (count < 0 && errno == EAGAIN) continue;
        if (count <= 0 || (size_t)count > connection->missing) fail("read an answer");
        connection->missing -= (size_t)count;
        if (connection->missing > 0) continue;
        histogram[bucket(nanoseconds_now() - connection->intended)]++;
        put(idle, connection);
        complete++;
    }
    return complete;
}

int main(int argc, char **argv) {
    if (argc != 7) {
        fprintf(stderr, "usage: spin HOST PORT PATH CLIENTS RATE SECONDS\n");
        return 2;
    }
    struct sockaddr_in address = prepared(argv[1], argv[2], argv[3]);
    double gap = 1e9 / atof(argv[5]);
    uint64_t planned = (uint64_t)(atof(argv[5]) * atof(argv[6]) + 0.5);
    size_t length = learned_length(&address);
    int poll = epoll_create1(EPOLL_CLOEXEC);
    struct idle idle = opened(&address, (size_t)atoi(argv[4]), poll);
    uint64_t start = nanoseconds_now() + 1000000, sent = 0, ok = 0;
    /* A second of grace for what is still on its way when the schedule ends. */
    uint64_t end = start + (uint64_t)(gap * (double)planned) + 1000000000u;
    for (uint64_t now = nanoseconds_now(); ok < planned && now < end; now = nanoseconds_now()) {
        uint64_t intended = start + (uint64_t)(gap * (double)sent);
        if (sent < planned && intended <= now && idle.count > 0) {
            struct connection *connection = take(&idle);
            connection->intended = intended;
            connection->missing = length;
            ask(connection->fd);
            sent++;
        }
        ok += answers(poll, &idle);
    }
    printf("planned %lu\nsent %lu\nok %lu\np50_ns %lu\np99_ns %lu\np99_9_ns %lu\n", planned, sent,
           ok, quantile(0.5, ok), quantile(0.99, ok), quantile(0.999, ok));
    return 0;
}
