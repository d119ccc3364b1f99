/* A function with very many array statements becomes pieces, each a function of its own (outlining by size;
 * stretches are single-entry single-exit regions).
 *
 * Each pattern is a loop or a nest of them, and many of LLVM's passes take time that grows with the square of
 * a function's loops: dominators are asked along the whole function, its values live on, registers run out.
 * In pieces of about PIECE patterns the time grows with their number. A piece is a stretch of blocks in their
 * order that is entered at its first block only and left for the first one after it only. Stretches lie side
 * by side at one depth of loops and branches, the outermost depth first; a loop that is too large for a piece
 * is taken apart in its turn. Long blocks are cut before, between statements. What a piece computes and
 * others use becomes params of a block behind it, that is, its results. Arrays among them are looked at with
 * the sizes that they were made with, so that later pieces know them, too. Functions of fewer than MANY
 * statements stay as they are.
 * Cost: linear, with a search in the blocks for each depth. */
#include <assert.h>
#include <string.h>

#include "opt/outline.h"
#include "opt/priv.h"

/* A piece has PIECE patterns, or from LEAST on where it cannot be longer; statements are lines with patterns,
 * or PER_STATEMENT patterns on one. With more than MAX_RESULTS results it would not be worth the call.
 * Measured: pieces of 8 to 40 patterns take about the same time to compile, pieces of 2 three times as
 * long. */
enum { MANY = 40, PER_STATEMENT = 4, PIECE = 16, LEAST = 4, MAX_RESULTS = 64 };

typedef struct stretch {
    uint32_t first, end; /* positions */
    tr_bid exit;         /* the block behind it */
    tr_u32s out;         /* what others use of it */
} stretch;

typedef struct splitter {
    tr_outline o;
    tr_fn *f;
    tr_u32s order;  /* live blocks: reverse post-order, but those that only raise follow who leads to them */
    uint32_t *pos;  /* per block: its position */
    uint32_t *npat; /* per position: patterns of the block */
    uint32_t *next; /* per position: the next one at the same depth; 0: none */
    TR_VEC(stretch) all;
    uint8_t *taken; /* per position: in a stretch */
} splitter;

/* --- is it worth it? --- */

static int32_t line_of(const tr_fn *f, tr_val v) {
    return f->locs.d[tr_at(f, v)->loc].place.span.line;
}

static bool has_many_patterns(const tr_fn *f) {
    uint32_t patterns = 0, lines = 0;
    int32_t last = -1;
    for (uint32_t i = 0; i < f->rpo.n; i++)
        for (tr_val v = tr_blk_at(f, f->rpo.d[i])->first; v != TR_NOVAL; v = tr_at(f, v)->next) {
            if (tr_at(f, v)->op != TR_OP_PATTERN)
                continue;
            patterns++;
            lines += line_of(f, v) != last;
            last = line_of(f, v);
        }
    return lines >= MANY || patterns >= MANY * PER_STATEMENT;
}

/* --- cuts in long blocks --- */

/* After LEAST patterns, where a new statement begins; before a return. */
static void cut_block(tr_fn *f, tr_bid b) {
    uint32_t n = 0;
    int32_t line = 0;
    tr_val next;
    for (tr_val v = tr_blk_at(f, b)->first; v != TR_NOVAL; v = next) {
        const tr_ins *in = tr_at(f, v);
        next = in->next;
        bool first = v == tr_blk_at(f, in->blk)->first;
        if (!first && ((n >= LEAST && in->op != TR_OP_RELEASE && line_of(f, v) != line) || n >= PIECE ||
                       in->op == TR_OP_RET)) {
            tr_blk_cut(f, v, 0);
            n = 0;
        }
        if (in->op == TR_OP_PATTERN) {
            n++;
            line = line_of(f, v);
        }
    }
}

/* The entry stays with the function. */
static void cut_blocks(tr_fn *f) {
    tr_u32s live = tr_live_blocks(f);
    for (uint32_t i = 0; i < live.n; i++)
        cut_block(f, live.d[i]);
    tr_blk_cut(f, tr_blk_at(f, 0)->first, 0);
    tr_cfg_compute(f);
}

/* --- order --- */

static void append(splitter *s, tr_bid b) {
    assert(s->pos[b] == UINT32_MAX);
    s->pos[b] = s->order.n;
    tr_vec_push(&s->f->ctx->arena, &s->order, b);
}

