/* What the floor and the reference share: one canned request, and answers that are told apart
 * by their length alone. Each program includes it once.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BUFFER = 256 * 1024 };

static char request[1024];
static size_t request_length;
static char buffer[BUFFER];

static void fail(const char *what) {
    fprintf(stderr, "failed to %s: %s\n", what, strerror(errno));
    exit(1);
}

static int connected(const struct sockaddr_in *address) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) fail("open a socket");
    if (connect(fd, (const struct sockaddr *)address, sizeof *address) < 0) fail("connect");
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

static void ask(int fd) {
    if (send(fd, request, request_length, MSG_NOSIGNAL) != (ssize_t)request_length) {
        fail("write a request");
    }
}

/* One whole exchange; returns the length of head and body together. */
static size_t learned_length(const struct sockaddr_in *address) {
    int fd = connected(address);
    ask(fd);
    size_t filled = 0;
    char *end = NULL;
    while (end == NULL) {
        ssize_t count = recv(fd, buffer + filled, sizeof buffer - 1 - filled, 0);
        if (count <= 0) fail("read the first answer");
        filled += (size_t)count;
        buffer[filled] = '\0';
        end = strstr(buffer, "\r\n\r\n");
    }
    char *length = strcasestr(buffer, "\r\ncontent-length:");
    if (length == NULL || length > end) {
        fprintf(stderr, "the answer has no content-length\n");
        exit(1);
    }
    close(fd);
    return (size_t)(end + 4 - buffer) + strtoul(length + 17, NULL, 10);
}

/* The address of the server; makes the request for `path` on the way. */
static struct sockaddr_in prepared(const char *host, const char *port, const char *path) {
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((unsigned short)atoi(port))};
    if (inet_pton(AF_INET, host, &address.sin_addr) != 1) fail("read the address");
    int length = snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: %s:%s\r\n\r\n",
                          path, host, port);
    if (length < 0 || (size_t)length >= sizeof request) fail("fit the request into 1,024 bytes");
    request_length = (size_t)length;
    return address;
}
