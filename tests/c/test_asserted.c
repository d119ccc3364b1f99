/* What the central assertions say, of faults that are planted: each row does what nothing in the library may
 * do, in a process of its own, and that ends with the row's sentence. Of builds with assertions alone
 * (tests/meson.build): in others the rows would go on. */
#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bitset.h"
#include "base/vec.h"
#include "front/internal.h"
#include "lib/em.h"
#include "rt/blocks.h"
#include "rt/fns.h"
#include "rt/pool.h"
#include "rt/rt.h"
#include "ty/bigint.h"

static tr_ctx ctx;
static tr_prog prog;
static tr_em dry, real;
static tr_tv number, other, flag, vector, constant;

/* --- types, sets --- */

static void number_beyond_a_set(void) {
    tr_bits b = tr_bits_new(&ctx.arena, 64);
    tr_bits_set(&b, 64);
}

static void sets_of_two_sizes(void) {
    tr_bits a = tr_bits_new(&ctx.arena, 64), b = tr_bits_new(&ctx.arena, 65);
    tr_bits_union(&a, &b);
}

static void growth_of_what_has_room(void) {
    uint32_t cap = 8;
    uint64_t d[8];
    tr_vec_grow(&ctx.arena, d, 3, &cap, sizeof *d);
}

static void array_of_weak_items(void) {
    tr_ty_array(ctx.types, tr_ty_weak(ctx.types, TR_TY_F64), 1, TR_LAYOUT_C, false);
}

static void number_in_two_forms(void) {
    tr_bigint x = {.n = 1};
    tr_bigint_bits(&x);
}

static void row_of_no_operation(void) {
    tr_nop_kind(TR_N__COUNT);
}

/* --- templates --- */

static void sum_of_two_types(void) {
    tr_em_op2(&dry, TR_OP_ADD, number, other);
}

static void comparison_of_two_types(void) {
    tr_em_cmp(&dry, TR_CMP_LT, number, other);
}

static void choice_between_two_types(void) {
    tr_em_select(&dry, flag, number, other);
}

static void choice_by_a_number(void) {
    tr_em_select(&dry, number, number, number);
}

static void index_of_another_type(void) {
    tr_em_load(&dry, vector, &other);
}

static void store_to_what_is_read_only(void) {
    tr_em_store(&dry, constant, &number, other);
}

static void item_that_is_not_there(void) {
    tr_em_item(&dry, tr_em_tuple(&dry, 2, (tr_tv[]){number, other}), 2);
}

static void more_items_than_the_type_has(void) {
    tr_tv one = tr_em_tuple(&dry, 1, &number);
    tr_em_make(&dry, one.ty, 2, (tr_tv[]){number, number});
}

static void axis_that_is_not_there(void) {
    tr_em_dim(&dry, vector, 1);
}

static void check_of_a_number(void) {
    tr_em_check(&dry, number, TR_EXC_VALUE, "no", 0, NULL);
}

static void refusal_without_a_row(void) {
    tr_em_unsupported(&real, "no-such-row", "this");
}

/* Its type says other than the IR does. */
static void value_of_another_type(void) {
    tr_tv x = tr_em_f64(&real, 1.0);
    x.ty = number.ty;
    tr_em_op1(&real, TR_OP_NEG, x);
}

static bool yields_nothing(tr_em *e, const tr_pdesc *d, const tr_tv *idx, const tr_tv *elems,
                           const tr_tv *caps, tr_tv *yields) {
    (void)e, (void)d, (void)idx, (void)elems, (void)caps, (void)yields;
    return true;
}

static void lambda_that_yields_nothing(void) {
    tr_tv none;
    tr_pdesc d = {.nspace = 1, .nout = 1, .space = &number, .out = &vector, .lam = yields_nothing};
    tr_em_pattern(&dry, &d, &none);
}

static void input_of_another_rank(void) {
    tr_tv none, space[2] = {number, number};
    tr_pdesc d = {.nspace = 2, .nin = 1, .space = space, .in = &vector, .lam = yields_nothing};
    tr_em_pattern(&dry, &d, &none);
}

/* --- the run-time library --- */

static tr_frame frame;

static void reference_that_nobody_has(void) {
    tr_mem *m = tr_rt_alloc(&frame, 8);
    tr_rt_mem_detach(&frame, m);
    m->refs = 0;
    tr_rt_mem_unref(m);
}

static void block_that_is_in_no_list(void) {
    tr_mem *m = tr_rt_alloc(&frame, 8), *n = tr_rt_alloc(&frame, 8);
    n->prev = m->prev = &frame.mems;
    tr_rt_frame_fini(&frame);
}

