/* Types: interning, promotion against NumPy's facts, Treadle's rules, joins, parts, texts,
 * signatures; several threads at once. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "ty/obj.h"
#include "ty/pick.h"
#include "ty/ty.h"

static tr_arena arena;
static tr_tytab *shared, *tab;

/* --- texts --- */

static void expect_text(const char *got, const char *want) {
    if (strcmp(got, want) != 0) {
        fprintf(stderr, "got  %s\nwant %s\n", got, want);
        assert(0);
    }
}

static const tr_ty *ir(const char *text) {
    const char *s = text;
    const tr_ty *t = tr_ty_parse_ir(tab, &s);
    if (!t || *s) {
        fprintf(stderr, "cannot read %s\n", text);
        assert(0);
    }
    return t;
}

static const char *text(const tr_ty *t) {
    tr_sb b;
    tr_sb_init(&b);
    if (t)
        tr_ty_print_ir(&b, t);
    else
        tr_sb_puts(&b, "-");
    const char *s = tr_arena_strdup(&arena, b.d);
    tr_sb_fini(&b);
    return s;
}

static void test_ir_text(void) {
    static const char *const good[] = {"i1",
                                       "u64",
                                       "c64",
                                       "none",
                                       "i64~",
                                       "f64~",
                                       "c128~",
                                       "()",
                                       "(i64,)",
                                       "(i64, f64)",
                                       "f64[2c]",
                                       "f64[1a,ro]",
                                       "i1[0c]",
                                       "c128[32f]",
                                       "nt P(x: i64, y: f64)",
                                       "nt E()",
                                       "range(i64)",
                                       "range1(i32)",
                                       "slice(i64, none, i64)",
                                       "window(f64[2c], i64, i64, lit(-1), lit(1), lit(0), lit(0))",
                                       "lit(3)",
                                       "lit(-3)",
                                       "lit(True)",
                                       "lit(None)",
                                       "lit(\"f4\")",
                                       "lit(\"a\\\"b\\\\c\\n\\x01\")",
                                       "lit(2.5)",
                                       "lit(nan)",
                                       "lit(-inf)",
                                       "lit(complex(0.0, -1.0))",
                                       "lit(18446744073709551615)",
                                       "lit(123456789012345678901234567890)",
                                       "lit(...)",
                                       "lit(slice(None, 1, None))",
                                       "lit((1, (2.5,), ()))",
                                       "lit(nt P(x: 1))",
                                       "lit(type(f32))",
                                       "lit(2:u8)",
                                       "lit(2.5:f32)",
                                       "lit(True:i1)",
                                       "lit(complex(1.0, 2.0):c64)",
                                       "lit(@numpy.sin)",
                                       "lit(@\"a b\")",
                                       "lit(array(0, f64[2a,ro], 3:8, 4:-1))",
                                       "enumerate(i64, f64[1c])",
                                       "zip()",
                                       "zip(f64[1c], (i64, i64))",
                                       "reversed(range(i64))",
                                       "flat(f32[2f])",
                                       "closure(4)",
                                       "closure(4, i64, f64)",
                                       "handed(4)",
                                       "handed(0, i64, list(f64))",
                                       "method(f64[1c], sum)",
                                       "exc(@ValueError, lit(\"x\"), i64)",
                                       "display(i64, f64)",
                                       "display()",
                                       "list(f64)",
                                       "list(c64)",
                                       "set(f64)",
                                       "set((i64, i64))",
                                       "dict(set(i64), list(f64))",
                                       "items(dict(set(i1), list(i64)))",
                                       "walk(values(dict(set(u64), list(i64))), i64)",
                                       "empty(i1)",
                                       "prange1(i64)",
                                       "ndindex(i64, i64)",
                                       "opt((i64, f64))",
                                       "text(i64, lit(\"x\"))",
                                       "iinfo(lit(type(i8)))",
                                       "finfo(lit(type(f32)))"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        const tr_ty *t = ir(good[i]);
        expect_text(text(t), good[i]);
        assert(ir(good[i]) == t || strstr(good[i], "array(")); /* frozen arrays are told apart by identity */
    }
    static const char *const bad[] = {"",
                                      "i65",
                                      "f64[",
                                      "f64[33c]",
                                      "f64[1x]",
                                      "f64[1c,rw]",
                                      "(i64",
                                      "(i64 i64)",
                                      "i64~[1c]",
                                      "lit(",
                                      "lit(@)",
                                      "lit(\"x)",
                                      "nt (x: i64)",
                                      "nt P(i64)",
                                      "range(f64)",
                                      "slice(i64)",
                                      "window()",
                                      "window(i64)",
                                      "window(f64[1c], i64, lit(-1))",
                                      "window(f64[1c], i64, lit(-1), lit(0.5))",
                                      "window(f64[2c], i64, lit(-1), lit(1))",
                                      "slice(i32, none, none)",
                                      "reversed()",
                                      "enumerate(i64)",
                                      "closure(x)",
                                      "handed(x)",
                                      "method(i64)",
                                      "frob(i64)",
                                      "lit(2:f32)",
                                      "lit(-1:u8)",
                                      "lit(slice(1))",
                                      "lit(type())",
                                      "f32~",
                                      "lit(\"\\xzz\")",
                                      "lit(complex(1.0))",
                                      "none[1c]",
                                      "(i64)[1c]x("};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const char *s = bad[i];
        const tr_ty *t = tr_ty_parse_ir(tab, &s);
        if (t && !*s) {
            fprintf(stderr, "reads %s as %s\n", bad[i], text(t));
            assert(0);
        }
    }
    char deep[400];
    memset(deep, '(', 399);
    deep[399] = 0;
    const char *s = deep;
    assert(!tr_ty_parse_ir(tab, &s));
}

