/* C prototypes of the rows of rt.def, for the files that define them and for C tests. Generated code reaches
 * them by name through code/symbols.c. */
#ifndef TR_RT_FNS_H
#define TR_RT_FNS_H

#include <stdint.h>

#include "rt/layout.h"

/* Lets the calls of a frame recurse as far as the stack of the present thread goes. */
void tr_rt_stack(tr_frame *f);
uintptr_t tr_rt_stack_limit(void);
/* Bytes to the end of the stack of the thread that runs, the reserve among them. */
size_t tr_rt_stack_left(void);

/* A block, its data aligned as an array's; a cell: for what is no array, as malloc() aligns, in less
 * memory. */
void *tr_rt_alloc(tr_frame *f, uint64_t bytes);
void *tr_rt_cell(tr_frame *f, uint64_t bytes);
void tr_rt_free(tr_frame *f, void *mem);
void tr_rt_release(tr_frame *f, void *owner);

/* Lists (list.c). */
void *tr_rt_list_new(tr_frame *f, int64_t n, const tr_shape *shape);
void tr_rt_list_move(void *owner, void *items, int64_t n, int64_t to, int64_t from, int64_t size);
bool tr_rt_list_room(void *list, int64_t n);
bool tr_rt_list_resize(tr_frame *f, void *list, int64_t n);
void tr_rt_list_cut(tr_frame *f, void *list, int64_t start, int64_t step, int64_t n);
void tr_rt_list_gap(void *list, int64_t at, int64_t n);
int64_t tr_rt_list_gather(void *list, const void *parts);
void tr_rt_list_fill(void *list, int64_t at, const void *from, int64_t start, int64_t step, int64_t n);
void tr_rt_list_repeat(void *list, int64_t at, const void *from, int64_t n);
void tr_rt_list_reverse(void *list);
bool tr_rt_same(const void *a, const void *b);
/* What is counted in items of a container (shape.c): for ever, and for whoever asks. NULL without memory. */
const tr_shape *tr_rt_shape(uint32_t size, uint32_t n, const uint32_t *at);
/* By the name that code has for it; NULL: it is none, or there is no memory. */
const tr_shape *tr_rt_shape_named(const char *name);
/* Items of that shape, one behind the other: their references are taken back, and what nobody has any more is
 * freed, with what it holds (mem.c); or they get one more. */
void tr_rt_items_drop(tr_frame *f, const tr_shape *shape, const void *items, int64_t n);
void tr_rt_items_keep(const tr_shape *shape, const void *items, int64_t n);

/* Sets, and the keys of dicts (dict.c). `table` and `values` are blocks: a set's, and the list's of a dict's
 * values; NULL: it is a set. find: the entry's number, -1: none. enter: of a key that is not there, whose
 * value is zeros then; -1: without memory. next: the first entry from e on that is there, or -1. */
void *tr_rt_dict_new(tr_frame *f, const tr_shape *shape);
int64_t tr_rt_dict_next(const void *table, int64_t e);
void tr_rt_dict_clear(tr_frame *f, void *table, void *values);
/* A string among parameters. */
#define STR_PARTS(s) void *s##_owner, const void *s##_data, int64_t s##_bits
#define TR_DICT_CLASS(name, ...)                                             \
    int64_t tr_rt_dict_find_##name(const void *table, __VA_ARGS__);          \
    int64_t tr_rt_dict_enter_##name(void *table, __VA_ARGS__, void *values); \
    void tr_rt_dict_leave_##name(tr_frame *f, void *table, int64_t e, void *values);