static void frame_that_merges_with_itself(void) {
    tr_rt_frame_merge(&frame, &frame);
}

static void small_block_of_the_cache(void) {
    void *raw;
    tr_rt_blocks_get(NULL, 8, &raw);
}

static void turn_that_another_has(void) {
    static tr_chain c;
    tr_rt_chain_pass(&c, 3);
}

static void pool_of_nobody(void) {
    tr_rt_pool_start(0);
}

/* --- all of them --- */

static const struct {
    void (*fault)(void);
    const char *sentence;
} rows[] = {
    {number_beyond_a_set, "the set has that number"},
    {sets_of_two_sizes, "both are of the same numbers"},
    {growth_of_what_has_room, "a vector grows when it is full"},
    {array_of_weak_items, "items are numbers, records or slots"},
    {number_in_two_forms, "a number has one form"},
    {row_of_no_operation, "a row of nop.def"},
    {sum_of_two_types, "operands of one operation have one type"},
    {comparison_of_two_types, "what is compared is of one type of numbers"},
    {choice_between_two_types, "both arms have one type"},
    {choice_by_a_number, "a bool selects"},
    {index_of_another_type, "an index for each axis"},
    {store_to_what_is_read_only, "arrays are stored to, unless they are read-only"},
    {item_that_is_not_there, "what is taken is there"},
    {more_items_than_the_type_has, "a value has as many items as its type"},
    {axis_that_is_not_there, "an axis of an array"},
    {check_of_a_number, "a bool is checked"},
    {refusal_without_a_row, "what is refused has a row in nyi.def"},
    {value_of_another_type, "arithmetic is of numbers"},
    {lambda_that_yields_nothing, "a lambda fills all that it is to yield"},
    {input_of_another_rank, "inputs have the space's axes"},
    {reference_that_nobody_has, "who gives a reference back has one"},
    {block_that_is_in_no_list, "a frame's blocks are a ring"},
    {frame_that_merges_with_itself, "no frame merges with itself"},
    {small_block_of_the_cache, "small blocks are malloc's"},
    {turn_that_another_has, "who passes the turn on has it"},
    {pool_of_nobody, "the caller is one of them"},
};

static tr_tv value(const tr_ty *ty) {
    return (tr_tv){ty, TR_NOVAL};
}

static void set_up(void) {
    static tr_opts opts;
    tr_ctx_init(&ctx);
    tr_tytab *all = tr_tytab_new(NULL);
    ctx.types = tr_tytab_new(all);
    assert(all && ctx.types);
    tr_prog_init(&prog, &ctx);
    opts = TR_OPTS_DEFAULT;
    dry = (tr_em){.ctx = &ctx, .types = ctx.types, .prog = &prog, .dry = true, .opts = &opts};
    real = dry;
    real.dry = false;
    tr_fn *f = tr_fn_new(&ctx, "f", S_T);
    real.b = (tr_bld){f, tr_blk_new(f), TR_NOVAL, 0};
    const tr_ty *f64 = tr_ty_scalar(ctx.types, TR_TY_F64);
    number = value(tr_ty_scalar(ctx.types, TR_TY_I64));
    other = value(f64);
    flag = value(tr_ty_scalar(ctx.types, TR_TY_BOOL));
    vector = value(tr_ty_array(ctx.types, f64, 1, TR_LAYOUT_C, false));
    constant = value(tr_ty_array(ctx.types, f64, 1, TR_LAYOUT_C, true));
    tr_rt_frame_init(&frame, NULL);
}

/* What it writes as it dies; false: it did not. */
static bool dies(void (*fault)(void), char *said, size_t room) {
    int to[2], status;
    size_t n = 0;
    ssize_t got;
    assert(pipe(to) == 0);
    pid_t child = fork();
    assert(child >= 0);
    if (child == 0) {
        signal(SIGABRT, SIG_DFL);
        dup2(to[1], 2);
        fault();
        _exit(0);
    }
    close(to[1]);
    while (n + 1 < room && (got = read(to[0], said + n, room - 1 - n)) > 0)
        n += (size_t)got;
    said[n] = 0;
    close(to[0]);
    assert(waitpid(child, &status, 0) == child);
    return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

int main(void) {
    int wrong = 0;
    char said[4096];
    set_up();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!dies(rows[i].fault, said, sizeof said) || !strstr(said, rows[i].sentence)) {
            fprintf(stderr, "'%s' is not said, but: %s\n", rows[i].sentence, said);
            wrong = 1;
        }
    return wrong;
}
