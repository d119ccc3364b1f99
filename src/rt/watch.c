/* A launch that is watched: opt/grid/watch.c puts these calls into its code, and what they find
 * is told when the launch ends.
 *
 * The state hangs on the frame, and all of its memory is blocks of that, so nothing is left however the call
 * ends. Blocks run one after the other on one thread: regions of a frame that is watched have no others
 * (parallel.c). Which thread an access is by says the last tr_rt_watch_at.
 *
 * What orders threads of a block (rt/shadow.h has the times): a thread's phase is how many barriers of the
 * block it has come to, and a phase begins after all that those have done who came to its barrier. Within a
 * phase lanes of a warp are ordered by syncwarp alone. Shuffles and votes hand on values and order no memory,
 * as CUDA has it. At a syncwarp meet the lanes that give the same mask, each of which it names: what each of
 * them did, and what each knew of others, is known to all of them afterwards, and to nobody else. That is a
 * vector clock for each lane, of which those that met share one (`meeting`), as nothing else tells a lane of
 * others. Who waits goes on when all that it waits for have come, so the first to go on (`resume`) finds all
 * that they brought; of the order of threads nothing else is relied on. */
#include "rt/watch.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/opts.h"
#include "rt/fns.h"
#include "rt/order.h"
#include "rt/rt.h"
#include "rt/shadow.h"

enum { MAX_REPORTS = 50, SITE_SLOTS = 2 * TR_MARK_SITES };

typedef struct array {
    const char *name;
    uint64_t base, lo, hi; /* of its first item; all of it */
    int64_t size, seen;    /* of an item; the block that it was last made in */
    int kind;
    unsigned ndim;
    int64_t n[TR_WATCH_AXES], step[TR_WATCH_AXES];
} array;

/* The barrier that threads of the block come to next, by who came first. */
typedef struct stop {
    uint16_t site, thread;
    uint64_t end; /* nobody who came there has had this time */
} stop;

/* Lanes of a warp at a syncwarp: those that have come, and from when on (`closed`) what all of them know. */
typedef struct meeting {
    uint64_t known[TR_LANES]; /* first: tr_now.known */
    uint64_t end;
    uint32_t mask, came, refs; /* lanes, and handings on (tr_order), that refer to it */
    bool closed;
    const struct meeting *brought; /* what the last one knew */
    struct meeting *next;          /* among those of the warp that are open; among free ones */
} meeting;
enum { WARPS = TR_MARK_THREADS / TR_LANES };

typedef struct runner {
    tr_now now; /* without the site */
    uint32_t phase;
    bool waits;        /* `now` is what was before the last barrier, or `at` */
    meeting *met, *at; /* where it met others last; where it waits */
} runner;

/* Somebody looked at what nobody had written. It is told of at the end (of the block, where the memory is
 * that's), or when the thread writes there itself, or one that comes later: another one that does so at the
 * same time makes a race of it, whichever comes first. */
typedef struct look {
    uint64_t address;
    tr_mark mark; /* 0: it is settled */
    int how;
} look;
typedef struct looks {
    look *d;
    uint64_t n, cap;
} looks;

typedef struct tr_watch {
    tr_frame *frame;
    const char *kernel;
    unsigned what; /* TR_WATCH_* */
    int64_t grid[3], dim[3], threads;
    int64_t block, thread; /* who runs; -1: nobody yet */
    uint64_t base, latest; /* the first time of the block; the latest that anybody has had */
    uint32_t most;         /* barriers that a thread of it has come to */
    bool ended, lost;
    tr_shadow shadow;
    tr_order order;
    runner who[TR_MARK_THREADS];
    meeting *open[WARPS], *spare;
    const char *sites[TR_MARK_SITES];
    uint32_t nsites, ntexts;
    struct {
        const char *text; /* NULL: free */
        uint16_t site;
    } slots[SITE_SLOTS]; /* by the text's address: the number of a site */
    stop *stops;
    uint32_t nstops, capstops;
    /* 0: at memory of the block or of a thread; 1: at the device's. The answer to who looks is 2
     * + 2 * its place + which of them */
    looks looks[2];
    struct first {
        uint64_t time;
        int64_t block;
    } * firsts; /* of the blocks so far */
    uint64_t nfirsts, capfirsts;
    array *arrays;
    uint32_t narrays, caparrays;
    array next; /* its axes come before it */
    tr_watch_report reports[MAX_REPORTS];
    uint32_t nreports;
    uint64_t more;
} tr_watch;

