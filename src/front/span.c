/* The location table of PEP 626 and 657: from an instruction to a stretch of source.
 *
 * Entries follow each other without an index, so a function's table is decoded once, in full
 * (tr_front_spans). A broken table gives unknown places, never an error: places are for messages only. */
#include "front/internal.h"

typedef struct reader {
    const uint8_t *p;
    uint32_t n, pos;
    bool bad;
} reader;

static uint8_t byte(reader *r) {
    if (r->pos >= r->n) {
        r->bad = true;
        return 0;
    }
    return r->p[r->pos++];
}
/* Six bits a byte, lowest first; bit 6: more follow. */
static int64_t varint(reader *r) {
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 36; shift += 6) {
        uint8_t b = byte(r);
        v |= (uint64_t)(b & 63u) << shift;
        if (!(b & 64))
            return (int64_t)v;
    }
    r->bad = true;
    return 0;
}
static int64_t svarint(reader *r) {
    int64_t v = varint(r);
    return v & 1 ? -(v >> 1) : v >> 1;
}
static int32_t clamp(int64_t v) {
    return v < 0 || v > INT32_MAX ? -1 : (int32_t)v;
}

/* Reads one entry: the span and the number of code units it covers. `line` is carried from entry to entry. */
static uint32_t entry(reader *r, int64_t *line, tr_span *out) {
    uint8_t head = byte(r);
    unsigned kind = (head >> 3) & 15;
    uint32_t units = (head & 7u) + 1u;
    int64_t end_line, col = -1, end_col = -1;
    if (!(head & 0x80))
        r->bad = true; /* every entry starts with a set top bit */
    if (kind == 15) {  /* no place at all */
        *out = (tr_span){0, -1, 0, -1};
        return units;
    }
    if (kind == 14) {
        *line += svarint(r);
        end_line = *line + varint(r);
        col = varint(r) - 1;
        end_col = varint(r) - 1;
    } else if (kind == 13) {
        end_line = *line += svarint(r);
    } else if (kind >= 10) {
        end_line = *line += kind - 10;
        col = byte(r);
        end_col = byte(r);
    } else {
        uint8_t b = byte(r);
        end_line = *line;
        col = kind * 8 + (b >> 4);
        end_col = col + (b & 15);
    }
    bool known = *line > 0 && *line <= INT32_MAX;
    *out = (tr_span){known ? (int32_t)*line : 0, clamp(col), known ? clamp(end_line) : 0, clamp(end_col)};
    return units;
}

tr_span *tr_front_spans(tr_ctx *ctx, const tr_code *c) {
    uint32_t nunits = c->ncode / 2, unit = 0;
    tr_span *spans = TR_NEW_N(&ctx->arena, tr_span, nunits);
    for (uint32_t i = 0; i < nunits; i++)
        spans[i] = (tr_span){0, -1, 0, -1};
    reader r = {c->linetab, c->nlinetab, 0, false};
    int64_t line = c->firstline;
    while (unit < nunits && r.pos < r.n) {
        tr_span s;
        uint32_t units = entry(&r, &line, &s);
        if (r.bad)
            break;
        for (; units > 0 && unit < nunits; units--)
            spans[unit++] = s;
    }
    return spans;
}

tr_span tr_front_span(const tr_code *c, uint32_t off) {
    reader r = {c->linetab, c->nlinetab, 0, false};
    int64_t line = c->firstline;
    tr_span s = {0, -1, 0, -1};
    for (uint32_t unit = 0; r.pos < r.n;) {
        uint32_t units = entry(&r, &line, &s);
        if (r.bad)
            break;
        unit += units;
        if (off / 2 < unit)
            return s;
    }
    return (tr_span){0, -1, 0, -1};
}

int32_t tr_front_last_line(const tr_code *c) {
    reader r = {c->linetab, c->nlinetab, 0, false};
    int64_t line = c->firstline;
    int32_t last = (int32_t)c->firstline;
    tr_span s;
    while (r.pos < r.n && entry(&r, &line, &s) > 0 && !r.bad) {
        int32_t end = s.end_line > s.line ? s.end_line : s.line;
        last = end > last ? end : last;
    }
    return last;
}