TR_DICT_CLASS(bool, uint8_t key)
TR_DICT_CLASS(i64, uint64_t key)
TR_DICT_CLASS(f64, double key)
TR_DICT_CLASS(c128, double re, double im)
TR_DICT_CLASS(2i64, uint64_t k0, uint64_t k1)
TR_DICT_CLASS(str, STR_PARTS(key))
TR_DICT_CLASS(any, const void *key) /* where one lies; the table's shape says what it is */
#undef TR_DICT_CLASS
int64_t tr_rt_table_next(const tr_table *t, int64_t e); /* for who walks over a table */
/* Strings (str.c, print.c, str_case.c, str_number.c). */
int64_t tr_rt_str_make(tr_frame *f);
void tr_rt_str_made(tr_frame *f, int64_t from, tr_str *out);
void tr_rt_str_char(tr_frame *f, int64_t c, tr_str *out);
void tr_rt_print_by_int(tr_frame *f, int64_t how, int64_t x, STR_PARTS(spec));
void tr_rt_print_by_float(tr_frame *f, double x, STR_PARTS(spec));
void tr_rt_print_by_complex(tr_frame *f, double re, double im, STR_PARTS(spec));
void tr_rt_print_by_string(tr_frame *f, STR_PARTS(s), STR_PARTS(spec));
int64_t tr_rt_str_spec_is(int64_t how, STR_PARTS(spec));
void tr_rt_str_spec_why(tr_frame *f, int64_t how, STR_PARTS(spec), tr_str *out);
void tr_rt_bytes_make(tr_frame *f, int64_t how, STR_PARTS(s), tr_str *out);
bool tr_rt_bytes_is(int64_t what, STR_PARTS(s));
int64_t tr_rt_bytes_bad(int64_t how, STR_PARTS(s));
int64_t tr_rt_bytes_why(int64_t how, int64_t at, STR_PARTS(s));
void tr_rt_bytes_of_items(tr_frame *f, void *owner, const void *data, int64_t n, int64_t size, tr_str *out);
void tr_rt_bytes_of_list(tr_frame *f, const void *list, tr_str *out);
void tr_rt_bytes_translate(tr_frame *f, STR_PARTS(s), STR_PARTS(table), STR_PARTS(gone), tr_str *out);
void tr_rt_bytes_table(tr_frame *f, STR_PARTS(from), STR_PARTS(to), tr_str *out);
void tr_rt_bytes_unhex(tr_frame *f, STR_PARTS(s), tr_str *out);
int64_t tr_rt_bytes_unhex_bad(STR_PARTS(s));
void tr_rt_bytes_code(tr_frame *f, int64_t how, STR_PARTS(s), tr_str *out);
/* Items of fixed-width strings (chars.c): `how` TR_CHARS_*. */
void tr_rt_chars_get(tr_frame *f, int64_t how, const void *owner, const void *data, int64_t bytes,
                     tr_str *out);
bool tr_rt_chars_put(int64_t how, STR_PARTS(s), void *owner, void *data, int64_t bytes);
int64_t tr_rt_chars_fit(int64_t how, void *to_owner, void *to, int64_t rows, int64_t to_bytes,
                        const void *owner, const void *from, int64_t n, int64_t bytes, int64_t step,
                        int64_t unit_step);
void tr_rt_chars_compare(int64_t how, void *out_owner, void *out, int64_t n, const void *a_owner,
                         const void *a, int64_t na, int64_t a_bytes, int64_t a_step, int64_t a_unit,
                         const void *b_owner, const void *b, int64_t nb, int64_t b_bytes, int64_t b_step,
                         int64_t b_unit);
void tr_rt_chars_join(int64_t how, void *out_owner, void *out, int64_t n, int64_t bytes, const void *a_owner,
                      const void *a, int64_t na, int64_t a_bytes, int64_t a_step, int64_t a_unit,
                      const void *b_owner, const void *b, int64_t nb, int64_t b_bytes, int64_t b_step,
                      int64_t b_unit);
void tr_rt_chars_argsort(int64_t how, const void *owner, const void *data, int64_t n, int64_t bytes,
                         int64_t step, int64_t unit_step, void *order_owner, void *order, int64_t n_order,
                         void *other_owner, void *other, int64_t n_other);
int64_t tr_rt_chars_width(const void *list);
bool tr_rt_chars_fill(int64_t how, const void *list, void *owner, void *data, int64_t rows, int64_t bytes);
bool tr_rt_str_equal(STR_PARTS(a), STR_PARTS(b));
int64_t tr_rt_hash_i64(int64_t x);
int64_t tr_rt_hash_u64(uint64_t x);
int64_t tr_rt_hash_f64(double x);
int64_t tr_rt_hash_complex(double re, double im);
uint64_t tr_rt_hash_item(uint64_t all, int64_t item);
int64_t tr_rt_hash_tuple(uint64_t all, int64_t n);
int64_t tr_rt_hash_str(tr_frame *f, STR_PARTS(s));
int64_t tr_rt_str_order(STR_PARTS(a), STR_PARTS(b));
int64_t tr_rt_str_seek(int64_t how, STR_PARTS(s), STR_PARTS(what), int64_t start, int64_t end);
int64_t tr_rt_str_edge(int64_t how, STR_PARTS(s), STR_PARTS(set), int64_t from);
int64_t tr_rt_str_next(int64_t how, STR_PARTS(s), int64_t from);
bool tr_rt_str_is(int64_t what, STR_PARTS(s));
void tr_rt_str_slice(tr_frame *f, STR_PARTS(s), int64_t start, int64_t n, int64_t step, tr_str *out);
void tr_rt_str_concat(tr_frame *f, STR_PARTS(a), STR_PARTS(b), tr_str *out);
void tr_rt_str_join(tr_frame *f, STR_PARTS(sep), const void *list, tr_str *out);
void tr_rt_str_repeat(tr_frame *f, STR_PARTS(s), int64_t times, tr_str *out);
void tr_rt_str_replace(tr_frame *f, STR_PARTS(s), STR_PARTS(old), STR_PARTS(by), int64_t most, tr_str *out);
void tr_rt_str_case(tr_frame *f, int64_t how, STR_PARTS(s), tr_str *out);
void tr_rt_str_pad(tr_frame *f, int64_t how, STR_PARTS(s), int64_t width, int64_t fill, tr_str *out);
void tr_rt_str_tabs(tr_frame *f, STR_PARTS(s), int64_t tab, tr_str *out);
int64_t tr_rt_str_int_is(STR_PARTS(s), int64_t base);
int64_t tr_rt_str_int(STR_PARTS(s), int64_t base);
int64_t tr_rt_str_float_is(STR_PARTS(s));
double tr_rt_str_float(STR_PARTS(s));

