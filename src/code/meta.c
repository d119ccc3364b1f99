/* tr_meta as bytes and back: for the cache, and to copy it out of a compilation's arena.
 *
 * Format: fixed-width little-endian fields in the order of the structs; a text is its length + 1 (0: NULL)
 * and its bytes. Reading checks every length against what is left, so any bytes are either a tr_meta or
 * refused. All that is read lies in one block of tr_meta_room() bytes. */
#include <assert.h>
#include <string.h>

#include "code/priv.h"

/* --- lines that have moved --- */

static bool same_text(const char *a, const char *b) {
    return a == b || (a && b && !strcmp(a, b));
}

static bool has_line(const tr_mfunc *f, int32_t line) {
    return f->first <= line && line <= f->last;
}

/* Lines of both are somebody's of whom nobody can say which one it is: `lambda: 1, lambda: 2` that stand in
 * two lines now. */
static bool are_mixed(const tr_mfunc *f, const tr_mfunc *g) {
    return f->now - f->first != g->now - g->first && (has_line(f, g->first) || has_line(g, f->first)) &&
           same_text(f->fn, g->fn) && same_text(f->file, g->file);
}

bool tr_place_move(const tr_mfunc *funcs, uint32_t n, tr_place *p) {
    uint32_t i = 0;
    while (i < n && !(has_line(&funcs[i], p->span.line) && same_text(funcs[i].fn, p->fn) &&
                      same_text(funcs[i].file, p->file)))
        i++;
    if (i == n)
        return p->span.line <= 0;
    if (p->span.end_line > TR_MAX_LINE)
        return false;
    int32_t by = funcs[i].now - funcs[i].first;
    p->span.line += by;
    p->span.end_line += p->span.end_line > 0 ? by : 0;
    return true;
}

static bool move_sites(tr_meta *m) {
    bool ok = true;
    for (uint32_t i = 0; i < m->nsites; i++)
        for (uint32_t k = 0; k < m->sites[i].nplaces; k++)
            ok = ok && tr_place_move(m->funcs, m->nfuncs, &m->sites[i].places[k]);
    return ok;
}

bool tr_meta_move(tr_meta *m, const tr_mfunc *as, uint32_t n) {
    bool moved = false, ok = n == m->nfuncs;
    for (uint32_t i = 0; ok && i < n; i++) {
        m->funcs[i].now = as[i].now;
        moved = moved || as[i].now != m->funcs[i].first;
    }
    if (!ok || !moved)
        return ok;
    for (uint32_t i = 0; ok && i < n; i++)
        for (uint32_t k = 0; ok && k < i; k++)
            ok = !are_mixed(&m->funcs[i], &m->funcs[k]);
    return ok && !m->says_lines && move_sites(m);
}

/* --- writing --- */

static void put_u32(tr_sb *b, uint32_t v) {
    tr_sb_write(b, &v, sizeof v);
}

static void put_text(tr_sb *b, const char *s) {
    size_t n = s ? strlen(s) : 0;
    put_u32(b, s ? (uint32_t)n + 1 : 0);
    tr_sb_write(b, s ? s : "", n);
}

static void put_site(tr_sb *b, const tr_msite *s) {
    tr_sb_putc(b, (char)s->exc);
    put_u32(b, s->own);
    tr_sb_write(b, &s->cls, sizeof s->cls);
    tr_sb_putc(b, (char)s->says);
    put_text(b, s->name);
    put_text(b, s->text);
    put_u32(b, s->nargs);
    for (uint32_t i = 0; i < s->nargs; i++) {
        const tr_marg *a = &s->args[i];
        tr_sb_putc(b, a->kind);
        tr_sb_write(b, &a->i, sizeof a->i);
        tr_sb_write(b, &a->d, sizeof a->d);
        put_text(b, a->s);
    }
    put_u32(b, s->nplaces);
    for (uint32_t i = 0; i < s->nplaces; i++) {
        put_text(b, s->places[i].file);
        put_text(b, s->places[i].fn);
        tr_sb_write(b, &s->places[i].span, sizeof s->places[i].span);
    }
}

static void put_late(tr_sb *b, const tr_mlate *l) {
    put_text(b, l->text);
}

static void put_func(tr_sb *b, const tr_mfunc *f) {
    put_text(b, f->file);
    put_text(b, f->fn);
    put_u32(b, (uint32_t)f->first);
    put_u32(b, (uint32_t)f->last);
    put_u32(b, (uint32_t)f->now);
}

void tr_meta_write(tr_sb *b, const tr_meta *m) {
    put_u32(b, m->narrays);
    put_text(b, m->entry);
    put_text(b, m->ret);
    put_text(b, m->takes);
    put_text(b, m->writes);
    put_text(b, m->title);
    put_u32(b, m->nsites);
    for (uint32_t i = 0; i < m->nsites; i++)
        put_site(b, &m->sites[i]);
    put_u32(b, m->nlate);
    for (uint32_t i = 0; i < m->nlate; i++)
        put_late(b, &m->late[i]);
    put_text(b, m->large);
    put_u32(b, m->nfuncs);
    for (uint32_t i = 0; i < m->nfuncs; i++)
        put_func(b, &m->funcs[i]);
    put_u32(b, m->root);
    put_u32(b, m->says_lines);
#define X(field, type, dflt) put_u32(b, m->opts.field);
    TR_OPTS(X)
#undef X
    put_u32(b, m->atomic_counts);
    put_u32(b, m->cooperative);
}

/* --- reading --- */