static bool only_raises(const tr_fn *f, tr_bid b) {
    const tr_ins *t = tr_term(f, b);
    return tr_nsucc(t) == 0 && t->op != TR_OP_RET;
}

static void find_order(splitter *s) {
    const tr_fn *f = s->f;
    memset(s->pos, 0xff, f->blks.n * sizeof *s->pos);
    for (uint32_t i = 0; i < f->rpo.n; i++) {
        tr_bid b = f->rpo.d[i];
        if (s->pos[b] != UINT32_MAX || only_raises(f, b))
            continue;
        append(s, b);
        const tr_ins *t = tr_term(f, b);
        for (uint32_t k = 0; k < tr_nsucc(t); k++)
            if (only_raises(f, t->imm.succ[k].to) && s->pos[t->imm.succ[k].to] == UINT32_MAX)
                append(s, t->imm.succ[k].to);
    }
}

static void count_patterns(splitter *s) {
    for (uint32_t i = 0; i < s->order.n; i++)
        for (tr_val v = tr_blk_at(s->f, s->order.d[i])->first; v != TR_NOVAL; v = tr_at(s->f, v)->next)
            s->npat[i] += tr_at(s->f, v)->op == TR_OP_PATTERN;
}

/* --- depth --- */

static uint64_t mix(uint64_t x) {
    x = (x ^ x >> 31) * 0x9e3779b97f4a7c15u;
    return x ^ x >> 29;
}

/* Two positions are at the same depth if the same edges lead past both: forward ones from before to behind,
 * and jumps back from there. Sums stand for these sets: equal by chance, they make a stretch that
 * `stretch_is_closed` refuses. */
static void find_depths(splitter *s) {
    const tr_fn *f = s->f;
    tr_arena *a = &f->ctx->arena;
    uint32_t n = s->order.n;
    uint64_t *past = TR_NEW_N(a, uint64_t, n + 2u), last;
    tr_map same = {0};
    for (uint32_t u = 0; u < n; u++) {
        const tr_ins *t = tr_term(f, s->order.d[u]);
        for (uint32_t k = 0; k < tr_nsucc(t); k++) {
            uint32_t v = s->pos[t->imm.succ[k].to], low = u < v ? u : v, high = u < v ? v : u + 1;
            uint64_t edge = mix(((uint64_t)u << 32 | v) + 1);
            past[low + 1] += edge;
            past[high] -= edge;
        }
    }
    for (uint32_t i = 1; i < n; i++)
        past[i] += past[i - 1];
    for (uint32_t i = n; i-- > 1;) {
        s->next[i] = tr_map_get(&same, past[i], &last) ? (uint32_t)last : 0;
        tr_map_set(a, &same, past[i], i);
    }
}

/* --- stretches --- */

static bool block_is_in_stretch(const splitter *s, tr_bid b, uint32_t first, uint32_t end) {
    return s->pos[b] >= first && s->pos[b] < end;
}

/* One way in, one block to lead to, no return. */
static bool stretch_is_closed(const splitter *s, uint32_t first, uint32_t end) {
    assert(first < end && end <= s->order.n);
    const tr_fn *f = s->f;
    for (uint32_t i = first; i < end; i++) {
        const tr_blk *b = tr_blk_at(f, s->order.d[i]);
        const tr_ins *t = tr_term(f, s->order.d[i]);
        if (t->op == TR_OP_RET || s->order.d[i] == 0)
            return false;
        for (uint32_t k = 0; k < tr_nsucc(t); k++)
            if (!block_is_in_stretch(s, t->imm.succ[k].to, first, end) && s->pos[t->imm.succ[k].to] != end)
                return false;
        for (uint32_t k = 0; i > first && k < b->preds.n; k++)
            if (!block_is_in_stretch(s, b->preds.d[k], first, end))
                return false;
    }
    return true;
}

static void take(splitter *s, uint32_t first, uint32_t end) {
    assert(first < end);
    stretch new = {.first = first, .end = end};
    if (!stretch_is_closed(s, first, end))
        return;
    memset(s->taken + first, 1, end - first);
    for (uint32_t i = first; i < end; i++)
        s->o.of[s->order.d[i]] = s->all.n + 1;
    tr_vec_push(&s->f->ctx->arena, &s->all, new);
}