/* Memory of the device on which the program's arrays lie (far.c). */
void *tr_rt_far_alloc(tr_frame *f, uint64_t bytes);
int32_t tr_rt_far_launch(tr_frame *f, void *late, const void *slots, int64_t n);
int32_t tr_rt_far_fetch(tr_frame *f, void *to, const void *from, int64_t bytes);
/* Late code (late.c): the address to call, and what to do with a code above 0 that it returned. */
void *tr_rt_late(tr_frame *f, void *late);
void tr_rt_late_raised(tr_frame *f, void *late);
int64_t tr_rt_class(const tr_frame *f, int64_t site, const uint16_t *table);

/* What a handler takes out of the frame, a tr_raised, but for its code, and puts back. */
void tr_rt_catch(const tr_frame *f, void *to, const void *sites);
void tr_rt_again(tr_frame *f, const void *from);
void tr_rt_made(tr_frame *f, int64_t exc);
/* What one that was caught says (told.c). */
void tr_rt_exc_text(tr_frame *f, int64_t how, int64_t exc, tr_str *out);
int64_t tr_rt_exc_number(int64_t how, int64_t exc);
/* Context and cause of an exception (link.c); each is what `catch` gave, 0 is None. */
void tr_rt_context(tr_frame *f, int64_t exc);
void tr_rt_cause(tr_frame *f, int64_t exc);
void tr_rt_context_of(tr_frame *f, int64_t exc, int64_t context);
void tr_rt_cause_of(tr_frame *f, int64_t exc, int64_t cause);

int64_t tr_rt_align(const void *owner, const void *data, int64_t n, int64_t to);
void tr_rt_place(int64_t thread, int64_t block, int64_t block_size, int64_t grid_size);
/* For what is linked: threadIdx.x, .y, .z, then blockIdx, blockDim, gridDim. */
uint32_t tr_rt_placed(int32_t k);
void tr_rt_print_i64(tr_frame *f, int64_t x);
void tr_rt_print_u64(tr_frame *f, uint64_t x);
void tr_rt_print_f64(tr_frame *f, double x);
void tr_rt_print_f32(tr_frame *f, float x);
void tr_rt_print_bool(tr_frame *f, uint8_t x);
void tr_rt_print_c128(tr_frame *f, double re, double im);
void tr_rt_print_c64(tr_frame *f, double re, double im);
void tr_rt_print_str(tr_frame *f, const char *s);
void tr_rt_print_end(tr_frame *f);
void tr_rt_print_string(tr_frame *f, const void *owner, const void *data, int64_t bits);
void tr_rt_print_repr(tr_frame *f, const void *owner, const void *data, int64_t bits);
void tr_rt_print_spec_string(tr_frame *f, const void *owner, const void *data, int64_t bits,
                             const char *spec);
void tr_rt_print_date(tr_frame *f, int64_t v, int64_t precision);
void tr_rt_print_span(tr_frame *f, int64_t v, const char *unit);
void tr_rt_print_axis(tr_frame *f, int64_t n);
void tr_rt_print_array(tr_frame *f, void *owner, const void *data, int64_t n, int64_t size, const char *how);
void tr_rt_print_spec_i64(tr_frame *f, int64_t x, const char *spec);
void tr_rt_print_spec_u64(tr_frame *f, uint64_t x, const char *spec);
void tr_rt_print_spec_f64(tr_frame *f, double x, const char *spec);
void tr_rt_print_spec_c128(tr_frame *f, double re, double im, const char *spec);
/* As Python's format() does, for a specification that tr_fspec_read takes for the kind. */
struct tr_sb;
void tr_rt_spec_int(const char *spec, int64_t x, struct tr_sb *out);
void tr_rt_spec_uint(const char *spec, uint64_t x, struct tr_sb *out);
void tr_rt_spec_float(const char *spec, double x, struct tr_sb *out);
void tr_rt_spec_complex(const char *spec, double re, double im, struct tr_sb *out);