/* Room for one more of `size` bytes; *items may move. */
static bool room(tr_watch *w, void **items, uint64_t n, uint64_t cap, size_t size, uint64_t *newcap) {
    *newcap = cap;
    assert(n <= cap && size > 0 && "what is there has room");
    if (n < cap)
        return true;
    uint64_t more = cap ? 2 * cap : 64;
    void *p = tr_shadow_alloc(w->frame, more * size);
    if (!p)
        return false;
    if (n)
        memcpy(p, *items, n * size);
    tr_shadow_free(w->frame, *items);
    *items = p;
    *newcap = more;
    return true;
}

/* --- sites --- */

static unsigned new_site(tr_watch *w, const char *text) {
    for (uint32_t k = 1; k <= w->nsites; k++)
        if (strcmp(w->sites[k], text) == 0)
            return k;
    if (w->nsites + 1 >= TR_MARK_SITES - 1)
        return TR_MARK_SITES - 1;
    w->sites[++w->nsites] = text;
    return w->nsites;
}

/* The number of a text. Late code has texts of its own for the places that it shares with
 * others. Past the last number all are "". */
static unsigned site_number(tr_watch *w, const char *text) {
    uint64_t k = ((uintptr_t)text * UINT64_C(0x9E3779B97F4A7C15)) >> 51;
    _Static_assert(SITE_SLOTS == 1 << 13, "51 is 64 less 13");
    for (; w->slots[k].text; k = (k + 1) % SITE_SLOTS)
        if (w->slots[k].text == text)
            return w->slots[k].site;
    if (w->ntexts >= SITE_SLOTS / 4 * 3)
        return TR_MARK_SITES - 1;
    w->ntexts++;
    w->slots[k].text = text;
    return w->slots[k].site = (uint16_t)new_site(w, text);
}

/* Field k of "line|column|array|function|file". */
static size_t field(const char *site, unsigned k, const char **out) {
    const char *s = site ? site : "";
    for (; k && *s; s++)
        k -= *s == '|';
    *out = s;
    return k ? 0 : strcspn(s, "|");
}

static bool same_line(const char *x, const char *y) {
    const char *a, *b;
    size_t n = field(x, 0, &a), m = field(y, 0, &b);
    if (n != m || memcmp(a, b, n) != 0)
        return false;
    n = field(x, 4, &a);
    m = field(y, 4, &b);
    return n == m && memcmp(a, b, n) == 0;
}

/* --- arrays --- */

/* Which item lies at the address; false: none does. */
static bool index_in(const array *a, uint64_t address, int64_t *index) {
    assert(a->ndim <= TR_WATCH_AXES && a->size > 0 && address >= a->lo && "it begins before the address");
    int64_t off = (int64_t)(address - a->lo) / a->size;
    bool done[TR_WATCH_AXES] = {false};
    for (unsigned k = 0; k < a->ndim; k++) { /* the longest step first */
        unsigned best = TR_WATCH_AXES;
        for (unsigned j = 0; j < a->ndim; j++)
            if (!done[j] && (best == TR_WATCH_AXES || llabs(a->step[j]) > llabs(a->step[best])))
                best = j;
        int64_t step = llabs(a->step[best]), i = step ? off / step : 0;
        i = i < a->n[best] ? i : a->n[best] - 1;
        off -= i * step;
        index[best] = a->step[best] < 0 ? a->n[best] - 1 - i : i;
        done[best] = true;
    }
    return off == 0;
}

/* The array of an address, with the site's name if two lie there. */
static const array *array_at(const tr_watch *w, uint64_t address, const char *site, int64_t *index) {
    const array *found = NULL;
    const char *name;
    size_t n = field(site, 2, &name);
    for (uint32_t k = w->narrays; k-- > 0;) {
        const array *a = &w->arrays[k];
        int64_t at[TR_WATCH_AXES];
        bool mine = strlen(a->name) == n && memcmp(a->name, name, n) == 0;
        if (address < a->lo || address >= a->hi || (found && !mine) || !index_in(a, address, at))
            continue;
        memcpy(index, at, sizeof at);
        found = a;
        if (mine)
            break;
    }
    return found;
}