/* --- kinds --- */

/* What one row of ty/kinds.def says must fit what another column of it says. */
static void test_kinds(void) {
    static const struct {
        const char *text;
        bool items, managed;
        unsigned parts;
    } rows[] = {
        {"f64", false, false, 1},
        {"c64", false, false, 2},
        {"none", true, false, 0},
        {"f64[2a]", false, true, 6},
        {"(i64, f64[1c])", true, true, 4},
        {"display(i64)", true, false, 1},
        {"list(i64)", false, true, 1},
        {"set(i64)", false, true, 1},
        {"dict(set(i64), list(f64))", true, true, 2},
        {"range1(u64)", true, false, 3},
        {"slice(i64, none, i64)", true, false, 2},
        {"lit(3)", true, false, 0},
        {"enumerate(i64, f64[1c])", true, true, 4},
        {"ndindex(i64, i64)", true, false, 2},
        {"opt((i64, f64))", true, false, 3},
        {"method(f64[1c], sum)", true, true, 3},
        {"finfo(lit(type(f32)))", true, false, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const tr_ty *t = ir(rows[i].text);
        unsigned n = 0;
        assert(tr_ty_is_items(t) == rows[i].items && tr_ty_is_counted(t) == rows[i].managed);
        assert(tr_ty_nparts(t) == rows[i].parts);
        for (uint32_t k = 0; k < t->n; k++)
            n += tr_ty_nparts(t->items[k]);
        assert(!tr_ty_is_items(t) || n == rows[i].parts);
    }
    assert(!tr_ty_is_counted(NULL));
}

/* --- interning --- */

static void test_interning(void) {
    const tr_ty *i64 = tr_ty_scalar(tab, TR_TY_I64), *f64 = tr_ty_scalar(tab, TR_TY_F64);
    assert(i64 == tr_ty_scalar(shared, TR_TY_I64) && tr_ty_weak(tab, TR_TY_I64) != i64);
    const tr_ty *a = tr_ty_array(tab, f64, 2, TR_LAYOUT_C, false);
    assert(a == tr_ty_array(shared, f64, 2, TR_LAYOUT_C, false) && !a->local);
    assert(a != tr_ty_array(tab, f64, 2, TR_LAYOUT_F, false) &&
           a != tr_ty_array(tab, f64, 2, TR_LAYOUT_C, true));
    assert(tr_ty_array(tab, f64, 1, TR_LAYOUT_F, false) == tr_ty_array(tab, f64, 1, TR_LAYOUT_C, false));
    assert(tr_ty_array(tab, f64, 0, TR_LAYOUT_ANY, false) == tr_ty_array(tab, f64, 0, TR_LAYOUT_C, false));
    const tr_ty *items[] = {i64, a};
    const tr_ty *t = tr_ty_tuple(tab, 2, items);
    assert(t == tr_ty_tuple(tab, 2, items) && t->items != items && !t->local && t->n == 2);
    const char *const xy[] = {"x", "y"}, *const xz[] = {"x", "z"};
    const tr_ty *p = tr_ty_named_tuple(tab, "P", 0, 2, items, xy);
    assert(p != t && p == tr_ty_named_tuple(tab, "P", 0, 2, items, xy) &&
           p != tr_ty_named_tuple(tab, "P", 0, 2, items, xz) &&
           p != tr_ty_named_tuple(tab, "Q", 0, 2, items, xy));
    const tr_ty *p2 = tr_ty_named_tuple(tab, "P", 1, 2, items, xy);
    assert(p != p2 && !tr_ty_join(tab, p, p2, false) && !tr_ty_same_class(p, p2) && tr_ty_same_class(p, p));
    const tr_ty *nothing = tr_ty_named_tuple(tab, "list", 0, 0, NULL, NULL);
    assert(!tr_ty_is_list(nothing) && !tr_ty_same_class(nothing, tr_ty_list(tab, 0, NULL)) &&
           nothing != tr_ty_list(tab, 0, NULL));

    const tr_ty *three = tr_ty_lit(tab, tr_obj_int(&arena, 3));
    assert(three == tr_ty_lit(tab, tr_obj_int(&arena, 3)) && three->local && three->id >= 1u << 30);
    assert(three != tr_ty_lit(tab, tr_obj_bool(&arena, true)) &&
           three != tr_ty_lit(tab, tr_obj_float(&arena, 3)));
    assert(tr_ty_lit(tab, tr_obj_float(&arena, 0.0)) != tr_ty_lit(tab, tr_obj_float(&arena, -0.0)));
    assert(tr_ty_lit(tab, tr_obj_str(&arena, "a")) == tr_ty_lit(tab, tr_obj_str(&arena, "a")));
    tr_obj f = {.kind = TR_OBJ_FUNC, .repr = "f"}, g = f;
    assert(tr_ty_lit(tab, &f) == tr_ty_lit(tab, &f) && tr_ty_lit(tab, &f) != tr_ty_lit(tab, &g));
    const tr_ty *mixed[] = {i64, three};
    assert(tr_ty_tuple(tab, 2, mixed)->local && tr_ty_tuple(tab, 2, mixed) == tr_ty_tuple(tab, 2, mixed));
    /* what the shared table keeps is its own copy */
    char word[] = "abc";
    tr_obj s = {.kind = TR_OBJ_STR, .repr = word, .u.s = {word, 3}};
    const tr_ty *kept = tr_ty_lit(shared, &s);
    word[0] = 'x';
    assert(!memcmp(kept->lit->u.s.d, "abc", 3) && !kept->local);
}

static void *many_types(void *out) {
    tr_tytab *own = tr_tytab_new(shared);
    const tr_ty **types = out;
    for (unsigned i = 0; i < 400; i++) {
        const tr_ty *elem = tr_ty_scalar(own, (tr_tyk)(i % TR_TY__SCALARS));
        const tr_ty *a = tr_ty_array(own, elem, i % 20, (tr_layout)(i % 3), i & 1);
        types[i] = tr_ty_tuple(own, 2, (const tr_ty *const[]){a, elem});
    }
    tr_tytab_free(own);
    return NULL;
}

static void test_threads(void) {
    static const tr_ty *types[4][400];
    pthread_t thread[4];
    for (int i = 0; i < 4; i++)
        assert(!pthread_create(&thread[i], NULL, many_types, types[i]));
    for (int i = 0; i < 4; i++)
        pthread_join(thread[i], NULL);
    for (int i = 1; i < 4; i++)
        assert(!memcmp(types[0], types[i], sizeof types[0]));
}

/* --- promotion --- */

#define X(id, ir, user, size, cls) id = TR_TY_##id,
enum { TR_SCALARS(X) };
#undef X

/* numpy.promote_types, NumPy 2.4; rows and columns in the order of TR_SCALARS */
static const uint8_t numpy_promote[TR_TY__SCALARS][TR_TY__SCALARS] = {
    /* bool       */ {BOOL, I8, I16, I32, I64, U8, U16, U32, U64, F16, F32, F64, C64, C128},
    /* int8       */ {I8, I8, I16, I32, I64, I16, I32, I64, F64, F16, F32, F64, C64, C128},
    /* int16      */ {I16, I16, I16, I32, I64, I16, I32, I64, F64, F32, F32, F64, C64, C128},
    /* int32      */ {I32, I32, I32, I32, I64, I32, I32, I64, F64, F64, F64, F64, C128, C128},
    /* int64      */ {I64, I64, I64, I64, I64, I64, I64, I64, F64, F64, F64, F64, C128, C128},
    /* uint8      */ {U8, I16, I16, I32, I64, U8, U16, U32, U64, F16, F32, F64, C64, C128},
    /* uint16     */ {U16, I32, I32, I32, I64, U16, U16, U32, U64, F32, F32, F64, C64, C128},
    /* uint32     */ {U32, I64, I64, I64, I64, U32, U32, U32, U64, F64, F64, F64, C128, C128},
    /* uint64     */ {U64, F64, F64, F64, F64, U64, U64, U64, U64, F64, F64, F64, C128, C128},
    /* float16    */ {F16, F16, F32, F64, F64, F16, F32, F64, F64, F16, F32, F64, C64, C128},
    /* float32    */ {F32, F32, F32, F64, F64, F32, F32, F64, F64, F32, F32, F64, C64, C128},
    /* float64    */ {F64, F64, F64, F64, F64, F64, F64, F64, F64, F64, F64, F64, C128, C128},
    /* complex64  */ {C64, C64, C64, C128, C128, C64, C64, C128, C128, C64, C64, C128, C64, C128},
    /* complex128 */ {C128, C128, C128, C128, C128, C128, C128, C128, C128, C128, C128, C128, C128, C128},
};

static void test_promote(void) {
    for (int a = 0; a < TR_TY__SCALARS; a++)
        for (int b = 0; b < TR_TY__SCALARS; b++)
            assert(tr_ty_promote((tr_tyk)a, (tr_tyk)b) == numpy_promote[a][b]);
}

static void test_arith(void) {
    /* op, left, right, the result by default, and by promotion="numba" */
    static const char *const rows[][5] = {
        {"+", "i8", "i8", "i64", "i64"},
        {"+", "i32", "i32", "i64", "i64"},
        {"+", "u32", "u32", "u64", "u64"},
        {"+", "i32", "u32", "i64", "i64"},
        {"+", "i64", "u64", "i64", "i64"},
        {"+", "u64", "i64~", "u64", "i64"},
        {"+", "u8", "lit(1)", "u64", "i64"},
        {"+", "i1", "i1", "i64", "i64"},
        {"+", "i1", "u8", "i64", "i64"},
        {"+", "i1", "i64~", "i64", "i64"},
        {"/", "i8", "i8", "f64", "f64"},
        {"/", "i1", "i1", "f64", "f64"},
        {"/", "i64~", "i64~", "f64~", "f64"},
        {"/", "f32", "i64~", "f32", "f64"},
        {"/", "f32", "f32", "f32", "f32"},
        {"+", "f32", "f32", "f32", "f32"},
        {"+", "f32", "f64", "f64", "f64"},
        {"+", "f32", "f64~", "f32", "f64"},
        {"+", "f32", "i64~", "f32", "f64"},
        {"+", "f32", "i64", "f64", "f64"},
        {"+", "f32", "i8", "f32", "f32"},
        {"+", "f32", "i1", "f32", "f32"},
        {"+", "i32", "f64~", "f64", "f64"},
        {"+", "i64~", "f64~", "f64~", "f64"},
        {"+", "i64~", "i64~", "i64~", "i64"},
        {"+", "f32", "c128~", "c64", "c128"},
        {"+", "f64", "c128~", "c128", "c128"},
        {"+", "i8", "c128~", "c128", "c128"},
        {"+", "c64", "f64~", "c64", "c128"},
        {"+", "c64", "i64~", "c64", "c128"},
        {"+", "c64", "f64", "c128", "c128"},
        {"+", "c64", "f32", "c64", "c64"},
        {"+", "lit(1)", "lit(2.5)", "f64~", "f64"},
        {"+", "lit(2:i8)", "i64~", "i64", "i64"},
        {"&", "i1", "i1", "i1", "i1"},
        {"&", "i8", "i1", "i64", "i64"},
        {"&", "u8", "u16", "u64", "u64"},
        {"&", "f64", "i64", "-", "-"},
        {"<", "i32", "u8", "i64", "i64"},
        {"<", "u8", "i64", "u64", "u64"},
        {"<", "u8", "i64~", "u64", "u64"},
        {"<", "i64~", "u8", "i64", "i64"},
        {"<", "i64~", "i64~", "i64~", "i64"},
        {"<", "f32", "i64", "-", "-"},
        {"+", "none", "i64", "-", "-"},
        {"+", "lit(\"x\")", "i64", "-", "-"},
        {"+", "f64[1c]", "i64", "-", "-"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const tr_ty *a = ir(rows[i][1]), *b = ir(rows[i][2]);
        expect_text(text(tr_ty_arith(tab, rows[i][0][0], a, b, false)), rows[i][3]);
        expect_text(text(tr_ty_arith(tab, rows[i][0][0], a, b, true)), rows[i][4]);
        if (rows[i][0][0] != '<') {
            expect_text(text(tr_ty_arith(tab, rows[i][0][0], b, a, false)), rows[i][3]);
            expect_text(text(tr_ty_arith(tab, rows[i][0][0], b, a, true)), rows[i][4]);
        }
    }
}

static void test_compare(void) {
    static const char *const rows[][3] = {
        {"i8", "i8", "i8"},     {"i8", "u8", "i16"},    {"i32", "u32", "i64"}, {"i64", "u64", "-"},
        {"u64", "i64~", "-"},   {"u8", "i64~", "i64"},  {"i1", "i1", "i1"},    {"i1", "i64~", "i64"},
        {"f32", "i64~", "f32"}, {"f32", "f64~", "f32"}, {"f32", "i64", "f64"}, {"i32", "f64~", "f64"},
        {"c64", "f32", "c64"},  {"none", "i64", "-"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        expect_text(text(tr_ty_compare(tab, ir(rows[i][0]), ir(rows[i][1]), false)), rows[i][2]);
        expect_text(text(tr_ty_compare(tab, ir(rows[i][1]), ir(rows[i][0]), false)), rows[i][2]);
    }
}

static void test_join(void) {
    static const char *const rows[][3] = {
        {"i64~", "i64~", "i64"},
        {"i64~", "f32", "f64"},
        {"f64~", "f32", "f64"},
        {"f32", "f64", "f64"},
        {"i64", "f64", "f64"},
        {"i64", "f32", "f64"},
        {"i1", "i64", "i64"},
        {"i8", "i16", "i16"},
        {"i64", "u64", "-"},
        {"i64~", "u64", "-"},
        {"u8", "i8", "i16"},
        {"c64", "f64", "c128"},
        {"lit(1)", "lit(2)", "i64"},
        {"lit(1)", "lit(1)", "i64"},
        {"lit(True)", "lit(2.0)", "f64"},
        {"lit(None)", "none", "none"},
        {"lit(None)", "i64", "opt(i64)"},
        {"opt(i64)", "none", "opt(i64)"},
        {"opt(i64)", "f32", "opt(f64)"},
        {"opt(f32)", "opt(f64)", "opt(f64)"},
        {"none", "(i64, f64)", "opt((i64, f64))"},
        {"opt((i64, f64))", "(f64, i64)", "opt((f64, f64))"},
        {"opt((i64, f64))", "(f64, i64, i64)", "-"},
        {"none", "f64[1c]", "opt(f64[1c])"},
        {"none", "(i64, f64[1c])", "opt((i64, f64[1c]))"},
        {"none", "lit(\"a\")", "opt(str)"},
        {"none", "range(i64)", "opt(range(i64))"},
        {"none", "slice(i64, none, i64)", "-"},
        {"lit(\"a\")", "lit(\"a\")", "lit(\"a\")"},
        {"lit(\"a\")", "lit(\"b\")", "str"},
        {"f64[2c]", "f64[2c]", "f64[2c]"},
        {"f64[2c]", "f64[2f]", "f64[2a]"},
        {"f64[2c]", "f64[2c,ro]", "f64[2c,ro]"},
        {"f64[2c]", "f64[1c]", "-"},
        {"f64[1c]", "f32[1c]", "-"},
        {"(i64~, f32)", "(f64, f64~)", "(f64, f64)"},
        {"(lit(1), lit(\"x\"))", "(i64, lit(\"x\"))", "(i64, lit(\"x\"))"},
        {"(i64,)", "(i64, i64)", "-"},
        {"(i64,)", "(none,)", "(opt(i64),)"},
        {"()", "()", "()"},
        {"nt P(x: i64)", "nt P(x: f32)", "nt P(x: f64)"},
        {"nt P(x: i64)", "nt Q(x: i64)", "-"},
        {"nt P(x: i64)", "(i64,)", "-"},
        {"range(i64)", "range1(i64)", "range(i64)"},
        {"range1(i64)", "range1(i64)", "range1(i64)"},
        {"slice(i64, none, i64)", "slice(i64, none, i64)", "slice(i64, none, i64)"},
        {"slice(i64, none, none)", "slice(none, none, none)", "-"},
        {"zip(f64[1c], f64[1c])", "zip(f64[1a], f64[1c])", "zip(f64[1a], f64[1c])"},
        {"zip(f64[1c])", "reversed(f64[1c])", "-"},
        {"closure(1, i64~)", "closure(1, f64)", "closure(1, f64)"},
        {"closure(1)", "closure(2)", "oneof(i64, closure(2), closure(1))"},
        {"i64", "f64[1c]", "-"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        expect_text(text(tr_ty_join(tab, ir(rows[i][0]), ir(rows[i][1]), false)), rows[i][2]);
        expect_text(text(tr_ty_join(tab, ir(rows[i][1]), ir(rows[i][0]), false)), rows[i][2]);
    }
    const tr_ty *many[40];
    for (int i = 0; i < 40; i++)
        many[i] = tr_ty_weak(tab, TR_TY_I64);
    assert(tr_ty_strong(tab, tr_ty_tuple(tab, 40, many))->items[39] == tr_ty_scalar(tab, TR_TY_I64));
    expect_text(text(tr_ty_strong(tab, ir("lit(2:i8)"))), "i8");
    expect_text(text(tr_ty_strong(tab, ir("lit(18446744073709551615)"))), "u64");
    expect_text(text(tr_ty_strong(tab, ir("(c128~, lit(False))"))), "(c128, i1)");
}

/* --- parts --- */

static void test_parts(void) {
    static const char *const rows[][2] = {{"i1", "b"},
                                          {"u8", "1"},
                                          {"i16", "2"},
                                          {"u32", "4"},
                                          {"u64", "8"},
                                          {"f16", "h"},
                                          {"c64", "ff"},
                                          {"c128", "dd"},
                                          {"none", ""},
                                          {"lit(3)", ""},
                                          {"()", ""},
                                          {"(i64, (f32, i1))", "8fb"},
                                          {"f64[2c]", "pp88"},
                                          {"f64[2f]", "pp88"},
                                          {"f64[2a]", "pp8888"},
                                          {"f64[0c]", "pp"},
                                          {"range(i32)", "888"},
                                          {"slice(none, i64, lit(None))", "8"},
                                          {"enumerate(i64, f64[1c])", "8pp8"},
                                          {"closure(0, f64, none)", "d"},
                                          {"method(f64[1a], sum)", "pp88"},
                                          {"exc(@ValueError, lit(\"x\"), i64)", "8"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const tr_ty *t = ir(rows[i][0]);
        unsigned n = tr_ty_nparts(t);
        tr_part parts[16];
        char got[16] = "";
        assert(n < 16);
        tr_ty_parts(t, parts);
        for (unsigned k = 0; k < n; k++)
            got[k] = "b1248hfdp"[parts[k]];
        expect_text(got, rows[i][1]);
    }
    assert(tr_ty_size(ir("c64")) == 8 && tr_ty_size(ir("i1")) == 1 && tr_ty_size(ir("none")) == 0);
    assert(tr_ty_class(ir("u8")) == 'u' && tr_ty_class(ir("none")) == 0);
}

/* --- the user's text --- */

static void test_user_text(void) {
    static const char *const rows[][2] = {{"f64", "float64"},
                                          {"i1", "bool"},
                                          {"none", "none"},
                                          {"f32[2c]", "array(float32, 2d, C)"},
                                          {"f32[1a,ro]", "readonly array(float32, 1d, A)"},
                                          {"(i64, f64[1c])", "(int64, array(float64, 1d, C))"},
                                          {"(i8,)", "(int8,)"},
                                          {"nt P(x: i64)", "P(int64)"},
                                          {"lit(3)", "3"},
                                          {"opt((i64, f32))", "optional((int64, float32))"},
                                          {"range1(i64)", "range(int64)"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        expect_text(tr_ty_user(&arena, ir(rows[i][0])), rows[i][1]);
    static const char *const back[][2] = {{"float32[:, ::1]", "f32[2c]"},
                                          {"f8[:]", "f64[1a]"},
                                          {"f8[::1]", "f64[1c]"},
                                          {"f8[::1, :]", "f64[2f]"},
                                          {" i4 [ : , : , :: 1 ] ", "i32[3c]"},
                                          {"intp", "i64"},
                                          {"void", "none"},
                                          {"boolean", "i1"},
                                          {"(i4, (f8, b1))", "(i32, (f64, i1))"},
                                          {"array(float32, 2d, C)", "f32[2c]"},
                                          {"readonly array(int8, 1d, A)", "i8[1a,ro]"},
                                          {"array(int8, 0d, C)", "i8[0c]"}};
    for (size_t i = 0; i < sizeof back / sizeof *back; i++) {
        const char *msg;
        expect_text(text(tr_ty_parse_user(&arena, tab, back[i][0], &msg)), back[i][1]);
        assert(!msg);
    }
    for (unsigned i = 0; i < tr_ty_nnames; i++) {
        const char *msg;
        const tr_ty *t = tr_ty_parse_user(&arena, tab, tr_ty_names[i].name, &msg);
        assert(t && t->kind == tr_ty_names[i].kind);
    }
    for (unsigned k = 0; k < TR_TY__SCALARS; k++) {
        const char *msg;
        assert(tr_ty_parse_user(&arena, tab, tr_tyk_user_name((tr_tyk)k), &msg) ==
               tr_ty_scalar(tab, (tr_tyk)k));
    }
}

static const char *sig_text(const char *s) {
    tr_sig sig;
    const char *msg;
    if (!tr_ty_parse_sig(&arena, tab, s, &sig, &msg))
        return msg;
    const char *out = tr_arena_printf(&arena, "%s%s", sig.ret ? text(sig.ret) : "?", sig.args ? "(" : "");
    for (uint32_t i = 0; i < sig.n; i++)
        out = tr_arena_printf(&arena, "%s%s%s", out, i ? ", " : "", text(sig.args[i]));
    return sig.args ? tr_arena_printf(&arena, "%s)", out) : out;
}

static void test_signatures(void) {
    static const char *const rows[][2] = {
        {"f8(i4, i4)", "f64(i32, i32)"},
        {"void(f4[:])", "none(f32[1a])"},
        {"void(\n    f4[:,\n::1],\n    i4\t)\n", "none(f32[2c], i32)"},
        {"float64()", "f64()"},
        {"(i4, f8)", "?(i32, f64)"},
        {"()", "?()"},
        {"(f8[:],)", "?(f64[1a])"},
        {"f8", "f64"},
        {"f8[:](f8[:], (i4, i4))", "f64[1a](f64[1a], (i32, i32))"},
        {"f8(i4,)", "f64(i32)"},
        {"f8[:], i4", "?(f64[1a], i32)"},
        {"Tuple((f8, i4))(UniTuple(i4, 2), Tuple(()))", "(f64, i32)((i32, i32), ())"},
        {"UniTuple(f8, 0)()", "()()"},
        {"UniTuple(f8)()", "expected ',' but found ')' at position 12 of 'UniTuple(f8)()'"},
        {"Tuple(f8)()", "expected '((' as in Tuple((f8, i4)) but found 'f' at position 7 of 'Tuple(f8)()'"},
        {"f8(i5)", "unknown type 'i5' at position 4 of 'f8(i5)'"},
        {"f8(i4", "expected ',' or ')' but found the end at position 6 of 'f8(i4'"},
        {"f8(i4))", "expected the end but found ')' at position 7 of 'f8(i4))'"},
        {"", "expected a type but found the end at position 1 of ''"},
        {"f8[::1, ::1]()", "'::1' may stand at the last axis (C order) or the first (Fortran order) at "
                           "position 3 of 'f8[::1, ::1]()'"},
        {"f8[:,::1,:]()", "'::1' may stand at the last axis (C order) or the first (Fortran order) at "
                          "position 3 of 'f8[:,::1,:]()'"},
        {"f8[]", "expected ':' or '::1' but found ']' at position 4 of 'f8[]'"},
        {"f8[::2]", "expected '1' after '::' but found '2' at position 6 of 'f8[::2]'"},
        {"void[:]()", "only a number's type can be followed by '[...]' at position 1 of 'void[:]()'"},
        {"f8(i4 i4)", "expected ',' or ')' but found 'i' at position 7 of 'f8(i4 i4)'"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        expect_text(sig_text(rows[i][0]), rows[i][1]);
}

static void test_objects(void) {
    tr_obj f = {.kind = TR_OBJ_FUNC, .repr = "f"};
    const tr_obj *mixed[] = {tr_obj_int(&arena, 1), &f};
    tr_obj t = {.kind = TR_OBJ_TUPLE, .repr = "(1, f)", .u.t = {.n = 2, .items = mixed}}, u = t;
    assert(!tr_obj_by_value(&t) && !tr_obj_equal(&t, &u) && tr_obj_equal(&t, &t));
    assert(tr_obj_by_value(mixed[0]) && tr_obj_by_value(tr_obj_none()));
    assert(tr_obj_hash(mixed[0]) == tr_obj_hash(tr_obj_int(&arena, 1)));
    const tr_ty *ty = tr_obj_type(&arena, tab, &t);
    assert(ty->kind == TR_TY_TUPLE && ty->items[0]->kind == TR_TY_LIT && ty->items[1]->lit == &f);
    expect_text(tr_obj_float(&arena, 2)->repr, "2.0");
    expect_text(text(tr_obj_type(&arena, tab, tr_obj_str(&arena, "x"))), "lit(\"x\")");
}

/* Signatures of one operand each; NULL stands for one that is out of the question. */
static const tr_ty *const *one_each(const void *self, uint32_t k) {
    const tr_ty *const *t = self;
    return t[k] ? t + k : NULL;
}

/* Which loop of a ufunc: NumPy's rules, with float16 and numbers that are weak. */
static void test_pick(void) {
    tr_operand half = {.kind = TR_TY_F32, .half = true}, none = {.kind = TR_OPERAND_OPEN},
               other = {.kind = TR_OPERAND_OTHER}, longlong = {.kind = TR_TY_I64, .alias = true},
               i = tr_operand_of(TR_TY_I64, true), f = tr_operand_of(TR_TY_F64, true),
               c = tr_operand_of(TR_TY_C128, true), i8 = tr_operand_of(TR_TY_I8, false),
               i16 = tr_operand_of(TR_TY_I16, false), f32 = tr_operand_of(TR_TY_F32, false),
               c64 = tr_operand_of(TR_TY_C64, false), i32 = tr_operand_of(TR_TY_I32, false);
    tr_operand common;
    assert(tr_operands_common((tr_operand[]){i, none, c}, 3).kind == TR_OPERAND_OPEN);
    common = tr_operands_common((tr_operand[]){f, i8, half}, 3);
    assert(common.kind == TR_TY_F32 && common.half);
    common = tr_operands_common((tr_operand[]){half, i16}, 2);
    assert(common.kind == TR_TY_F32 && !common.half);
    common = tr_operands_common((tr_operand[]){half, f32}, 2);
    assert(common.kind == TR_TY_F32 && !common.half);
    assert(tr_operands_common((tr_operand[]){half, i32}, 2).kind == TR_TY_F64);
    assert(tr_operands_common((tr_operand[]){half, c64}, 2).kind == TR_TY_C64);
    assert(tr_operand_beside(f, half).half && tr_operand_beside(f, half).kind == TR_TY_F32);
    assert(tr_operand_beside(f, c64).kind == TR_TY_F32 && tr_operand_beside(f, i32).kind == TR_TY_F64);
    assert(tr_operand_beside(c, half).kind == TR_TY_C64 && !tr_operand_beside(c, half).half);
    assert(tr_operand_beside(c, i8).kind == TR_TY_C128 && tr_operand_beside(i, i8).weak);
    assert(!tr_operand_beside(i, none).weak && tr_operand_beside(i, none).kind == TR_TY_I64);

    const tr_ty *t[] = {tr_ty_scalar(tab, TR_TY_F32),
                        tr_ty_scalar(tab, TR_TY_F64),
                        tr_ty_array(tab, tr_ty_scalar(tab, TR_TY_I64), 1, TR_LAYOUT_ANY, false),
                        tr_ty_scalar(tab, TR_TY_C128),
                        NULL,
                        tr_ty_scalar(tab, TR_TY_BOOL)};
    const struct {
        tr_operand x;
        int64_t want;
    } rows[] = {{f32, 0},
                {half, 0},
                {i16, 0},
                {i32, 1},
                {tr_operand_of(TR_TY_I64, false), 2},
                {f, 1},
                {longlong, 1},
                {i, 1},
                {c, 3},
                {c64, 3},
                {none, 0},
                {other, -1},
                {tr_operand_of(TR_TY_BOOL, false), 5}};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        assert(tr_operands_pick(&rows[k].x, 1, one_each, t, 6) == rows[k].want);
    assert(tr_operands_pick((tr_operand[]){c}, 1, one_each, t, 3) == -1);
    assert(tr_operands_pick((tr_operand[]){i}, 1, one_each, t + 4, 2) == -1);
}

static void test_integers(void) {
    static const struct {
        const char *text, *number, *strong;
    } rows[] = {
        {"-1", "i64~", "i64"},
        {"9223372036854775807", "i64~", "i64"},
        {"9223372036854775808", "u64", "u64"},
        {"18446744073709551616", NULL, "lit(18446744073709551616)"},
        {"-9223372036854775809", NULL, "lit(-9223372036854775809)"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *at = rows[i].text;
        const tr_obj *o = tr_obj_parse_ir(tab, &at);
        assert(o && o->kind == TR_OBJ_INT && !*at);
        const tr_ty *n = tr_obj_number(tab, o), *lit = tr_ty_lit(tab, o);
        assert(!n == !rows[i].number);
        if (n)
            expect_text(text(n), rows[i].number);
        expect_text(text(tr_ty_strong(tab, lit)), rows[i].strong);
        assert(lit == tr_ty_lit(tab, tr_obj_bigint(&arena, o->u.n))); /* interned by value */
    }
    const char *at = "18446744073709551616:u64";
    assert(!tr_obj_parse_ir(tab, &at));
    tr_bigint v;
    assert(tr_obj_integer(tr_obj_bool(&arena, true), &v) && v.low == 1 && !tr_obj_integer(tr_obj_none(), &v));
}

static void test_weak_meet(void) {
    static const struct {
        tr_tyk weak;
        bool negative;
        tr_tyk with, wide, bits, numpy, numba;
    } rows[] = {
        {TR_TY_I64, false, TR_TY_BOOL, TR_TY_I64, TR_TY_I64, TR_TY_I64, TR_TY_I64},
        {TR_TY_I64, false, TR_TY_I8, TR_TY_I64, TR_TY_I64, TR_TY_I8, TR_TY_I8},
        {TR_TY_I64, false, TR_TY_U8, TR_TY_U64, TR_TY_U64, TR_TY_U8, TR_TY_U8},
        {TR_TY_I64, true, TR_TY_U64, TR_TY_I64, TR_TY_U64, TR_TY_U64, TR_TY_U64},
        {TR_TY_I64, false, TR_TY_F32, TR_TY_F32, TR_TY_F32, TR_TY_F32, TR_TY_F32},
        {TR_TY_F64, false, TR_TY_I8, TR_TY_F64, TR_TY_F64, TR_TY_F64, TR_TY_F64},
        {TR_TY_F64, false, TR_TY_F32, TR_TY_F32, TR_TY_F32, TR_TY_F32, TR_TY_F64},
        {TR_TY_F64, false, TR_TY_C64, TR_TY_C64, TR_TY_C64, TR_TY_C64, TR_TY_C128},
        {TR_TY_C128, false, TR_TY_F32, TR_TY_C64, TR_TY_C64, TR_TY_C64, TR_TY_C128},
        {TR_TY_C128, false, TR_TY_U8, TR_TY_C128, TR_TY_C128, TR_TY_C128, TR_TY_C128},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const tr_tyk want[] = {[TR_MEET_WIDE] = rows[i].wide,
                               [TR_MEET_BITS] = rows[i].bits,
                               [TR_MEET_NUMPY] = rows[i].numpy,
                               [TR_MEET_NUMBA] = rows[i].numba};
        for (tr_meet rule = TR_MEET_WIDE; rule <= TR_MEET_NUMBA; rule++)
            assert(tr_ty_weak_meet(rows[i].weak, rows[i].negative, rows[i].with, rule) == want[rule]);
    }
}

int main(void) {
    tr_arena_init(&arena, NULL);
    shared = tr_tytab_new(NULL);
    tab = tr_tytab_new(shared);
    assert(shared && tab);
    test_ir_text();
    test_kinds();
    test_interning();
    test_threads();
    test_promote();
    test_arith();
    test_compare();
    test_join();
    test_parts();
    test_user_text();
    test_signatures();
    test_objects();
    test_pick();
    test_integers();
    test_weak_meet();
    tr_tytab_free(tab);
    tr_tytab_free(shared);
    tr_arena_fini(&arena);
    return 0;
}
