/* How many processors this process may use: its affinity mask, and what the cgroups it is in grant it of
 * their time.
 *
 * A container with a quota of two processors on a machine of 64 must not start 64 threads, so the quota
 * counts: rounded up to whole processors, the smallest along the path of groups. Both versions of cgroups are
 * read. What cannot be read grants everything. Costs a few file reads; the pool asks once. */
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rt/pool.h"

enum { MOST = 1 << 16 };

static unsigned affinity(void) {
    for (size_t most = 1024; most <= MOST; most *= 2) { /* the call fails while the mask is too short */
        cpu_set_t *set = CPU_ALLOC(most);
        size_t size = CPU_ALLOC_SIZE(most);
        if (!set)
            break;
        int n = sched_getaffinity(0, size, set) == 0 ? CPU_COUNT_S(size, set) : 0;
        CPU_FREE(set);
        if (n > 0)
            return (unsigned)n;
    }
    return 1;
}

/* Three texts as one, on the heap and without printf: who asks first may be a thread with a short stack.
 * NULL: there is no memory. */
static char *join(const char *x, const char *y, const char *z) {
    size_t a = strlen(x), b = strlen(y), c = strlen(z);
    char *s = malloc(a + b + c + 1);
    if (s) {
        memcpy(s, x, a);
        memcpy(s + a, y, b);
        memcpy(s + a + b, z, c + 1);
    }
    return s;
}

static FILE *open_text(const char *dir, const char *file) {
    char *path = join(dir, "/", file);
    FILE *in = path ? fopen(path, "re") : NULL;
    free(path);
    return in;
}

/* First line of a file. */
static bool first_line(const char *dir, const char *file, char *line, int room) {
    FILE *in = open_text(dir, file);
    bool ok = in && fgets(line, room, in);
    if (in)
        fclose(in);
    return ok;
}

static bool number_in(const char *dir, const char *file, int64_t *out) {
    char line[64], *end;
    if (!first_line(dir, file, line, sizeof line))
        return false;
    *out = strtoll(line, &end, 10);
    return end != line;
}

/* Time granted per period, both in microseconds; false when there is no limit. */
static bool quota_of(const char *dir, int64_t *quota, int64_t *period) {
    char line[64];
    if (number_in(dir, "cpu.cfs_quota_us", quota)) /* version 1; -1: no limit */
        return number_in(dir, "cpu.cfs_period_us", period);
    return first_line(dir, "cpu.max", line, sizeof line) &&
           sscanf(line, "%" SCNd64 " %" SCNd64, quota, period) == 2; /* "max 100000" is no number */
}

/* The least that `group`, below `mount`, and the groups around it grant. */
static unsigned least(const char *mount, const char *group, unsigned cpus) {
    if (strstr(group, "..")) /* outside of what this container sees */
        group = "";
    char *dir = join(mount, group, ""), *slash;
    size_t base = strlen(mount);
    do {
        int64_t quota, period;
        if (dir && quota_of(dir, &quota, &period) && quota > 0 && period > 0) {
            int64_t whole = quota / period + (quota % period != 0);
            if (whole < cpus)
                cpus = (unsigned)whole;
        }
        slash = dir ? strrchr(dir + base, '/') : NULL;
        if (slash)
            *slash = 0;
    } while (slash);
    free(dir);
    return cpus;
}

/* Is "cpu" one of the names in "cpu,cpuacct"? */
static bool has_cpu(const char *names) {
    for (; names; names = strchr(names, ',') ? strchr(names, ',') + 1 : NULL)
        if (strncmp(names, "cpu", 3) == 0 && (names[3] == 0 || names[3] == ','))
            return true;
    return false;
}

/* A line of /proc/self/cgroup, number:controllers:path; no controllers in version 2. */
static unsigned by_group(const char *root, char *line, unsigned cpus) {
    line[strcspn(line, "\n")] = 0;
    char *names = strchr(line, ':'), *group = names ? strchr(names + 1, ':') : NULL;
    if (!group)
        return cpus;
    *group++ = 0;
    names++;
    if (*names && !has_cpu(names))
        return cpus;
    const char *dirs[] = {names, "cpu"};
    for (unsigned i = 0; i < (*names ? 2u : 1u); i++) {
        char *mount = join(root, *names ? "/sys/fs/cgroup/" : "/sys/fs/cgroup", dirs[i]);
        cpus = mount ? least(mount, group, cpus) : cpus;
        free(mount);
    }
    return cpus;
}

unsigned tr_rt_cpus(const char *root) {
    unsigned cpus = affinity();
    FILE *in = open_text(root, "proc/self/cgroup");
    char *line = NULL;
    size_t room = 0;
    while (in && getline(&line, &room, in) > 0)
        cpus = by_group(root, line, cpus);
    free(line);
    if (in)
        fclose(in);
    return cpus ? cpus : 1;
}