/* --- reports --- */

static void split(int64_t n, const int64_t *dim, int64_t *out) {
    out[0] = n % dim[0];
    out[1] = n / dim[0] % dim[1];
    out[2] = n / dim[0] / dim[1];
}

static int64_t block_of(const tr_watch *w, tr_mark m) {
    assert(w->nfirsts > 0 && "an access is some block's");
    uint64_t lo = 0, hi = w->nfirsts;
    while (hi - lo > 1) {
        uint64_t mid = (lo + hi) / 2;
        if (w->firsts[mid].time <= tr_mark_time(m))
            lo = mid;
        else
            hi = mid;
    }
    return w->firsts[lo].block;
}

static tr_watch_side side_of(const tr_watch *w, tr_mark m, int how) {
    tr_watch_side s = {.site = w->sites[tr_mark_site(m)], .how = how};
    split(block_of(w, m), w->grid, s.block);
    split((int64_t)tr_mark_thread(m), w->dim, s.thread);
    return s;
}

static bool same_report(const tr_watch_report *x, const tr_watch_report *y) {
    const char *a = x->of[0].site, *b = x->of[1].site, *c = y->of[0].site, *d = y->of[1].site;
    return x->kind == y->kind && strcmp(x->array, y->array) == 0 &&
           ((same_line(a, c) && same_line(b, d)) || (same_line(a, d) && same_line(b, c)));
}

static void add_report(tr_watch *w, const tr_watch_report *r) {
    assert(w->nreports <= MAX_REPORTS && r->array && "there is room, and a name");
    for (uint32_t k = 0; k < w->nreports; k++)
        if (same_report(&w->reports[k], r)) {
            w->reports[k].times++;
            return;
        }
    if (w->nreports == MAX_REPORTS) {
        w->more++;
        return;
    }
    w->reports[w->nreports] = *r;
    w->reports[w->nreports++].times = 1;
}

static void tell(tr_watch *w, tr_mistake kind, uint64_t address, tr_watch_side first, tr_watch_side then) {
    tr_watch_report r = {.kind = kind, .array = "", .of = {first, then}};
    const array *a = array_at(w, address, then.site ? then.site : first.site, r.index);
    if (a) {
        r.array = a->name;
        r.shared = a->kind == TR_WATCHED_SHARED;
        r.ndim = a->ndim;
        memcpy(r.size, a->n, sizeof r.size);
    }
    add_report(w, &r);
}

static void tell_look(tr_watch *w, look *l) {
    if (l->mark)
        tell(w, TR_MISTAKE_UNINIT, l->address, side_of(w, l->mark, l->how), (tr_watch_side){0});
    l->mark = 0;
}

static void tell_looks(tr_watch *w, looks *s) {
    for (uint64_t k = 0; k < s->n; k++)
        tell_look(w, &s->d[k]);
    s->n = 0;
}

/* Something was found where this thread touches memory. */
typedef struct touch {
    tr_watch *w;
    tr_now now;
    int how;
    bool device; /* it is the device's memory */
} touch;

static tr_mark note_look(const touch *t, uint64_t address) {
    looks *s = &t->w->looks[t->device];
    uint64_t cap, n = s->n;
    bool ok = room(t->w, (void **)&s->d, n, s->cap, sizeof *s->d, &cap);
    s->cap = cap;
    t->w->lost |= !ok;
    if (!ok)
        return 0;
    s->d[s->n++] = (look){address, t->now.m, t->how};
    return TR_MARK_OTHER | (2 + 2 * n + t->device);
}

/* It writes where somebody looked, of this block or, at the device's memory, of any. */
static void settle(const touch *t, uint64_t address, tr_mark answer) {
    looks *s = &t->w->looks[answer & 1];
    uint64_t k = ((answer & ~TR_MARK_OTHER) - 2) / 2;
    look *l = k < s->n ? &s->d[k] : NULL;
    if (!l || l->address != address)
        return;
    if (tr_mark_apart(&t->w->shadow, l->mark, &t->now))
        l->mark = 0;
    tell_look(t->w, l);
}