/* Parallel regions (parallel.c): see rt.def and layout.h's tr_par_fn. */
int32_t tr_rt_parallel(tr_frame *f, tr_par_fn *fn, void *ctx, int64_t n, int64_t grain);
int32_t tr_rt_region(tr_frame *f, tr_par_fn *fn, void *ctx, int64_t n, int64_t rounds);
int32_t tr_rt_chain(tr_frame *f, tr_par_fn *fn, void *ctx, int64_t n, int64_t grain);
int32_t tr_rt_chain_wait(tr_chain *c, int64_t k);
void tr_rt_chain_pass(tr_chain *c, int64_t k);
int64_t tr_rt_chain_team(void);
int32_t tr_rt_stop(tr_frame *f);
int64_t tr_rt_clock(int64_t which); /* TR_CLOCK_* of lib/families.h: nanoseconds */
int64_t tr_rt_num_threads(void);
uint8_t tr_rt_set_num_threads(int64_t n);
int64_t tr_rt_thread_id(void);

int64_t tr_rt_ipow(int64_t base, int64_t exp);
double tr_rt_round(double x, int64_t ndigits);
int64_t tr_rt_gcd(int64_t a, int64_t b);
uint64_t tr_rt_gcdu(uint64_t a, uint64_t b);
int64_t tr_rt_roundi(int64_t x, int64_t ndigits);
uint64_t tr_rt_roundu(uint64_t x, int64_t ndigits);
int64_t tr_rt_powmod(int64_t x, int64_t y, int64_t mod);
/* These give -1 for a result that does not fit. */
int64_t tr_rt_lcm(int64_t a, int64_t b);
int64_t tr_rt_factorial(int64_t n);
int64_t tr_rt_comb(int64_t n, int64_t k);
int64_t tr_rt_perm(int64_t n, int64_t k);
double tr_rt_ldexp(double x, int64_t exp);
double tr_rt_frexpm(double x);
int64_t tr_rt_frexpe(double x);
double tr_rt_nextsteps(double x, double y, int64_t steps);
/* An array's parts: owner, data, length. */
double tr_rt_fsum(void *owner, const double *x, int64_t n);
double tr_rt_sumprod(void *xo, const double *x, int64_t nx, void *yo, const double *y, int64_t ny);
int64_t tr_rt_isqrt(int64_t x);
double tr_rt_lgamma(double x);
float tr_rt_lgammaf(float x);

/* Pairwise sums (sum.c): of an array; of a sequence that comes in pieces of TR_SUM_BLOCK values, the last one
 * shorter. */
double tr_rt_sum_f64(const double *x, int64_t n);
float tr_rt_sum_f32(const float *x, int64_t n);
void tr_rt_sum_add_f64(void *state, const double *x, int64_t n);
void tr_rt_sum_add_f32(void *state, const float *x, int64_t n);
void tr_rt_tile_clear_f64(void *state, double *acc, int64_t n);
void tr_rt_tile_clear_f32(void *state, float *acc, int64_t n);
void tr_rt_tile_add_f64(void *state, double *acc, int64_t n);
void tr_rt_tile_add_f32(void *state, float *acc, int64_t n);
void tr_rt_tile_end_f64(void *state, double *acc, int64_t n);
void tr_rt_tile_end_f32(void *state, float *acc, int64_t n);
double tr_rt_sum_join_f64(const double *x, int64_t n);
float tr_rt_sum_join_f32(const float *x, int64_t n);
int64_t tr_rt_grain(int64_t n, int64_t inner, int64_t cost);
int64_t tr_rt_grain_of(int64_t n, int64_t inner, int64_t work);
int64_t tr_rt_pack_rows(int64_t n, int64_t grain);
int64_t tr_rt_scatter_rows(int64_t n, int64_t inner, int64_t size, int64_t any);
int64_t tr_rt_scatter_parts(int64_t rows, int64_t n, int64_t inner, int64_t bytes, int64_t put);
double tr_rt_sum_end_f64(void *state, const double *x, int64_t n); /* -0.0 when nothing was added */
float tr_rt_sum_end_f32(void *state, const float *x, int64_t n);