/* Fewest bytes that one record takes in the text: what it takes in memory is at most GROWTH times as much. */
enum {
    MIN_SITE = 1 + 4 + 2 + 1 + 4 + 4 + 4 + 4,
    MIN_ARG = 1 + 8 + 8 + 4,
    MIN_PLACE = 4 + 4 + 16,
    MIN_LATE = 4,
    MIN_FUNC = 4 + 4 + 4 + 4 + 4,
    GROWTH = 4
};
_Static_assert(sizeof(tr_msite) <= GROWTH * MIN_SITE && sizeof(tr_marg) <= GROWTH * MIN_ARG &&
                   sizeof(tr_place) <= GROWTH * MIN_PLACE && sizeof(tr_mlate) <= GROWTH * MIN_LATE &&
                   sizeof(tr_mfunc) <= GROWTH * MIN_FUNC,
               "tr_meta_room is enough");

typedef struct rd {
    const uint8_t *p, *end;
    char *room;  /* records grow upwards from here, aligned to 8 */
    char *texts; /* texts grow downwards from here */
    bool bad;
} rd;

size_t tr_meta_room(size_t n) {
    return GROWTH * n + 64;
}

static void get(rd *r, void *out, size_t n) {
    assert(r->p <= r->end && r->room <= r->texts && "reading stays inside of its blocks");
    if ((size_t)(r->end - r->p) < n) {
        r->bad = true;
        memset(out, 0, n);
        r->p = r->end;
        return;
    }
    memcpy(out, r->p, n);
    r->p += n;
}

static uint32_t get_u32(rd *r) {
    uint32_t v;
    get(r, &v, sizeof v);
    return v;
}

static const char *get_text(rd *r) {
    uint32_t n = get_u32(r);
    if (!n)
        return NULL;
    n--;
    if ((size_t)(r->end - r->p) < n || (size_t)(r->texts - r->room) < (size_t)n + 1) {
        r->bad = true;
        return NULL;
    }
    r->texts -= (size_t)n + 1;
    memcpy(r->texts, r->p, n);
    r->texts[n] = 0;
    r->p += n;
    return r->texts;
}

/* Room for the records that a count promises; the count is refused when so many cannot follow. Counts that
 * each could be true may lie together, hence the second test. */
static void *get_records(rd *r, uint32_t *count, size_t min, size_t each) {
    *count = get_u32(r);
    if (*count > (size_t)(r->end - r->p) / min || *count > (size_t)(r->texts - r->room) / each) {
        r->bad = true;
        *count = 0;
    }
    void *at = r->room;
    r->room += *count * each;
    assert(r->room <= r->texts && "records do not run into texts");
    return at;
}

static void get_site(rd *r, tr_msite *s) {
    get(r, &s->exc, 1);
    s->own = get_u32(r);
    get(r, &s->cls, sizeof s->cls);
    get(r, &s->says, 1);
    s->name = get_text(r);
    s->obj = NULL;
    s->text = get_text(r);
    s->args = get_records(r, &s->nargs, MIN_ARG, sizeof *s->args);
    for (uint32_t i = 0; i < s->nargs; i++) {
        get(r, &s->args[i].kind, 1);
        get(r, &s->args[i].i, 8);
        get(r, &s->args[i].d, 8);
        s->args[i].s = get_text(r);
    }
    s->places = get_records(r, &s->nplaces, MIN_PLACE, sizeof *s->places);
    for (uint32_t i = 0; i < s->nplaces; i++) {
        s->places[i].file = get_text(r);
        s->places[i].fn = get_text(r);
        get(r, &s->places[i].span, sizeof s->places[i].span);
    }
}

static void get_late(rd *r, tr_mlate *l) {
    l->text = get_text(r);
    r->bad = r->bad || !l->text;
}

static void get_func(rd *r, tr_mfunc *f) {
    f->file = get_text(r);
    f->fn = get_text(r);
    uint32_t first = get_u32(r), last = get_u32(r), now = get_u32(r);
    r->bad = r->bad || first > TR_MAX_LINE || last > TR_MAX_LINE || now > TR_MAX_LINE;
    f->first = (int32_t)first;
    f->last = (int32_t)last;
    f->now = (int32_t)now;
}

bool tr_meta_read(const uint8_t *p, size_t n, void *room, tr_meta *m) {
    /* Records and texts fill the block from both ends. */
    rd r = {.p = p, .end = p + n, .room = room, .texts = (char *)room + tr_meta_room(n)};
    *m = (tr_meta){0};
    m->narrays = get_u32(&r);
    m->entry = get_text(&r);
    m->ret = get_text(&r);
    m->takes = get_text(&r);
    m->writes = get_text(&r);
    r.bad = r.bad || (m->takes != NULL) != (m->writes != NULL);
    m->title = get_text(&r);
    m->sites = get_records(&r, &m->nsites, MIN_SITE, sizeof *m->sites);
    for (uint32_t i = 0; i < m->nsites && !r.bad; i++)
        get_site(&r, &m->sites[i]);
    m->late = get_records(&r, &m->nlate, MIN_LATE, sizeof *m->late);
    for (uint32_t i = 0; i < m->nlate && !r.bad; i++)
        get_late(&r, &m->late[i]);
    m->large = get_text(&r);
    m->funcs = get_records(&r, &m->nfuncs, MIN_FUNC, sizeof *m->funcs);
    for (uint32_t i = 0; i < m->nfuncs && !r.bad; i++)
        get_func(&r, &m->funcs[i]);
    m->root = get_u32(&r);
    r.bad = r.bad || (m->nfuncs && m->root >= m->nfuncs);
    m->says_lines = get_u32(&r) != 0;
#define X(field, type, dflt) m->opts.field = (type)get_u32(&r);
    TR_OPTS(X)
#undef X
    m->atomic_counts = get_u32(&r) != 0;
    m->cooperative = get_u32(&r) != 0;
    return !r.bad && r.p == r.end;
}