static tr_mark found(void *self, uint64_t address, tr_clash clash) {
    const touch *t = self;
    tr_watch *w = t->w;
    if (clash.how == TR_CLASH_SETTLED)
        settle(t, address, clash.with);
    else if (clash.how == TR_CLASH_FRESH)
        return w->what & TR_WATCH_UNINIT ? note_look(t, address) : 0;
    else if (w->what & TR_WATCH_RACE && !tr_order_has(&w->order, clash.with, &t->now))
        tell(w, TR_MISTAKE_RACE, address, side_of(w, clash.with, clash.how), side_of(w, t->now.m, t->how));
    return 0;
}

/* Memory of the device that is made while it is watched holds of each word, as long as nobody writes it, one
 * that says where it is (treadle.cuda._checks.sow has the same). Few numbers are such: a negative NaN of
 * float32, or an int32 between -7,340,032 and -6,291,457. The whole word is read where an item is shorter,
 * also beyond the end of an array of the host: it lies in one page with the item. */
typedef uint32_t __attribute__((may_alias)) any_word;
__attribute__((no_sanitize("address", "thread"))) static bool is_sown(const char *at) {
    uint32_t x = *(const volatile any_word *)at;
    return __builtin_expect(x >> 20 == 0xff9, 0) &&
           (x & 0xfffff) == ((uintptr_t)at >> 2) * UINT64_C(0x9E3779B97F4A7C15) >> 44;
}

static bool bytes_are_sown(uint64_t address, uint64_t size) {
    const char *at = (const char *)(address & ~(uint64_t)3);
    return is_sown(at) && (size < 8 || (address % 4 == 0 && is_sown(at + 4)));
}

static void touch_at(touch *t, uint64_t address, uint64_t size) {
    tr_watch *w = t->w;
    if (t->how == TR_TOUCH_UNSEEN) {
        tr_shadow_unseen(&w->shadow, address, size);
        return;
    }
    t->device = false;
    if (w->what & TR_WATCH_UNINIT && (t->how == TR_TOUCH_READ || t->how == TR_TOUCH_ATOMIC) &&
        bytes_are_sown(address, size)) {
        t->device = true;
        tr_shadow_fresh(&w->shadow, address, size, true);
    }
    tr_shadow_touch(&w->shadow, address, size, t->how, &t->now, found, t);
    if (t->how >= TR_TOUCH_ATOMIC && tr_order_atomic(&w->order, address, &t->now, w->latest))
        w->who[w->thread].met->refs++;
}

/* --- who has met whom --- */

static void drop(tr_watch *w, meeting *m) {
    assert((!m || m->refs > 0) && "who drops a meeting refers to it");
    if (!m || --m->refs)
        return;
    m->next = w->spare;
    w->spare = m;
}

static void see(tr_watch *w, uint64_t time) {
    w->latest = time > w->latest ? time : w->latest;
}

static void close_meeting(tr_watch *w, meeting *m) {
    assert(!m->closed && m->came && !(m->came & ~m->mask) && "lanes of its mask have come");
    meeting **at = &w->open[w->thread / TR_LANES];
    for (; *at && *at != m; at = &(*at)->next)
        ;
    if (*at)
        *at = m->next;
    m->closed = true;
    see(w, m->end);
}

/* A thread goes on, or begins. */
static __attribute__((noinline)) void go_on(tr_watch *w, runner *r) {
    uint64_t start = r->phase ? w->stops[r->phase - 1].end : w->base, time = tr_mark_time(r->now.m);
    assert(r->waits && r->phase <= w->nstops && "it waits, at a barrier that somebody came to");
    if (r->at) {
        if (!r->at->closed)
            close_meeting(w, r->at);
        drop(w, r->met);
        r->met = r->at;
        r->at = NULL;
        time = r->met->end;
    }
    r->now = (tr_now){tr_mark_of(time < start ? start : time, (uint64_t)w->thread, 0),
                      tr_mark_of(w->base, 0, 0), tr_mark_of(start, 0, 0), r->met ? r->met->known : NULL};
    r->waits = false;
}

/* The thread that runs, behind what it waited for. */
static inline runner *resume(tr_watch *w) {
    runner *r = &w->who[w->thread];
    assert(w->thread >= 0 && w->thread < TR_MARK_THREADS && "a thread of the block runs");
    if (__builtin_expect(r->waits, 0))
        go_on(w, r);
    return r;
}

