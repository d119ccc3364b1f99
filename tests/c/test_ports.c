/* A pattern's ports: the table of roles and the walks over it agree with the text; a node may be put together
 * in any order; what an operand that goes takes along. */
#include "parse_util.h"

#include <string.h>

#include "ir/ports.h"
#include "ty/ty.h"

static tr_ctx ctx;

/* One operand of each role, two where there may be, and what a function is given and yields of each. */
static const char all[] =
    "fn @f -> none {\n"
    "b0(%n: i64, %m: i64, %a: f64[2c], %b: f64[2c], %p: f64[1c], %q: f64[1c], %k: i64, %j: f64):\n"
    "  %w: none = pattern [keep %n, %m] in(%a) out(%b) red(scan add 0, scan mul 1.0, max.fast 2.0, min 3) "
    "then in(%p) out(%q) cap(%k, %j) {\n"
    "  b0(%0: i64, %1: i64, %2: f64, %3: i64, %4: f64, %5: i64, %6: f64):\n"
    "    yield %2, %5, %6, %4, %3\n"
    "  } {\n"
    "  b0(%0: i64, %1: i64, %2: f64, %3: f64, %4: i64, %5: f64, %6: i64, %7: f64):\n"
    "    yield %5\n"
    "  }\n"
    "  ret undef:none\n"
    "}\n";

static tr_val pattern_of(const tr_fn *f) {
    tr_val v = tr_blk_at(f, 0)->first;
    while (tr_at(f, v)->op != TR_OP_PATTERN)
        v = tr_at(f, v)->next;
    return v;
}

/* Walks, sums over rows and what a single operand is asked agree, for both functions. */
static void test_walks(void) {
    tr_fn *f = parse_fn(&ctx, all);
    const tr_ins *in = tr_at(f, pattern_of(f));
    const tr_pat *p = in->imm.pat;
    assert(p->nspace == 2 && p->nin == 1 && p->nscan == 2 && p->nfold == 2 && p->ncap == 2 && p->neout == 1);
    assert(tr_pat_nargs(p) == in->nargs && tr_pat_nred(p) == 4 && tr_pat_njoins(p) == 4);
    for (unsigned fn = TR_LAM; tr_pat_fn(p, fn); fn++) {
        const tr_fn *g = tr_pat_fn(p, fn);
        uint32_t nslots = 0;
        assert(tr_pat_nparams(p, fn) == tr_blk_at(g, 0)->params.n);
        for (tr_ports q = tr_ports_of(p, fn); tr_ports_left(&q); tr_ports_next(p, fn, &q)) {
            assert(q.arg == tr_pat_at(p, q.role) && q.param == tr_pat_param(p, fn, q.role));
            assert(q.slot == tr_pat_slot(p, fn, q.role));
            nslots += q.is->gives[fn] ? q.n : 0;
            for (uint32_t k = 0; q.role != P_SPACE && k < q.n; k++) {
                assert(tr_pat_role(p, q.arg + k) == q.role);
                assert(tr_port_param(p, fn, q.arg + k) ==
                       (q.is->takes[fn] ? tr_blk_at(g, 0)->params.d[q.param + k] : TR_NOVAL));
            }
        }
        assert(nslots == tr_pat_yield(g)->nargs);
    }
    assert(tr_pat_red(p, 0) == TR_RED_ADD && tr_pat_red(p, 2) == TR_RED_MAX &&
           tr_pat_fast(p, 2) == TR_FM_ALL);
}

/* Roles that are not there are no place to begin, nor to end. */
static void test_with(void) {
    tr_fn *f = parse_fn(&ctx, all);
    const tr_ins *in = tr_at(f, pattern_of(f));
    const tr_pat *p = in->imm.pat;
    uint32_t found[8], n = 0;
    for (uint32_t k = 0; (k = tr_pat_with(p, TR_MEM_WRITE, k)) < in->nargs; k++)
        found[n++] = k;
    assert(n == 2 && found[0] == tr_pat_at(p, P_OUT) && found[1] == tr_pat_at(p, P_EOUT));
    tr_pat reads = {.nspace = 1, .nin = 2, .nfold = 1};
    assert(tr_pat_with(&reads, TR_MEM_WRITE, 0) == 4 && tr_pat_with(&reads, TR_MEM_READ, 0) == 1);
    assert(tr_pat_with(&reads, TR_MEM_READ, 2) == 2 && tr_pat_with(&reads, TR_MEM_READ, 3) == 4);
    assert(!tr_pat_is_map(&reads) && tr_pat_has_only(&reads, P_(SPACE) | P_(IN) | P_(RED)));
}

/* Roles put backwards: the same text. */
static void test_any_order(void) {
    tr_fn *f = parse_fn(&ctx, all);
    tr_sb before, after;
    tr_sb_init(&before);
    tr_sb_init(&after);
    tr_val v = pattern_of(f);
    tr_ins in = *tr_at(f, v);
    tr_node m = tr_node_new(f);
    m.t = *in.imm.pat;
    for (unsigned r = TR_ROLE__COUNT; r-- > 0;)
        tr_node_take(&m, (tr_role)r, &in);
    tr_ir_print(&before, f);
    tr_bld b = {.fn = f, .blk = 0, .before = v};
    tr_val made = tr_node_emit(&m, &b);
    assert(tr_at(f, made)->ty == in.ty);
    tr_ins_remove(f, v);
    tr_val_name(f, made, "w");
    tr_ir_print(&after, f);
    assert(!strcmp(before.d, after.d));
    tr_sb_fini(&before);
    tr_sb_fini(&after);
}

/* An output goes with what is yielded for it, a reduction with how it is joined besides. */
static void test_drop(void) {
    tr_fn *f = parse_fn(&ctx, all);
    tr_val v = pattern_of(f);
    tr_pat *p = tr_at(f, v)->imm.pat;
    tr_val last = tr_pat_yield(p->lam)->args[4];
    tr_port_drop(f, v, tr_pat_at(p, P_OUT));
    assert(p->nout == 0 && tr_pat_yield(p->lam)->nargs == 4 && tr_pat_yield(p->epi)->nargs == 1);
    tr_port_drop(f, v, tr_pat_at(p, P_RED)); /* max.fast */
    assert(p->nfold == 1 && tr_pat_red(p, 2) == TR_RED_MIN && !tr_pat_fast(p, 2));
    assert(tr_pat_yield(p->lam)->nargs == 3 && tr_pat_yield(p->lam)->args[2] == last);
    tr_val cost = tr_blk_at(f, 0)->params.d[0];
    tr_port_add(f, v, P_COST, cost);
    assert(p->ncost == 1 && tr_at(f, v)->args[tr_at(f, v)->nargs - 1] == cost);
    assert(tr_pat_nargs(p) == tr_at(f, v)->nargs);
}

int main(void) {
    tr_ctx_init(&ctx);
    tr_tytab *shared = tr_tytab_new(NULL);
    ctx.types = tr_tytab_new(shared);
    tr_tytab_follow(ctx.types, &ctx.arena);
    test_walks();
    test_with();
    test_any_order();
    test_drop();
    tr_tytab_free(ctx.types);
    tr_tytab_free(shared);
    tr_ctx_fini(&ctx);
    return 0;
}
