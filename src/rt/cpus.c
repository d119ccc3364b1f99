/* How many processors this process may use: its affinity mask, and what the cgroups it is in grant it of their time.
 *
 * A container with a quota of two processors on a machine of 64 must not start 64 threads, so the quota counts:
 * rounded up to whole processors, the smallest along the path of groups. Both versions of cgroups are read. What cannot
 * be read grants everything. Costs a few file reads; the pool asks once. */
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rt/pool.h"

enum { PATH = 4096, MOST = 1 << 16 };

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

/* First line of a file, without its end. */
static bool first_line(const char *path, char *line, int room) {
    FILE *in = fopen(path, "re");
    bool ok = in && fgets(line, room, in);
    if (in)
        fclose(in);
    if (ok)
        line[strcspn(line, "\n")] = 0;
    return ok;
}

static bool number_in(const char *dir, const char *file, int64_t *out) {
    char path[PATH], line[64], *end;
    if (snprintf(path, sizeof path, "%s/%s", dir, file) >= (int)sizeof path ||
        !first_line(path, line, sizeof line))
        return false;
    *out = strtoll(line, &end, 10);
    return end != line;
}

/* Time granted per period, both in microseconds; false when there is no limit. */
static bool quota_of(const char *dir, int64_t *quota, int64_t *period) {
    char path[PATH], line[64];
    if (number_in(dir, "cpu.cfs_quota_us", quota)) /* version 1; -1: no limit */
        return number_in(dir, "cpu.cfs_period_us", period);
    if (snprintf(path, sizeof path, "%s/cpu.max", dir) >= (int)sizeof path ||
        !first_line(path, line, sizeof line))
        return false;
    return sscanf(line, "%" SCNd64 " %" SCNd64, quota, period) == 2; /* "max 100000" is no number */
}

/* The least that `group`, below `mount`, and the groups around it grant. */
static unsigned least(const char *mount, const char *group, unsigned cpus) {
    char dir[PATH];
    size_t base = strlen(mount);
    if (strstr(group, "..")) /* outside of what this container sees */
        group = "";
    if (snprintf(dir, sizeof dir, "%s%s", mount, group) >= (int)sizeof dir)
        return cpus;
    for (;;) {
        int64_t quota, period;
        if (quota_of(dir, &quota, &period) && quota > 0 && period > 0) {
            int64_t whole = quota / period + (quota % period != 0);
            if (whole < cpus)
                cpus = (unsigned)whole;
        }
        char *slash = strrchr(dir + base, '/');
        if (!slash)
            return cpus;
        *slash = 0;
    }
}

/* Is "cpu" one of the names in "cpu,cpuacct"? */
static bool has_cpu(const char *names) {
    for (; names; names = strchr(names, ',') ? strchr(names, ',') + 1 : NULL)
        if (strncmp(names, "cpu", 3) == 0 && (names[3] == 0 || names[3] == ','))
            return true;
    return false;
}

unsigned tr_rt_cpus(const char *root) {
    char path[PATH], line[PATH], mount[PATH];
    unsigned cpus = affinity();
    FILE *in = snprintf(path, sizeof path, "%s/proc/self/cgroup", root) < (int)sizeof path ? fopen(path, "re")
                                                                                           : NULL;
    while (in && fgets(line, sizeof line, in)) { /* number:controllers:path; no controllers in version 2 */
        line[strcspn(line, "\n")] = 0;
        char *names = strchr(line, ':'), *group = names ? strchr(names + 1, ':') : NULL;
        if (!group)
            continue;
        *group++ = 0;
        names++;
        if (*names && !has_cpu(names))
            continue;
        const char *dirs[] = {names, "cpu"};
        for (unsigned i = 0; i < (*names ? 2u : 1u); i++)
            if (snprintf(mount, sizeof mount, "%s/sys/fs/cgroup%s%s", root, *names ? "/" : "", dirs[i]) <
                (int)sizeof mount)
                cpus = least(mount, group, cpus);
    }
    if (in)
        fclose(in);
    return cpus ? cpus : 1;
}