/* Running sums (scan.c) of n contributions, which begin with a group of their block: the values into out,
 * which may be x, or nowhere; the sum of the block so far, which was `total`. Values there are `whole` in
 * all; `ahead` elements behind x lies what the thread reads next, 0 where that is not known. */
double tr_rt_scan_f64(const double *x, double *out, int64_t n, int64_t whole, int64_t ahead, double before,
                      double total);
float tr_rt_scan_f32(const float *x, float *out, int64_t n, int64_t whole, int64_t ahead, float before,
                     float total);

/* The items of x whose byte of the mask is not 0, side by side from place `at` of out on, up to `limit`
 * (pack.c); what is there up to that may be overwritten. Their size is 1, 2, 4, 8 or 16. Returns where the
 * next one goes. */
int64_t tr_rt_pack(const uint8_t *mask, const void *x, void *out, int64_t n, int64_t at, int64_t limit,
                   int64_t size);
int64_t tr_rt_look_up(const uint8_t *x, uint8_t *out, int64_t n, const uint8_t *table, int64_t m);

/* The k best of at most n keys (topk.c): room for it; begins, `what` being a set of TR_TOP_* (layout.h); n
 * more of them, the first one's place; the places of the best, the best first, and it begins anew. What
 * ranges have found comes together: how many there are, their keys, their places, 1 + 2 k numbers each. */
int64_t tr_rt_top_room(int64_t k, int64_t n);
void tr_rt_top_open(void *memory, int64_t k, int64_t n, int64_t what);
void tr_rt_top_see(void *memory, const void *x, int64_t n, int64_t first);
int64_t *tr_rt_top_end(void *memory);
void tr_rt_top_leave(void *memory, int64_t *to);
void tr_rt_top_join(void *memory, const int64_t *from, int64_t n);

/* The place of the first extreme (arg.c), of the first NaN if there is one: of an array; of a sequence that
 * comes in pieces. */
int64_t tr_rt_arg(int64_t what, const void *x, int64_t n);
void tr_rt_arg_add(int64_t what, void *state, const void *x, int64_t n);

void tr_rt_cpow(double ar, double ai, double br, double bi, double out[2]);

/* c = a * b (matmul.c). kind: TR_MAT_*; each matrix as owner, data, rows, columns, strides in items; c's
 * items of a row are adjacent. */
void tr_rt_matmul(int64_t kind, void *co, void *c, int64_t cm, int64_t cn, int64_t crs, int64_t ccs, void *ao,
                  const void *a, int64_t am, int64_t ak, int64_t ars, int64_t acs, void *bo, const void *b,
                  int64_t bk, int64_t bn, int64_t brs, int64_t bcs);
/* The same for n matrices each, with a third size and distance before the others. */
void tr_rt_matmuls(int64_t kind, void *co, void *c, int64_t n, int64_t cm, int64_t cn, int64_t cstep,
                   int64_t crs, int64_t ccs, void *ao, const void *a, int64_t an, int64_t am, int64_t ak,
                   int64_t astep, int64_t ars, int64_t acs, void *bo, const void *b, int64_t bcount,
                   int64_t bk, int64_t bn, int64_t bstep, int64_t brs, int64_t bcs);

/* Sorted numbers (item i at first + i * step), the two numbers of a line, a table of m buckets: both are
 * filled. By table[bucket] a search begins, and takes so many rounds; -1: it begins at 0, the numbers do not
 * go up or there are none (places.c). */
int64_t tr_rt_places(void *xowner, const double *x, int64_t n, int64_t first, int64_t step, void *lowner,
                     double *line, int64_t nline, void *towner, int64_t *table, int64_t m);

/* Counts numbers from the first on while they are below m - 1, a power of two or 0, in a table of as many
 * places; its last one gets how many places were used (bins.c). How many were counted. */
int64_t tr_rt_count_bytes(void *xowner, const uint8_t *x, int64_t n, void *towner, int64_t *table, int64_t m);
int64_t tr_rt_count_few(void *xowner, const int64_t *x, int64_t n, void *towner, int64_t *table, int64_t m);

/* Sorting and selecting (sort.c, select.c): type: TR_SORT_*; lines as owner, data, number,
 * stride in items. 0, or TR_SORT_NOMEM. */
