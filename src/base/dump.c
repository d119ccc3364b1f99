/* TREADLE_DUMP, TREADLE_SKIP, TREADLE_VERIFY: parsing and the questions asked of them. */
#include "base/dump.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name, *help;
} stages[] = {
#define X(id, name, help) {name, help},
    TR_STAGES(X)
#undef X
};

static bool is(const char *s, size_t n, const char *word) {
    return strlen(word) == n && !memcmp(s, word, n);
}

/* Copies at most size-1 bytes; false when it does not fit. */
static bool copy(char *dst, size_t size, const char *s, size_t n) {
    if (n >= size)
        return false;
    memcpy(dst, s, n);
    dst[n] = 0;
    return true;
}

static bool parse_item(tr_dump *d, const char *s, size_t n, char *msg, unsigned size) {
    const char *colon = memchr(s, ':', n);
    size_t word = colon ? (size_t)(colon - s) : n;
    if (is(s, n, "help")) {
        d->help = true;
        return true;
    }
    for (unsigned i = 0; i < TR_STAGE__COUNT; i++) {
        if (!is(s, word, stages[i].name))
            continue;
        d->stages |= 1u << i;
        if (!colon)
            return true;
        if (i == TR_STAGE_OPT && copy(d->pass, sizeof d->pass, colon + 1, n - word - 1))
            return true;
        snprintf(msg, size, "TREADLE_DUMP: only opt takes a pass, as in opt:bounds; got '%.*s'", (int)n, s);
        return false;
    }
    snprintf(msg, size, "TREADLE_DUMP: no stage '%.*s'; TREADLE_DUMP=help lists them", (int)n, s);
    return false;
}

bool tr_dump_parse(tr_dump *d, const char *dump, const char *skip, const char *verify, char *msg,
                   unsigned size) {
    memset(d, 0, sizeof *d);
    if (size)
        msg[0] = 0;
    d->verify = verify && *verify && strcmp(verify, "0") != 0;
    if (skip && !copy(d->skip, sizeof d->skip, skip, strlen(skip))) {
        snprintf(msg, size, "TREADLE_SKIP is too long");
        return false;
    }
    if (!dump)
        return true;
    const char *end = strchr(dump, '@');
    if (end && !copy(d->only, sizeof d->only, end + 1, strlen(end + 1))) {
        snprintf(msg, size, "TREADLE_DUMP: the name after @ is too long");
        return false;
    }
    if (!end)
        end = dump + strlen(dump);
    while (dump < end) {
        const char *comma = memchr(dump, ',', (size_t)(end - dump));
        size_t n = (size_t)((comma ? comma : end) - dump);
        if (n && !parse_item(d, dump, n, msg, size))
            return false;
        dump += n + (comma ? 1 : 0);
    }
    return true;
}

void tr_dump_help(tr_sb *out) {
    tr_sb_puts(out, "TREADLE_DUMP=STAGE,...[@FUNCTION] with stages:\n");
    for (unsigned i = 0; i < TR_STAGE__COUNT; i++)
        tr_sb_printf(out, "  %-8s %s\n", stages[i].name, stages[i].help);
    tr_sb_puts(out, "TREADLE_SKIP=PASS,... leaves passes out; TREADLE_VERIFY=1 verifies after each pass\n");
}

bool tr_dump_wants(const tr_dump *d, tr_stage s, const char *pass, const char *fn) {
    if (!(d->stages & (1u << s)))
        return false;
    if (d->only[0] && fn && strcmp(d->only, fn) != 0) {
        /* instances are named after their function: f, f.1, ... */
        size_t n = strlen(d->only);
        if (strncmp(d->only, fn, n) != 0 || fn[n] != '.')
            return false;
    }
    return !d->pass[0] || !pass || !strcmp(d->pass, pass);
}

bool tr_dump_skips(const tr_dump *d, const char *pass) {
    size_t n = strlen(pass);
    for (const char *p = d->skip; *p;) {
        size_t k = strcspn(p, ",");
        if (k == n && !memcmp(p, pass, n))
            return true;
        p += k + (p[k] == ',');
    }
    return false;
}