/* Patterns from position `first` to `end`; more than a piece holds where it may not be part of one. */
static uint32_t weight(const splitter *s, uint32_t first, uint32_t end) {
    assert(first <= end && end <= s->order.n);
    uint32_t n = 0;
    for (uint32_t i = first; i < end; i++)
        n = s->taken[i] || tr_term(s->f, s->order.d[i])->op == TR_OP_RET ? PIECE + 1 : n + s->npat[i];
    return n;
}

/* All at the depth of position p, from there on. */
static void find_stretches(splitter *s, uint32_t p, uint8_t *seen) {
    uint32_t first = p, end = p, sum = 0;
    for (uint32_t q; seen[p] = 1, (q = s->next[p]) != 0; p = q) {
        uint32_t n = weight(s, p, q);
        if (sum + n > PIECE) {
            if (sum >= LEAST)
                take(s, first, end);
            sum = 0;
        }
        if (n == 0 || n > PIECE)
            continue;
        first = sum ? first : p;
        end = q;
        sum += n;
    }
    if (sum >= LEAST)
        take(s, first, end);
}

/* --- what stretches hand on --- */

static uint32_t region_of(const splitter *s, tr_val v) {
    const tr_ins *in = tr_at(s->f, v);
    return tr_is_const(in) ? 0 : s->o.of[in->blk];
}

/* The sizes that an array was made with, as operands; NULL: not known. */
static const tr_val *sizes_of(const tr_fn *f, tr_val v) {
    return tr_made_sizes(tr_at(f, v));
}

static uint32_t nsizes(const tr_fn *f, tr_val v) {
    return sizes_of(f, v) ? tr_at(f, v)->ty->ndim : 0;
}

/* A use in a block of region `by`. An array takes its sizes with it. */
static void note_use(splitter *s, uint32_t by, tr_val v, uint8_t *noted) {
    uint32_t r = region_of(s, v);
    if (!r || r == by || noted[v])
        return;
    noted[v] = 1;
    tr_vec_push(&s->f->ctx->arena, &s->all.d[r - 1].out, v);
    const tr_val *size = sizes_of(s->f, v);
    for (uint32_t k = 0; size && k < nsizes(s->f, v); k++)
        note_use(s, by, size[k], noted);
}

typedef void (*on_use)(splitter *s, uint32_t by, tr_val *v, void *arg);

static void each_use(splitter *s, on_use visit, void *arg) {
    tr_fn *f = s->f;
    for (uint32_t i = 0; i < s->order.n; i++) {
        uint32_t by = s->o.of[s->order.d[i]];
        for (tr_val v = tr_blk_at(f, s->order.d[i])->first; v != TR_NOVAL; v = tr_at(f, v)->next) {
            tr_ins *in = tr_at(f, v);
            for (uint32_t k = 0; k < in->nargs; k++)
                visit(s, by, &in->args[k], arg);
            for (uint32_t e = 0; e < tr_nsucc(in); e++)
                for (uint32_t k = 0; k < in->imm.succ[e].n; k++)
                    visit(s, by, &in->imm.succ[e].args[k], arg);
        }
    }
}

static void visit_noting(splitter *s, uint32_t by, tr_val *v, void *noted) {
    note_use(s, by, *v, noted);
}

static void visit_replacing(splitter *s, uint32_t by, tr_val *v, void *to) {
    if (region_of(s, *v) && region_of(s, *v) != by)
        *v = ((const tr_val *)to)[*v];
}

/* The stretch's jumps out of it go to block e and give it what is handed on as well. */
static void redirect(splitter *s, const stretch *t, tr_bid out, tr_bid e) {
    tr_fn *f = s->f;
    for (uint32_t i = t->first; i < t->end; i++) {
        tr_ins *term = tr_term(f, s->order.d[i]);
        for (uint32_t k = 0; k < tr_nsucc(term); k++) {
            tr_edge *edge = &term->imm.succ[k];
            if (edge->to != out)
                continue;
            edge->to = e;
            for (uint32_t x = 0; x < t->out.n; x++)
                tr_edge_add(f, edge, t->out.d[x]);
        }
    }
}

/* The block behind the stretch, and to[v] for all that it hands on. */
static void make_exit(splitter *s, stretch *t, tr_val *to) {
    tr_fn *f = s->f;
    tr_bid out = s->order.d[t->end], e = t->exit = tr_blk_new(f);
    uint32_t n = tr_blk_at(f, out)->params.n;
    tr_blk_at(f, e)->cold = tr_blk_at(f, s->order.d[t->first])->cold;
    for (uint32_t i = 0; i < n; i++)
        tr_blk_param(f, e, tr_at(f, tr_blk_at(f, out)->params.d[i])->ty, NULL);
    for (uint32_t i = 0; i < t->out.n; i++) {
        tr_val v = t->out.d[i];
        to[v] = tr_blk_param(f, e, tr_at(f, v)->ty, v < f->names.n ? f->names.d[v] : NULL);
    }
    redirect(s, t, out, e);
}