int64_t tr_rt_sort(int64_t type, int64_t how, void *owner, void *data, int64_t n, int64_t stride);
/* Places are counted from 0, and of as many items as the line has. */
int64_t tr_rt_argsort(int64_t type, int64_t how, void *ao, const void *a, int64_t n, int64_t as, void *po,
                      int64_t *places, int64_t np, int64_t ps);
/* In `to`, which may be the line itself: the items (or their places) such that those at
 * kth[0 .. nkth) are where sorting would put them, no item before one is larger, and none
 * behind it smaller. All kth are in [0, n). */
int64_t tr_rt_partition(int64_t type, void *ao, const void *a, int64_t n, int64_t as, void *to_owner,
                        void *to, int64_t m, int64_t ts, void *ko, const int64_t *kth, int64_t nkth);
int64_t tr_rt_argpartition(int64_t type, void *ao, const void *a, int64_t n, int64_t as, void *po,
                           int64_t *places, int64_t np, int64_t ps, void *ko, const int64_t *kth,
                           int64_t nkth);
/* to[0 .. m): the items that sorting would put at k, k + 1 ...; the line stays as it is. 1, and nothing
 * stored: there is a NaN, or nothing at all. */
int64_t tr_rt_ranked(int64_t type, int64_t k, void *ao, const void *a, int64_t n, int64_t as, void *to_owner,
                     void *to, int64_t m);
/* Runs a loop of a foreign ufunc (loop.c) over operands of three axes: round, core axis, core axis. True: it
 * raised the invalid flag, which is as it was before. */
#define TR_LOOP_OPERAND(x)                                                                          \
    void *x##o, void *x, int64_t x##n0, int64_t x##n1, int64_t x##n2, int64_t x##s0, int64_t x##s1, \
        int64_t x##s2
int64_t tr_rt_loop1(tr_frame *f, void *to, const void *table, int64_t n, int64_t which, TR_LOOP_OPERAND(q));
int64_t tr_rt_loop2(tr_frame *f, void *to, const void *table, int64_t n, int64_t which, TR_LOOP_OPERAND(q),
                    TR_LOOP_OPERAND(r));
int64_t tr_rt_loop3(tr_frame *f, void *to, const void *table, int64_t n, int64_t which, TR_LOOP_OPERAND(q),
                    TR_LOOP_OPERAND(r), TR_LOOP_OPERAND(u));
int64_t tr_rt_loop4(tr_frame *f, void *to, const void *table, int64_t n, int64_t which, TR_LOOP_OPERAND(q),
                    TR_LOOP_OPERAND(r), TR_LOOP_OPERAND(u), TR_LOOP_OPERAND(v));
int64_t tr_rt_loop5(tr_frame *f, void *to, const void *table, int64_t n, int64_t which, TR_LOOP_OPERAND(q),
                    TR_LOOP_OPERAND(r), TR_LOOP_OPERAND(u), TR_LOOP_OPERAND(v), TR_LOOP_OPERAND(w));
int64_t tr_rt_loop6(tr_frame *f, void *to, const void *table, int64_t n, int64_t which, TR_LOOP_OPERAND(q),
                    TR_LOOP_OPERAND(r), TR_LOOP_OPERAND(u), TR_LOOP_OPERAND(v), TR_LOOP_OPERAND(w),
                    TR_LOOP_OPERAND(x));
int64_t tr_rt_loop7(tr_frame *f, void *to, const void *table, int64_t n, int64_t which, TR_LOOP_OPERAND(q),
                    TR_LOOP_OPERAND(r), TR_LOOP_OPERAND(u), TR_LOOP_OPERAND(v), TR_LOOP_OPERAND(w),
                    TR_LOOP_OPERAND(x), TR_LOOP_OPERAND(y));

/* n items of `size` bytes (1, 2, 4, 8 or 16) to lie side by side, from `step` bytes apart; and back
 * (copy.c). */
void tr_rt_gather(void *to, const void *from, int64_t step, int64_t n, int64_t size);
/* Rows of n items, side by side: `step` bytes from one item to the next, `row_step` from one row. */
void tr_rt_gather_rows(void *to, const void *from, int64_t row_step, int64_t step, int64_t rows, int64_t n,
                       int64_t size);
void tr_rt_scatter(void *to, int64_t step, const void *from, int64_t n, int64_t size);
/* The C library's, for compiled code alone, which they may not return to (enter.h). */
void *tr_rt_memset(void *to, int byte, size_t n);
void *tr_rt_memcpy(void *to, const void *from, size_t n);
void *tr_rt_memmove(void *to, const void *from, size_t n);

