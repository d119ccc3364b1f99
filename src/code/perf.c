/* perf's map of code made at run time: /tmp/perf-PID.map, a line "start size name" for each function, in
 * hex. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "code/priv.h"

void tr_perf_note(const char *name, const void *addr, size_t size) {
    char path[64], line[512];
    snprintf(path, sizeof path, "/tmp/perf-%ld.map", (long)getpid()); /* the place is perf's choice */
    int n = snprintf(line, sizeof line, "%lx %zx %s\n", (unsigned long)(uintptr_t)addr, size, name);
    if (n < 0 || (size_t)n >= sizeof line)
        return;
    /* /tmp is everybody's: never follow a link that another user laid. One write is one line, also among
     * threads. */
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    if (write(fd, line, (size_t)n) < 0) {
        /* A full disk costs the profile a name. */
    }
    close(fd);
}