static inline tr_now now_at(tr_watch *w, unsigned site) {
    tr_now now = resume(w)->now;
    now.m |= site;
    return now;
}

/* Those of the thread's warp that wait with this mask, and it is not among them. NULL without memory. */
static meeting *meeting_of(tr_watch *w, uint32_t mask, unsigned lane) {
    meeting **open = &w->open[w->thread / TR_LANES];
    assert(mask >> lane & 1 && "who meets others names itself");
    for (meeting *m = *open; m; m = m->next)
        if (m->mask == mask && !(m->came >> lane & 1))
            return m;
    meeting *m = w->spare ? w->spare : tr_shadow_alloc(w->frame, sizeof *m);
    if (!m)
        return NULL;
    w->spare = m == w->spare ? m->next : w->spare;
    *m = (meeting){.mask = mask, .next = *open};
    return *open = m;
}

static void come(runner *r, meeting *m, unsigned lane) {
    assert(!m->closed && !r->at && (m->mask >> lane & 1) && !(m->came >> lane & 1) && "a lane comes once");
    uint64_t time = tr_mark_time(r->now.m);
    for (unsigned j = 0; r->met != m->brought && j < TR_LANES; j++)
        if (r->met && m->known[j] < r->met->known[j])
            m->known[j] = r->met->known[j];
    m->brought = r->met; /* lanes that met before mostly bring the same */
    if (m->known[lane] < time)
        m->known[lane] = time;
    m->end = m->end > time ? m->end : time + 1;
    m->came |= UINT32_C(1) << lane;
    m->refs++;
    r->at = m;
    r->waits = true;
}

static void forget_all(tr_watch *w) {
    for (int64_t t = 0; t < w->threads && t < TR_MARK_THREADS; t++) {
        runner *r = &w->who[t];
        drop(w, r->met);
        drop(w, r->at);
        *r = (runner){.waits = true};
    }
    memset(w->open, 0, sizeof w->open);
}

/* --- blocks --- */

/* Threads that ended before a barrier at which others waited. */
static void look_for_exits(tr_watch *w) {
    for (int64_t t = 0; t < w->threads && (w->what & TR_WATCH_EXIT); t++) {
        if (w->who[t].phase >= w->most)
            continue;
        const stop *s = &w->stops[w->who[t].phase];
        tr_watch_report r = {.kind = TR_MISTAKE_EXIT, .array = ""};
        r.of[0] = (tr_watch_side){.site = w->sites[s->site]};
        split(w->block, w->grid, r.of[0].block);
        split(t, w->dim, r.of[0].thread);
        add_report(w, &r);
    }
}

static void end_block(tr_watch *w) {
    assert(w->block >= 0 && "a block has run");
    look_for_exits(w);
    tell_looks(w, &w->looks[0]);
}

static void begin_block(tr_watch *w, int64_t block) {
    uint64_t cap;
    if (w->block >= 0) {
        end_block(w);
        w->base = w->latest + 1;
    }
    forget_all(w);
    see(w, w->base);
    w->most = w->nstops = 0;
    tr_order_block(&w->order);
    w->block = block;
    if (room(w, (void **)&w->firsts, w->nfirsts, w->capfirsts, sizeof *w->firsts, &cap))
        w->firsts[w->nfirsts++] = (struct first){w->base, block};
    else
        w->lost = true;
    w->capfirsts = cap;
}

static bool can_go_on(tr_watch *w) {
    w->lost |= w->shadow.full || w->order.full || w->latest + 2 >= TR_MARK_TIMES;
    return !w->lost;
}

/* --- what compiled code calls --- */

void tr_rt_watch_begin(tr_frame *f, int64_t what, int64_t gx, int64_t gy, int64_t gz, int64_t bx, int64_t by,
                       int64_t bz, const char *kernel) {
    tr_watch *w = f->watch = tr_shadow_alloc(f, sizeof *w);
    if (!w)
        return;
    w->frame = w->shadow.frame = w->order.frame = f;
    w->kernel = kernel;
    w->what = (unsigned)what;
    memcpy(w->grid, (int64_t[]){gx, gy, gz}, sizeof w->grid);
    memcpy(w->dim, (int64_t[]){bx, by, bz}, sizeof w->dim);
    w->threads = bx * by * bz;
    w->block = w->thread = -1;
    w->base = 1;
    w->shadow.floor = tr_mark_of(1, 0, 0);
    w->sites[0] = w->sites[TR_MARK_SITES - 1] = "";
    w->lost = w->threads > TR_MARK_THREADS;
}