/* What the threads of a launch do (watch.c). An element or an array is its owner and where it lies. */
void tr_rt_watch_begin(tr_frame *f, int64_t what, int64_t gx, int64_t gy, int64_t gz, int64_t bx, int64_t by,
                       int64_t bz, const char *kernel);
void tr_rt_watch_axis(tr_frame *f, int64_t n, int64_t step);
void tr_rt_watch_array(tr_frame *f, void *owner, const void *data, int64_t kind, int64_t size,
                       const char *name);
void tr_rt_watch_at(tr_frame *f, int64_t block, int64_t thread);
void tr_rt_watch_touch(tr_frame *f, void *owner, const void *data, int64_t how, int64_t size,
                       const char *site);
void tr_rt_watch_span(tr_frame *f, void *owner, const void *data, int64_t how, int64_t size,
                      const char *site);
void tr_rt_watch_barrier(tr_frame *f, const char *site);
void tr_rt_watch_warp(tr_frame *f, int64_t mask);
void tr_rt_watch_fence(tr_frame *f);
void tr_rt_watch_stage(tr_frame *f);
int64_t tr_rt_watch_end(tr_frame *f);

/* Random numbers (random.c, gen.c, pyrandom.c): see rt.def. */
void tr_rt_np_seed(uint64_t seed);
uint8_t tr_rt_np_seed_row(int64_t squeezed, void *owner, const int64_t *key, int64_t n);
void tr_rt_np_seed_any(void);
void *tr_rt_np_words(void);
double tr_rt_np_random(void);
double tr_rt_np_gauss(void);
uint64_t tr_rt_np_up_to(uint64_t most);
uint64_t tr_rt_np_piece(int64_t bits, uint64_t most);
double tr_rt_np_float(int64_t what, double a, double b, double c);
int64_t tr_rt_np_count(int64_t what, int64_t n, double a, double b);
int64_t tr_rt_np_hypergeometric(int64_t good, int64_t bad, int64_t sample);
void tr_rt_np_fill(int64_t what, void *owner, double *data, int64_t n, double a, double b, double c);
void tr_rt_np_fill_ints(int64_t bits, void *owner, void *data, int64_t n, uint64_t low, uint64_t most);
void tr_rt_np_fill_counts(int64_t what, void *owner, int64_t *data, int64_t length, int64_t n, double a,
                          double b);
void tr_rt_np_fill_hypergeometric(void *owner, int64_t *data, int64_t n, int64_t good, int64_t bad,
                                  int64_t sample);
int64_t tr_rt_np_multinomial(int64_t n, void *owner, int64_t *data, int64_t length, void *powner,
                             const double *p, int64_t np);
uint8_t tr_rt_np_dirichlet(void *owner, double *data, int64_t length, void *aowner, const double *alpha,
                           int64_t n);
int64_t tr_rt_np_choose(int64_t again, void *owner, int64_t *data, int64_t n, void *powner, const double *p,
                        int64_t np);
void tr_rt_np_each(int64_t what, void *owner, double *data, int64_t n, void *aowner, const double *a,
                   int64_t an, int64_t as, void *bowner, const double *b, int64_t bn, int64_t bs,
                   void *cowner, const double *c, int64_t cn, int64_t cs);
void tr_rt_np_each_count(int64_t what, void *owner, int64_t *data, int64_t n, void *kowner, const int64_t *k,
                         int64_t kn, int64_t ks, void *aowner, const double *a, int64_t an, int64_t as,
                         void *bowner, const double *b, int64_t bn, int64_t bs);
void tr_rt_np_each_hypergeometric(void *owner, int64_t *data, int64_t n, void *gowner, const int64_t *good,
                                  int64_t gn, int64_t gs, void *bowner, const int64_t *bad, int64_t bn,
                                  int64_t bs, void *sowner, const int64_t *sample, int64_t sn, int64_t ss);
void tr_rt_np_each_int(int64_t bits, void *owner, void *data, int64_t n, void *lowner, const uint64_t *low,
                       int64_t ln, int64_t ls, void *mowner, const uint64_t *most, int64_t mn, int64_t ms);
double tr_rt_gen_random(int64_t which, int64_t g);
void *tr_rt_gen_layers(int64_t what);
double tr_rt_gen_outside(int64_t what, int64_t g, uint64_t word);
double tr_rt_gen_gauss(int64_t which, int64_t g);
double tr_rt_gen_exponential(int64_t which, int64_t g);
double tr_rt_gen_float(int64_t which, int64_t g, int64_t what, double a, double b, double c);
void tr_rt_gen_fill(int64_t which, int64_t g, int64_t what, void *owner, double *data, int64_t n, double a,
                    double b, double c);
