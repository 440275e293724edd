/* The floor: what a closed HTTP/1.1 loop costs when nobody looks at the answers.
 *
 *   floor HOST PORT PATH CLIENTS SECONDS     (HOST is an IPv4 address)
 *
 * One canned request, one write and one read each time the socket has something; answers are
 * told apart only by their length, which a first exchange over a blocking socket teaches. No
 * parsing, no time stamps, no histogram, no errors told apart: whatever a load generator costs
 * above this is its own. It expects each answer to be as long as the first one.
 */
#define _GNU_SOURCE
#include <sys/epoll.h>
#include <sys/resource.h>
#include <time.h>

#include "../canned.h"

enum { EVENTS = 512 };

struct connection {
    int fd;
    size_t missing; /* Bytes of the present answer that are still to come. */
};

static double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static struct connection *opened(const struct sockaddr_in *address, int count, size_t length,
                                 int poll) {
    struct connection *connections = calloc((size_t)count, sizeof *connections);
    if (connections == NULL) fail("allocate connections");
    for (int index = 0; index < count; index++) {
        connections[index].fd = connected(address);
        connections[index].missing = length;
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &connections[index]};
        if (epoll_ctl(poll, EPOLL_CTL_ADD, connections[index].fd, &event) < 0) fail("watch");
    }
    return connections;
}

static unsigned long loop(int poll, size_t length, double end) {
    struct epoll_event events[EVENTS];
    unsigned long requests = 0;
    while (seconds_now() < end) {
        int ready = epoll_wait(poll, events, EVENTS, 100);
        if (ready < 0 && errno != EINTR) fail("wait");
        for (int index = 0; index < ready; index++) {
            struct connection *connection = events[index].data.ptr;
            ssize_t count = recv(connection->fd, buffer, sizeof buffer, MSG_DONTWAIT);
            if (count < 0 && errno == EAGAIN) continue;
            if (count <= 0) fail("read an answer");
            if ((size_t)count > connection->missing) {
                fprintf(stderr, "an answer differs in length from the first one\n");
                exit(1);
            }
            connection->missing -= (size_t)count;
            if (connection->missing == 0) {
                requests++;
                connection->missing = length;
                ask(connection->fd);
            }
        }
    }
    return requests;
}

int main(int argc, char **argv) {
    if (argc != 6) {
        fprintf(stderr, "usage: floor HOST PORT PATH CLIENTS SECONDS\n");
        return 2;
    }
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    struct sockaddr_in address = prepared(argv[1], argv[2], argv[3]);
    int clients = atoi(argv[4]);
    size_t length = learned_length(&address);
    int poll = epoll_create1(EPOLL_CLOEXEC);
    struct connection *connections = opened(&address, clients, length, poll);
    double start = seconds_now();
    for (int index = 0; index < clients; index++) ask(connections[index].fd);
    unsigned long requests = loop(poll, length, start + atof(argv[5]));
    printf("requests %lu\nseconds %.6f\n", requests, seconds_now() - start);
    free(connections);
    return 0;
}