void tr_rt_watch_axis(tr_frame *f, int64_t n, int64_t step) {
    array *a = f->watch ? &f->watch->next : NULL;
    if (a && a->ndim < TR_WATCH_AXES) {
        a->n[a->ndim] = n;
        a->step[a->ndim++] = step;
    }
}

/* The array whose axes were told of. */
static array take_array(tr_watch *w, const void *data, int64_t size) {
    array a = w->next;
    assert(a.ndim <= TR_WATCH_AXES && size > 0 && "an array of so many axes");
    a.size = size;
    a.base = a.lo = (uintptr_t)data;
    a.hi = a.lo + (uint64_t)size;
    for (unsigned k = 0; k < a.ndim; k++) {
        int64_t reach = (a.n[k] - 1) * a.step[k] * size;
        if (a.n[k] <= 0)
            a.hi = a.lo;
        else if (reach < 0)
            a.lo += (uint64_t)reach;
        else if (a.hi > a.lo)
            a.hi += (uint64_t)reach;
    }
    w->next.ndim = 0;
    return a;
}

void tr_rt_watch_array(tr_frame *f, void *owner, const void *data, int64_t kind, int64_t size,
                       const char *name) {
    tr_watch *w = f->watch;
    (void)owner;
    if (!w)
        return;
    array a = take_array(w, data, size), *mine = NULL;
    bool there =
        false; /* in this block already: by another thread, or (dynamic shared memory) another array */
    for (uint32_t k = 0; k < w->narrays && kind != TR_WATCHED_GIVEN; k++) {
        array *x = &w->arrays[k];
        if (x->base != a.base || x->kind != kind)
            continue;
        there |= kind == TR_WATCHED_SHARED && x->seen == w->block;
        mine = x->name == name ? x : mine;
    }
    if (there && mine && mine->seen == w->block)
        return;
    if (!mine && (kind != TR_WATCHED_MADE || w->narrays < 1024)) {
        uint64_t cap;
        if (!room(w, (void **)&w->arrays, w->narrays, w->caparrays, sizeof *mine, &cap)) {
            w->lost = true;
            return;
        }
        w->caparrays = (uint32_t)cap;
        mine = &w->arrays[w->narrays++];
    }
    a.name = name;
    a.kind = (int)kind;
    a.seen = w->block;
    if (mine)
        *mine = a;
    if (kind != TR_WATCHED_GIVEN && !there && can_go_on(w))
        tr_shadow_fresh(&w->shadow, a.lo, a.hi - a.lo, false);
}

void tr_rt_watch_at(tr_frame *f, int64_t block, int64_t thread) {
    tr_watch *w = f->watch;
    if (!w)
        return;
    if (w->block != block)
        begin_block(w, block);
    w->thread = thread;
}

void tr_rt_watch_touch(tr_frame *f, void *owner, const void *data, int64_t how, int64_t size,
                       const char *site) {
    tr_watch *w = f->watch;
    (void)owner;
    if (!w || w->lost || w->thread < 0)
        return;
    touch t = {w, now_at(w, site_number(w, site)), (int)how, false};
    touch_at(&t, (uintptr_t)data, (uint64_t)size);
    w->lost |= w->shadow.full;
}

/* Items along the axes from the k-th on, from an address. */
static void touch_axes(touch *t, const array *a, unsigned k, uint64_t at) {
    for (int64_t i = 0; k < a->ndim && i < a->n[k]; i++)
        touch_axes(t, a, k + 1, at + (uint64_t)(i * a->step[k] * a->size));
    if (k == a->ndim)
        touch_at(t, at, (uint64_t)a->size);
}

void tr_rt_watch_span(tr_frame *f, void *owner, const void *data, int64_t how, int64_t size,
                      const char *site) {
    tr_watch *w = f->watch;
    (void)owner;
    if (!w)
        return;
    array a = take_array(w, data, size);
    if (w->lost || w->thread < 0)
        return;
    touch t = {w, now_at(w, site_number(w, site)), (int)how, false};
    touch_axes(&t, &a, 0, a.base);
    w->lost |= w->shadow.full;
}