/* Its instructions, now that all values that are handed on have their params. */
static void fill_exit(splitter *s, const stretch *t, tr_val *to) {
    tr_fn *f = s->f;
    tr_bld b = {.fn = f, .blk = t->exit, .before = TR_NOVAL};
    for (uint32_t i = 0; i < t->out.n; i++) {
        tr_val v = t->out.d[i], sizes[TR_MAX_NDIM];
        if (!sizes_of(f, v))
            continue;
        for (uint32_t k = 0; k < nsizes(f, v); k++) {
            sizes[k] = sizes_of(f, v)[k];
            if (region_of(s, sizes[k]))
                sizes[k] = to[sizes[k]];
        }
        to[v] = tr_emit_resized(&b, tr_at(f, v)->ty, to[v], sizes);
    }
    tr_bid out = s->order.d[t->end];
    tr_br(&b, out, tr_blk_at(f, out)->params.n, tr_blk_at(f, t->exit)->params.d);
}

/* --- the pass --- */

/* Those with too many results stay. */
static void drop(splitter *s) {
    for (uint32_t r = 0; r < s->all.n; r++) {
        stretch *t = &s->all.d[r];
        uint32_t n = t->out.n + tr_blk_at(s->f, s->order.d[t->end])->params.n;
        for (uint32_t i = t->first; i < t->end && n > MAX_RESULTS; i++)
            s->o.of[s->order.d[i]] = 0;
        if (n > MAX_RESULTS)
            t->end = t->first;
    }
}

static void hand_on(splitter *s) {
    tr_fn *f = s->f;
    tr_arena *a = &f->ctx->arena;
    each_use(s, visit_noting, TR_NEW_N(a, uint8_t, f->ins.n + 1u));
    drop(s);
    tr_val *to = TR_NEW_N(a, tr_val, f->ins.n + 1u);
    for (uint32_t r = 0; r < s->all.n; r++)
        if (s->all.d[r].end > s->all.d[r].first)
            make_exit(s, &s->all.d[r], to);
    for (uint32_t r = 0; r < s->all.n; r++)
        if (s->all.d[r].end > s->all.d[r].first)
            fill_exit(s, &s->all.d[r], to);
    each_use(s, visit_replacing, to);
    tr_cfg_compute(f);
}

static void outline(splitter *s) {
    tr_fn *f = s->f;
    tr_outline_begin(&s->o);
    for (uint32_t r = 0; r < s->all.n; r++) {
        const stretch *t = &s->all.d[r];
        s->o.number = r + 1;
        s->o.blks.n = 0;
        s->o.exit = t->exit;
        for (uint32_t i = t->first; i < t->end; i++)
            tr_vec_push(&f->ctx->arena, &s->o.blks, s->order.d[i]);
        if (s->o.blks.n)
            tr_outline_make(&s->o);
    }
}

bool tr_opt_split(tr_prog *p, tr_fn *f) {
    tr_arena *a = &f->ctx->arena;
    splitter s = {.f = f, .o = {.p = p, .f = f, .name = "piece", .piece = true}};
    if (p->handles || f->is_lambda || f->ctx->opts.debug || f->ctx->opts.opt_level == 0 ||
        !has_many_patterns(f))
        return false;
    cut_blocks(f);
    uint32_t n = f->rpo.n;
    s.pos = TR_NEW_N(a, uint32_t, f->blks.n + 1u);
    s.npat = TR_NEW_N(a, uint32_t, n + 1u);
    s.next = TR_NEW_N(a, uint32_t, n + 1u);
    s.taken = TR_NEW_N(a, uint8_t, n + 1u);
    s.o.of = TR_NEW_N(a, uint32_t, 3u * f->blks.n + 1u); /* two more blocks for each piece */
    find_order(&s);
    count_patterns(&s);
    find_depths(&s);
    uint8_t *seen = TR_NEW_N(a, uint8_t, n + 1u);
    for (uint32_t i = 1; i < n; i++)
        if (!seen[i])
            find_stretches(&s, i, seen);
    hand_on(&s);
    outline(&s);
    return true;
}