void tr_rt_gen_each(int64_t which, int64_t g, int64_t what, void *owner, double *data, int64_t n,
                    void *aowner, const double *a, int64_t an, int64_t as, void *bowner, const double *b,
                    int64_t bn, int64_t bs, void *cowner, const double *c, int64_t cn, int64_t cs);
float tr_rt_gen_float32(int64_t which, int64_t g, int64_t what, float shape);
void tr_rt_gen_fill32(int64_t which, int64_t g, int64_t what, void *owner, float *data, int64_t n,
                      float shape);
uint64_t tr_rt_gen_up_to(int64_t which, int64_t g, uint64_t most);
uint64_t tr_rt_gen_piece(int64_t which, int64_t g, int64_t bits, uint64_t most);
void tr_rt_gen_fill_ints(int64_t which, int64_t g, int64_t bits, void *owner, void *data, int64_t n,
                         uint64_t low, uint64_t most);
int64_t tr_rt_gen_count(int64_t which, int64_t g, int64_t what, int64_t n, double a, double b);
void tr_rt_gen_fill_counts(int64_t which, int64_t g, int64_t what, void *owner, int64_t *data, int64_t length,
                           int64_t n, double a, double b);
void tr_rt_gen_each_count(int64_t which, int64_t g, int64_t what, void *owner, int64_t *data, int64_t n,
                          void *kowner, const int64_t *k, int64_t kn, int64_t ks, void *aowner,
                          const double *a, int64_t an, int64_t as, void *bowner, const double *b, int64_t bn,
                          int64_t bs);
int64_t tr_rt_gen_hypergeometric(int64_t which, int64_t g, int64_t good, int64_t bad, int64_t sample);
void tr_rt_gen_fill_hypergeometric(int64_t which, int64_t g, void *owner, int64_t *data, int64_t n,
                                   int64_t good, int64_t bad, int64_t sample);
int64_t tr_rt_gen_multinomial(int64_t which, int64_t g, int64_t n, void *owner, int64_t *data, int64_t length,
                              void *powner, double *p, int64_t np);
void tr_rt_gen_each_hypergeometric(int64_t which, int64_t g, void *owner, int64_t *data, int64_t n,
                                   void *gowner, const int64_t *good, int64_t gn, int64_t gs, void *bowner,
                                   const int64_t *bad, int64_t bn, int64_t bs, void *sowner,
                                   const int64_t *sample, int64_t sn, int64_t ss);
void tr_rt_gen_each_int(int64_t which, int64_t g, int64_t bits, void *owner, void *data, int64_t n,
                        void *lowner, const uint64_t *low, int64_t ln, int64_t ls, void *mowner,
                        const uint64_t *most, int64_t mn, int64_t ms);
int64_t tr_rt_gen_multinomials(int64_t which, int64_t g, void *nowner, const int64_t *n, int64_t nn,
                               int64_t ns, void *rowner, const int64_t *row, int64_t rn, int64_t rs,
                               void *owner, int64_t *data, int64_t length, void *powner, double *p,
                               int64_t np, int64_t parts);
int64_t tr_rt_gen_dirichlet(int64_t which, int64_t g, void *owner, double *data, int64_t length, void *aowner,
                            const double *alpha, int64_t n);
int64_t tr_rt_gen_choose(int64_t which, int64_t g, int64_t repeats, void *owner, int64_t *data, int64_t n,
                         void *powner, const double *p, int64_t np);
int64_t tr_rt_gen_some(int64_t which, int64_t g, int64_t shuffled, void *owner, int64_t *data, int64_t n,
                       int64_t pop);
void tr_rt_gen_shuffle(int64_t which, int64_t g, int64_t size, void *owner, char *data, int64_t n,
                       int64_t stride);
void tr_rt_gen_lines(int64_t which, int64_t g, int64_t size, void *owner, char *data, int64_t lines,
                     int64_t n);
void tr_rt_shuffle(int64_t python, int64_t size, void *owner, char *data, int64_t n, int64_t stride);
void tr_rt_py_seed(uint64_t seed);
void tr_rt_py_seed_any(void);
void *tr_rt_py_words(void);
double tr_rt_py_random(void);
uint64_t tr_rt_py_bits(int64_t k);
uint64_t tr_rt_py_below(uint64_t n);
double tr_rt_py_float(int64_t what, double a, double b, double c);

/* tr_some_meet. Of each array: TR_MEET_*, data, sizes, perhaps strides in elements (mem.c). */
bool tr_rt_meet(const int64_t *parts, int64_t n, int64_t written, int64_t same);

#endif