void tr_rt_watch_barrier(tr_frame *f, const char *site) {
    tr_watch *w = f->watch;
    if (!w || w->lost || w->thread < 0)
        return;
    runner *r = resume(w);
    uint32_t k = r->phase;
    assert(k <= w->nstops && "barriers come one after the other");
    uint64_t cap;
    unsigned no = site_number(w, site);
    if (k < w->nstops && w->stops[k].site != no && (w->what & TR_WATCH_BARRIER)) {
        tr_watch_report report = {.kind = TR_MISTAKE_BARRIER, .array = ""};
        report.of[0] = side_of(w, tr_mark_of(w->base, w->stops[k].thread, w->stops[k].site), 0);
        report.of[1] = side_of(w, tr_mark_of(w->base, (uint64_t)w->thread, no), 0);
        add_report(w, &report);
    } else if (k == w->nstops) {
        if (!room(w, (void **)&w->stops, w->nstops, w->capstops, sizeof *w->stops, &cap)) {
            w->lost = true;
            return;
        }
        w->capstops = (uint32_t)cap;
        w->stops[w->nstops++] = (stop){(uint16_t)no, (uint16_t)w->thread, 0};
    }
    uint64_t time = tr_mark_time(r->now.m);
    if (w->stops[k].end <= time)
        w->stops[k].end = time + 1;
    see(w, w->stops[k].end);
    r->waits = true;
    if (++r->phase > w->most)
        w->most = r->phase;
    can_go_on(w);
}

void tr_rt_watch_warp(tr_frame *f, int64_t mask) {
    tr_watch *w = f->watch;
    if (!w || w->lost || w->thread < 0)
        return;
    unsigned lane = (unsigned)(w->thread % TR_LANES);
    runner *r = resume(w);
    if (!(mask >> lane & 1)) /* it meets nobody */
        return;
    meeting *m = meeting_of(w, (uint32_t)mask, lane);
    if (m)
        come(r, m, lane);
    w->lost |= !m;
}

void tr_rt_watch_fence(tr_frame *f) {
    tr_watch *w = f->watch;
    if (!w || w->lost || w->thread < 0)
        return;
    tr_now now = now_at(w, 0);
    tr_order_fence(&w->order, &now);
}

/* What was done so far comes before all that is done from here on. */
void tr_rt_watch_stage(tr_frame *f) {
    tr_watch *w = f->watch;
    if (!w || w->lost || w->block < 0)
        return;
    end_block(w);
    w->base = w->latest + 1;
    w->block = w->thread = -1;
    w->shadow.floor = tr_mark_of(w->base, 0, 0);
    can_go_on(w);
}

int64_t tr_rt_watch_end(tr_frame *f) {
    tr_watch *w = f->watch;
    if (!w)
        return -1;
    if (w->block >= 0)
        end_block(w);
    tell_looks(w, &w->looks[1]);
    if (w->lost) {
        tr_watch_report r = {.kind = TR_MISTAKE_LOST, .array = ""};
        add_report(w, &r);
    }
    w->ended = true;
    int64_t wrong = 0;
    for (uint32_t k = 0; k < w->nreports; k++)
        wrong += w->reports[k].kind != TR_MISTAKE_EXIT;
    return wrong;
}

bool tr_rt_watch_state(const tr_frame *f, tr_watch_state *out) {
    tr_watch *w = f->watch;
    if (!w)
        return false;
    for (unsigned k = 0; k < 2; k++) /* if the launch was left in the middle, what was looked at may be why */
        tell_looks(w, &w->looks[k]);
    *out = (tr_watch_state){w->kernel, w->ended, {0}, {0}, w->reports, w->nreports, w->more};
    if (w->thread >= 0) {
        split(w->block, w->grid, out->block);
        split(w->thread, w->dim, out->thread);
    }
    return true;
}

bool tr_rt_watch_spans(const tr_frame *f, tr_watch_span_fn *fn, void *self) {
    const tr_watch *w = f->watch;
    bool ok = w != NULL;
    for (uint32_t k = 0; ok && k < w->narrays; k++)
        if (w->arrays[k].kind == TR_WATCHED_GIVEN)
            ok = tr_shadow_spans(&w->shadow, w->arrays[k].lo, w->arrays[k].hi, fn, self);
    return ok;
}
