/* Whole programs through the back end: control flow, calls, exceptions, memory, views, patterns, at every
 * code-generation level and with debug information. Operations one by one are test_lower_ops.c's. */
#include "lower_util.h"

#include <math.h>
#include <pthread.h>
#include <sys/resource.h>

/* Options that every test runs under. */
static tr_opts opts = TR_OPTS_DEFAULT;

static tr_module *from_text(const char *name, const char *text) {
    unit u;
    snprintf(now, 4096, "%s (level %u, debug %u)", name, opts.opt_level, opts.debug);
    unit_open(&u);
    uint8_t plant = u.ctx.opts.plant;
    u.ctx.opts = opts;
    u.ctx.opts.plant = plant;
    if (!tr_ir_parse(&u.ctx, text, "test.ir", &u.p)) {
        CHECK(0, "the test's text does not parse");
        unit_errors(&u);
        unit_close(&u);
        return NULL;
    }
    return unit_finish(&u);
}

static tr_frame frame;
static char printed[512];

static void capture(void *self, const char *text, size_t n) {
    (void)self;
    strncat(printed, text, n);
}

static const tr_host host = {.write = capture};

/* Runs with a fresh frame, which stays open for a look. */
static int32_t run(tr_module *m, const tr_slot *args, tr_slot *ret) {
    tr_rt_frame_fini(&frame);
    tr_rt_frame_init(&frame, &host);
    return m ? tr_module_entry(m)(&frame, args, ret) : -1;
}

static const tr_msite *site(tr_module *m, int32_t code) {
    const tr_meta *meta = tr_module_meta(m);
    CHECK(code > 0 && (uint32_t)code <= meta->nsites, "%d is no site", code);
    return code > 0 && (uint32_t)code <= meta->nsites ? &meta->sites[code - 1] : NULL;
}

static void done(tr_module *m) {
    tr_rt_frame_fini(&frame);
    if (m)
        tr_module_unref(m);
}

/* Parts of a C or any array in slots; returns the next slot. */
static tr_slot *put_arr(tr_slot *s, void *data, unsigned nd, const int64_t *shape, const int64_t *strides) {
    (s++)->p = NULL;
    (s++)->p = data;
    for (unsigned i = 0; i < nd; i++)
        (s++)->i = shape[i];
    for (unsigned i = 0; strides && i < nd; i++)
        (s++)->i = strides[i];
    return s;
}

/* --- control flow --- */

static void test_loop(void) {
    tr_module *m = from_text("loop", "fn @f -> f64 of \"t.py\" {\n"
                                     "b0(%a: f64[1a], %k: i64):\n"
                                     "  %n: i64 = dim %a, 0\n"
                                     "  br b1(0, 0.0)\n"
                                     "b1(%i: i64, %s: f64):\n"
                                     "  %more: i1 = cmp lt %i, %k\n"
                                     "  cbr %more, b2, b3\n"
                                     "b2:\n"
                                     "  %j: i64 = sub %i, 2\n"
                                     "  %w: i64 = wrap %j, %n\n"
                                     "  checkindex %w, %n ! IndexError \"index {0} of {1}\" @7:4-7:8\n"
                                     "  %v: f64 = load %a[%w]\n"
                                     "  %t: f64 = add %s, %v\n"
                                     "  %i2: i64 = add.nsw %i, 1\n"
                                     "  br b1(%i2, %t)\n"
                                     "b3:\n"
                                     "  ret %s\n"
                                     "}\n");
    double a[10] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512};
    tr_slot args[5], ret[1];
    put_arr(args, a, 1, &(int64_t){5}, &(int64_t){2})->i = 7;
    CHECK(run(m, args, ret) == 0 && ret[0].f == 64 + 256 + 341, "got %g", ret[0].f);
    args[4].i = 8;
    int32_t code = run(m, args, ret);
    const tr_msite *s = m ? site(m, code) : NULL;
    if (s) {
        CHECK(s->exc == TR_EXC_INDEX && s->nargs == 2 && s->args[0].kind == 'i' && s->nplaces == 1,
              "wrong site");
        CHECK(s->places[0].span.line == 7 && !strcmp(s->places[0].fn, "f"), "wrong place");
        CHECK(frame.payload[0].i == 5 && frame.payload[1].i == 5, "wrong payload");
    }
    done(m);
}

static void test_edges(void) {
    tr_module *m = from_text("two edges into one block", "fn @f -> i64 {\n"
                                                         "b0(%a: i1, %x: i64, %y: i64):\n"
                                                         "  cbr %a, b1(%x, 1), b1(%y, 2)\n"
                                                         "b1(%p: i64, %q: i64):\n"
                                                         "  %r: i64 = mul %p, %q\n"
                                                         "  ret %r\n"
                                                         "}\n");
    tr_slot args[3] = {{.b = 1}, {.i = 10}, {.i = 100}}, ret[1];
    CHECK(run(m, args, ret) == 0 && ret[0].i == 10, "got %lld", (long long)ret[0].i);
    args[0].b = 0;
    CHECK(run(m, args, ret) == 0 && ret[0].i == 200, "got %lld", (long long)ret[0].i);
    done(m);
}

static void test_tuple(void) {
    tr_module *m = from_text("tuples", "fn @f -> (i1, (f32, c128), u8) {\n"
                                       "b0(%t: (u8, c128), %x: f32):\n"
                                       "  %u: u8 = extract %t, 0\n"
                                       "  %c: c128 = extract %t, 1\n"
                                       "  %b: i1 = cmp lt %x, 2.0:f32\n"
                                       "  %in: (f32, c128) = tuple %x, %c\n"
                                       "  %out: (i1, (f32, c128), u8) = tuple %b, %in, %u\n"
                                       "  ret %out\n"
                                       "}\n");
    tr_slot args[4] = {{.b = 200}, {.f = 1.5}, {.f = -2.5}, {.f32 = 1.0f}}, ret[5];
    memset(ret, 0xff, sizeof ret);
    CHECK(run(m, args, ret) == 0, "raised");
    CHECK(ret[0].b == 1 && ret[1].f32 == 1.0f && ret[2].f == 1.5 && ret[3].f == -2.5 && ret[4].b == 200,
          "wrong");
    done(m);
}

/* --- calls --- */

static void test_calls(void) {
    tr_module *m = from_text("calls", "fn @f -> f64 {\n"
                                      "b0(%a: f64[1c], %i: i64):\n"
                                      "  %t: (f64, i64, f64[1c]) = call #1(%a, %i) @2:0-2:9\n"
                                      "  %x: f64 = extract %t, 0\n"
                                      "  %b: f64[1c] = extract %t, 2\n"
                                      "  %y: f64 = load %b[0]\n"
                                      "  %z: f64 = add %x, %y\n"
                                      "  ret %z\n"
                                      "}\n"
                                      "fn @g -> (f64, i64, f64[1c]) {\n"
                                      "b0(%a: f64[1c], %i: i64):\n"
                                      "  %n: i64 = dim %a, 0\n"
                                      "  %none: none = call #2(%i, %n) @12:0-12:9\n"
                                      "  %x: f64 = load %a[%i]\n"
                                      "  %t: (f64, i64, f64[1c]) = tuple %x, %n, %a\n"
                                      "  ret %t\n"
                                      "}\n"
                                      "fn @h -> none {\n"
                                      "b0(%i: i64, %n: i64):\n"
                                      "  checkindex %i, %n ! IndexError \"bad {0}\" @22:0-22:9\n"
                                      "  ret undef:none\n"
                                      "}\n");
    double a[3] = {1, 2, 4};
    tr_slot args[4], ret[1];
    put_arr(args, a, 1, &(int64_t){3}, NULL)->i = 2;
    CHECK(run(m, args, ret) == 0 && ret[0].f == 5, "got %g", ret[0].f);
    args[3].i = 3;
    int32_t code = run(m, args, ret);
    const tr_msite *s = m ? site(m, code) : NULL;
    if (s) {
        CHECK(s->exc == TR_EXC_INDEX && frame.payload[0].i == 3, "wrong site");
        CHECK(frame.ntrace == 2, "%u call sites", frame.ntrace);
        CHECK(site(m, 1 + (int32_t)frame.trace[0])->places[0].span.line == 12, "first call site");
        CHECK(site(m, 1 + (int32_t)frame.trace[1])->places[0].span.line == 2, "second call site");
    }
    done(m);
}

static void test_recursion(void) {
    tr_module *m = from_text("recursion", "fn @even -> i64 {\n"
                                          "b0(%n: i64):\n"
                                          "  %z: i1 = cmp eq %n, 0\n"
                                          "  cbr %z, b1, b2\n"
                                          "b1:\n"
                                          "  ret 1\n"
                                          "b2:\n"
                                          "  %k: i64 = sub %n, 1\n"
                                          "  %r: i64 = call #1(%k)\n"
                                          "  ret %r\n"
                                          "}\n"
                                          "fn @odd -> i64 {\n"
                                          "b0(%n: i64):\n"
                                          "  %z: i1 = cmp eq %n, 0\n"
                                          "  cbr %z, b1, b2\n"
                                          "b1:\n"
                                          "  ret 0\n"
                                          "b2:\n"
                                          "  %k: i64 = sub %n, 1\n"
                                          "  %r: i64 = call #0(%k)\n"
                                          "  ret %r\n"
                                          "}\n");
    tr_slot args[1] = {{.i = 901}}, ret[1];
    CHECK(run(m, args, ret) == 0 && ret[0].i == 0, "got %lld", (long long)ret[0].i);
    args[0].i = 1 << 30;
    int32_t code = run(m, args, ret);
    const tr_msite *s = m ? site(m, code) : NULL;
    CHECK(s && s->exc == TR_EXC_RECURSION && frame.ntrace == TR_FRAME_TRACE, "no RecursionError");
    done(m);
}

/* --- exceptions --- */

static void test_raise(void) {
    tr_module *m = from_text("raise", "fn @f -> i64 {\n"
                                      "b0(%i: i32, %u: u16, %c: c64, %b: i1, %x: f32):\n"
                                      "  check %b, %x, %c ! ValueError \"x {0} c {1}\"\n"
                                      "  raise %i, %u, %b ! KeyError(_, \"text\", 7, _, None, 2.5, True, _)\n"
                                      "}\n");
    tr_slot args[6] = {{.i = -3}, {.i = 65535}, {.f32 = 1.5f}, {.f32 = -2.0f}, {.b = 1}, {.f32 = 0.25f}},
            ret[1];
    const tr_msite *s = m ? site(m, run(m, args, ret)) : NULL;
    if (s) {
        CHECK(s->exc == TR_EXC_KEY && !s->text && s->nargs == 8, "wrong site");
        char kinds[9] = {0};
        for (int i = 0; i < 8; i++)
            kinds[i] = s->args[i].kind;
        CHECK(!strcmp(kinds, "iSIuNDBb"), "kinds are %s", kinds);
        CHECK(!strcmp(s->args[1].s, "text") && s->args[2].i == 7 && s->args[5].d == 2.5, "constants");
        CHECK(frame.payload[0].i == -3 && frame.payload[1].u == 65535 && frame.payload[2].b == 1, "payload");
    }
    args[4].b = 0;
    s = m ? site(m, run(m, args, ret)) : NULL;
    if (s) {
        CHECK(s->exc == TR_EXC_VALUE && s->nargs == 2 && s->args[0].kind == 'f' && s->args[1].kind == 'c',
              "wrong site");
        CHECK(frame.payload[0].f32 == 0.25f && frame.payload[1].f == 1.5 && frame.payload[2].f == -2.0,
              "payload");
    }
    done(m);
}

/* --- memory --- */

static void test_alloc(void) {
    tr_module *m = from_text("alloc", "fn @f -> f64[2c] {\n"
                                      "b0(%n: i64, %m: i64):\n"
                                      "  %a: f64[2c] = alloc %n, %m ! MemoryError \"{0} bytes\"\n"
                                      "  %b: c64[3f] = alloc %n, 2, %m ! MemoryError \"{0} bytes\"\n"
                                      "  retain %b\n"
                                      "  release %b\n"
                                      "  release %b\n"
                                      "  %k: i64 = mul %n, %m\n"
                                      "  %v: none = pattern [%n, %m] out(%a) {\n"
                                      "    b0(%i: i64, %j: i64):\n"
                                      "      %x: i64 = mul %i, 100\n"
                                      "      %y: i64 = add %x, %j\n"
                                      "      %z: f64 = conv %y\n"
                                      "      yield %z\n"
                                      "  }\n"
                                      "  ret %a\n"
                                      "}\n");
    tr_slot args[2] = {{.i = 3}, {.i = 5}}, ret[4];
    CHECK(run(m, args, ret) == 0, "raised");
    CHECK(ret[2].i == 3 && ret[3].i == 5 && frame.nalloc == 2 && frame.nfree == 1, "wrong counts");
    tr_mem *mem = ret[0].p;
    CHECK(ret[1].p == tr_mem_data(mem) && mem->refs == 1 && mem->size == 120, "wrong block");
    CHECK(((double *)ret[1].p)[14] == 204, "got %g", ((double *)ret[1].p)[14]);
    static const struct {
        int64_t n, m;
        tr_exc exc;
    } bad[] = {{-1, 5, TR_EXC_VALUE},
               {5, -1, TR_EXC_VALUE},
               {-1, -1, TR_EXC_VALUE},
               {INT64_MIN, 0, TR_EXC_VALUE},
               {INT64_MAX, INT64_MAX, TR_EXC_VALUE},
               {INT64_C(1) << 62, 0, TR_EXC_VALUE},
               {INT64_C(1) << 50, 3, TR_EXC_MEMORY},
               {INT64_C(1) << 32, INT64_C(1) << 32, TR_EXC_VALUE}};
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        args[0].i = bad[i].n;
        args[1].i = bad[i].m;
        const tr_msite *s = m ? site(m, run(m, args, ret)) : NULL;
        CHECK(s && s->exc == bad[i].exc, "%lld x %lld: %s", (long long)bad[i].n, (long long)bad[i].m,
              s ? s->text : "");
    }
    args[0].i = args[1].i = 0;
    CHECK(run(m, args, ret) == 0 && ((tr_mem *)ret[0].p)->size == 0, "empty array");
    done(m);
}

static void test_owners(void) {
    tr_module *m = from_text("owners", "fn @f -> (i64, f64[1a]) {\n"
                                       "b0(%t: (i64, f64[1a])):\n"
                                       "  retain %t\n"
                                       "  retain %t\n"
                                       "  release %t\n"
                                       "  ret %t\n"
                                       "}\n");
    tr_mem mem = {.refs = 1};
    tr_slot args[5] = {{.i = 4}, {.p = &mem}, {.p = &mem}, {.i = 0}, {.i = 1}}, ret[5];
    CHECK(run(m, args, ret) == 0 && mem.refs == 2 && ret[1].p == &mem, "refs are %lld", (long long)mem.refs);
    args[1].p = NULL;
    CHECK(run(m, args, ret) == 0, "a frozen array");
    args[1].u = (uintptr_t)&mem | 1;
    CHECK(run(m, args, ret) == 0 && mem.refs == 2, "a borrowed array is counted");
    done(m);
}

static void test_views(void) {
    tr_module *m = from_text("views", "fn @f -> (f64, i1, i1, f64[1a]) {\n"
                                      "b0(%a: c128[2c], %k: i64):\n"
                                      "  %n: i64 = dim %a, 0\n"
                                      "  %m: i64 = dim %a, 1\n"
                                      "  %s: i64 = stride %a, 0\n"
                                      "  %s2: i64 = mul %s, 2\n"
                                      "  %im: f64[2a] = restride %a, 1, %n, %m, %s2, 2\n"
                                      "  %last: i64 = sub %m, 1\n"
                                      "  %off: i64 = mul %last, 2\n"
                                      "  %row: f64[1a] = restride %im, %off, %m, -2\n"
                                      "  %x: f64 = load %im[1, 2]\n"
                                      "  %y: f64 = load %row[0]\n"
                                      "  %z: f64 = mul %x, %y\n"
                                      "  %col: c128[1a] = restride %a, %k, %n, %s\n"
                                      "  %o1: i1 = overlap %col, %row\n"
                                      "  %e: c128[1a] = restride %a, 0, 0, 1\n"
                                      "  %o2: i1 = overlap %a, %e\n"
                                      "  %t: (f64, i1, i1, f64[1a]) = tuple %z, %o1, %o2, %row\n"
                                      "  ret %t\n"
                                      "}\n");
    double a[12];
    for (int i = 0; i < 12; i++)
        a[i] = i;
    tr_slot args[5], ret[7];
    put_arr(args, a, 2, (int64_t[]){2, 3}, NULL)->i = 0;
    CHECK(run(m, args, ret) == 0 && ret[0].f == 11 * 5, "got %g", ret[0].f);
    CHECK(ret[1].b == 1 && ret[2].b == 0, "overlaps %d %d", ret[1].b, ret[2].b);
    CHECK(ret[4].p == a + 5 && ret[5].i == 3 && ret[6].i == -2, "wrong view");
    args[4].i = 100;
    CHECK(run(m, args, ret) == 0 && ret[1].b == 0, "far apart, and yet they overlap");
    done(m);
}

static void test_constarr(void) {
    unit u;
    tr_val x;
    unit_open(&u);
    u.ctx.opts = opts;
    snprintf(now, 4096, "frozen arrays (level %u)", opts.opt_level);
    static const int64_t data[4] = {3, 1, 4, 1}, shape[2] = {2, 2}, strides[2] = {1, 2};
    tr_obj *o = TR_NEW(&u.ctx.arena, tr_obj);
    *o = (tr_obj){.kind = TR_OBJ_ARRAY, .repr = "array", .ty = arr_ty(&u, TR_TY_I64, 2, TR_LAYOUT_ANY)};
    o->u.a.data = (void *)(uintptr_t)data;
    o->u.a.shape = shape;
    o->u.a.strides = strides;
    o->u.a.index = 0;
    const tr_obj *co = o;
    tr_vec_push(&u.ctx.arena, &u.p.arrays, co);
    const tr_ty *i64 = ty(&u, TR_TY_I64);
    unit_fn(&u, "f", i64, 1, &i64, &x);
    tr_val a = tr_const_arr(u.b.fn, o->ty, o);
    tr_val r = tr_emit3(&u.b, TR_OP_LOAD, i64, a, i64c(&u, 0), x);
    tr_emit1(&u.b, TR_OP_RET, NULL, r);
    tr_module *m = unit_compile_bind(&u, &(tr_binding){"tr_arr_0", (void *)(uintptr_t)data}, 1);
    unit_close(&u);
    tr_slot args[1] = {{.i = 1}}, ret[1];
    CHECK(run(m, args, ret) == 0 && ret[0].i == 4, "got %lld", (long long)ret[0].i);
    done(m);
}

static void test_print(void) {
    tr_module *m = from_text("print", "fn @f -> c64 {\n"
                                      "b0(%x: i64, %b: i1, %c: c64):\n"
                                      "  %0: none = callrt PRINT_I64(%x)\n"
                                      "  %1: none = callrt PRINT_STR() \"-> \"\n"
                                      "  %2: none = callrt PRINT_BOOL(%b)\n"
                                      "  %3: none = callrt PRINT_STR() \"\\n\"\n"
                                      "  %4: none = callrt PRINT_END()\n"
                                      "  %d: c64 = pow %c, complex(2.0, 0.0):c64\n"
                                      "  ret %d\n"
                                      "}\n");
    tr_slot args[4] = {{.i = -5}, {.b = 1}, {.f32 = 0}, {.f32 = 1}}, ret[2];
    printed[0] = 0;
    CHECK(run(m, args, ret) == 0 && !strcmp(printed, "-5-> True\n"), "printed %s", printed);
    CHECK(ret[0].f32 == -1 && ret[1].f32 == 0, "the square of i is %g %gj", (double)ret[0].f32,
          (double)ret[1].f32);
    done(m);
}

/* --- patterns --- */

static void test_map(void) {
    static const char text[] = "fn @f -> none {\n"
                               "b0(%%a: %s, %%b: %s, %%k: f32):\n"
                               "  %%n: i64 = dim %%a, 0\n"
                               "  %%m: i64 = dim %%a, 1\n"
                               "  %%v: none = pattern [%%n, %%m] in(%%a) out(%%b) cap(%%k) {\n"
                               "    b0(%%i: i64, %%j: i64, %%x: f32, %%c: f32):\n"
                               "      %%neg: i1 = cmp lt %%x, 0.0:f32\n"
                               "      cbr %%neg, b1, b2\n"
                               "    b1:\n"
                               "      %%z: f32 = neg %%x\n"
                               "      yield %%z\n"
                               "    b2:\n"
                               "      %%y: f32 = mul %%x, %%c\n"
                               "      yield %%y\n"
                               "  }\n"
                               "  ret %%v\n"
                               "}\n";
    static const char *const types[] = {"f32[2c]", "f32[2f]", "f32[2a]"};
    static const int64_t strides[3][2] = {{7, 1}, {1, 5}, {-20, 2}};
    for (int p = 0; p < 3; p++)
        for (int q = 0; q < 3; q++) {
            char t[2048];
            float a[200], b[200];
            snprintf(t, sizeof t, text, types[p], types[q]);
            tr_module *m = from_text("map", t);
            for (int i = 0; i < 200; i++) {
                a[i] = (float)(i * 37 % 100 - 50);
                b[i] = 1000;
            }
            float *x = a + (p == 2 ? 100 : 0), *y = b + (q == 2 ? 100 : 0);
            tr_slot args[13], ret[1];
            tr_slot *s = put_arr(args, x, 2, (int64_t[]){5, 7}, p == 2 ? strides[2] : NULL);
            s = put_arr(s, y, 2, (int64_t[]){5, 7}, q == 2 ? strides[2] : NULL);
            s->f32 = 0.5f;
            CHECK(run(m, args, ret) == 0, "raised");
            int written = 0;
            for (int i = 0; i < 200; i++)
                written += b[i] < 1000;
            CHECK(written == 35, "%d elements written", written);
            for (int i = 0; i < 5; i++)
                for (int j = 0; j < 7; j++) {
                    float v = x[i * strides[p][0] + j * strides[p][1]],
                          w = y[i * strides[q][0] + j * strides[q][1]];
                    CHECK(w == (v < 0 ? -v : v * 0.5f), "[%d, %d] is %g of %g", i, j, (double)w, (double)v);
                }
            done(m);
        }
}

static void test_check_in_lambda(void) {
    tr_module *m = from_text("check in a lambda", "fn @f -> i64 {\n"
                                                  "b0(%a: i64[1c], %idx: i64[1c]):\n"
                                                  "  %n: i64 = dim %idx, 0\n"
                                                  "  %r: i64 = pattern [%n] in(%idx) red(add 5) cap(%a) {\n"
                                                  "    b0(%i: i64, %x: i64, %b: i64[1c]):\n"
                                                  "      %m: i64 = dim %b, 0\n"
                                                  "      checkindex %x, %m ! IndexError \"{0}\" @4:2-4:5\n"
                                                  "      %v: i64 = load %b[%x]\n"
                                                  "      yield %v\n"
                                                  "  }\n"
                                                  "  ret %r\n"
                                                  "}\n");
    int64_t a[3] = {10, 20, 40}, idx[4] = {2, 0, 2, 1};
    tr_slot args[6], ret[1];
    put_arr(put_arr(args, a, 1, &(int64_t){3}, NULL), idx, 1, &(int64_t){4}, NULL);
    CHECK(run(m, args, ret) == 0 && ret[0].i == 115, "got %lld", (long long)ret[0].i);
    idx[2] = 3;
    const tr_msite *s = m ? site(m, run(m, args, ret)) : NULL;
    CHECK(s && frame.payload[0].i == 3 && s->places[0].span.line == 4, "wrong site");
    done(m);
}

static void test_reductions(void) {
    tr_module *m = from_text(
        "reductions",
        "fn @f -> (f64, f64, i64, i64, i64, i64, i64, i64, f64) {\n"
        "b0(%a: f64[2a], %b: i64[2a]):\n"
        "  %n: i64 = dim %a, 0\n"
        "  %m: i64 = dim %a, 1\n"
        "  %r: (f64, f64, i64, i64, i64, i64, i64, i64, f64) = pattern [%n, %m] in(%a, %b) red(min inf, "
        "max -inf, argmin 0, argmax 0, min 9223372036854775807, max -9223372036854775808, and -1, or 0, mul "
        "1.0) {\n"
        "    b0(%i: i64, %j: i64, %x: f64, %y: i64):\n"
        "      yield %x, %x, %x, %x, %y, %y, %y, %y, %x\n"
        "  }\n"
        "  ret %r\n"
        "}\n");
    double a[12] = {3, -1, 4, -1, 5, 9, 2, 6, 9, 3, 5, 8};
    int64_t b[12] = {12, 8, 4, 12, 14, 12, 13, 12, 12, 12, 76, 12};
    tr_slot args[12], ret[9];
    put_arr(put_arr(args, a, 2, (int64_t[]){3, 4}, (int64_t[]){4, 1}), b, 2, (int64_t[]){3, 4},
            (int64_t[]){1, 3});
    CHECK(run(m, args, ret) == 0, "raised");
    CHECK(ret[0].f == -1 && ret[1].f == 9 && ret[2].i == 1 && ret[3].i == 5, "%g %g %lld %lld", ret[0].f,
          ret[1].f, (long long)ret[2].i, (long long)ret[3].i);
    CHECK(ret[4].i == 4 && ret[5].i == 76 && ret[6].i == 0 && ret[7].i == 79, "%lld %lld %lld %lld",
          (long long)ret[4].i, (long long)ret[5].i, (long long)ret[6].i, (long long)ret[7].i);
    double want = 1;
    for (int i = 0; i < 12; i++)
        want *= a[i];
    CHECK(ret[8].f == want, "product %g", ret[8].f);
    a[7] = a[10] = (double)NAN;
    CHECK(run(m, args, ret) == 0 && isnan(ret[0].f) && isnan(ret[1].f) && ret[2].i == 7 && ret[3].i == 7,
          "NaN");
    args[2].i = 0;
    CHECK(run(m, args, ret) == 0 && ret[0].f == (double)INFINITY && ret[2].i == 0 && ret[8].f == 1, "empty");
    done(m);
}

static void test_f_order(void) {
    tr_module *m = from_text("F order", "fn @f -> (f64, i64, i64) {\n"
                                        "b0(%a: f64[2f]):\n"
                                        "  %n: i64 = dim %a, 0\n"
                                        "  %m: i64 = dim %a, 1\n"
                                        "  %r: (f64, i64) = pattern [%n, %m] in(%a) red(max -inf, add 0) {\n"
                                        "    b0(%i: i64, %j: i64, %x: f64):\n"
                                        "      %k: i64 = conv %x\n"
                                        "      yield %x, %k\n"
                                        "  }\n"
                                        "  %w: i64 = pattern [%n, %m] in(%a) red(argmax 0) {\n"
                                        "    b0(%i: i64, %j: i64, %x: f64):\n"
                                        "      yield %x\n"
                                        "  }\n"
                                        "  %max: f64 = extract %r, 0\n"
                                        "  %sum: i64 = extract %r, 1\n"
                                        "  %t: (f64, i64, i64) = tuple %max, %sum, %w\n"
                                        "  ret %t\n"
                                        "}\n");
    double a[6] = {1, 7, 3, 9, 5, 9}; /* rows (1, 3, 5), (7, 9, 9) */
    tr_slot args[4], ret[3];
    put_arr(args, a, 2, (int64_t[]){2, 3}, NULL);
    CHECK(run(m, args, ret) == 0 && ret[0].f == 9 && ret[1].i == 34 && ret[2].i == 4, "%g %lld %lld",
          ret[0].f, (long long)ret[1].i, (long long)ret[2].i);
    done(m);
}

/* The sum that rt/sum.c describes, said once more in C. */
static double sum_block(const double *x, int64_t n) {
    double lane[16];
    for (int i = 0; i < 16; i++)
        lane[i] = -0.0;
    for (int64_t i = 0; i < n; i++)
        lane[i % 16] += x[i];
    for (int half = 8; half; half /= 2)
        for (int i = 0; i < half; i++)
            lane[i] += lane[i + half];
    return lane[0];
}

static double sum_ref(const double *x, int64_t n) {
    double level[64], total = -0.0;
    uint64_t count = 0;
    for (int64_t i = 0; i < n; i += 256) {
        double s = sum_block(x + i, n - i < 256 ? n - i : 256);
        int k = 0;
        for (; count >> k & 1; k++)
            s = level[k] + s;
        level[k] = s;
        count++;
    }
    for (int k = 0; count >> k; k++)
        if (count >> k & 1)
            total = level[k] + total;
    return 0.0 + total;
}

static void test_sums(void) {
    /* In place, through the buffer, and strided: the same bits. */
    static const char in_place[] = "fn @f -> f64 {\n"
                                   "b0(%a: f64[2c]):\n"
                                   "  %n: i64 = dim %a, 0\n"
                                   "  %m: i64 = dim %a, 1\n"
                                   "  %r: f64 = pattern [%n, %m] in(%a) red(add 0.0) {\n"
                                   "    b0(%i: i64, %j: i64, %x: f64):\n"
                                   "      yield %x\n"
                                   "  }\n"
                                   "  ret %r\n"
                                   "}\n";
    static const char buffered[] =
        "fn @f -> f64 {\n"
        "b0(%a: f64[2a]):\n"
        "  %n: i64 = dim %a, 0\n"
        "  %m: i64 = dim %a, 1\n"
        "  %r: (f64, i64, c128) = pattern [%n, %m] in(%a) red(add 0.0, add 0, add complex(0.0, 0.0)) {\n"
        "    b0(%i: i64, %j: i64, %x: f64):\n"
        "      %y: f64 = mul %x, 1.0\n"
        "      %c: c128 = cplx %x, %y\n"
        "      yield %y, 1, %c\n"
        "  }\n"
        "  %s: f64 = extract %r, 0\n"
        "  %k: i64 = extract %r, 1\n"
        "  %c: c128 = extract %r, 2\n"
        "  %d: f64 = im %c\n"
        "  %same: i1 = cmp eq %s, %d\n"
        "  check %same ! ValueError \"parts differ\"\n"
        "  %total: i64 = mul %n, %m\n"
        "  %all: i1 = cmp eq %k, %total\n"
        "  check %all ! ValueError \"not all\"\n"
        "  ret %s\n"
        "}\n";
    static const int64_t shapes[][2] = {{0, 3},    {3, 0},     {1, 1},     {1, 15},   {1, 16},   {1, 17},
                                        {1, 255},  {1, 256},   {1, 257},   {1, 5000}, {5000, 1}, {300, 3},
                                        {3, 1000}, {100, 101}, {700, 256}, {9, 2049}};
    tr_module *m = from_text("sum in place", in_place), *k = from_text("sum through a buffer", buffered);
    static double x[200000], t[400000];
    uint64_t seed = 1;
    for (unsigned i = 0; i < 200000; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        x[i] = (double)(int64_t)seed * 0x1p-63 * (i % 7 == 0 ? 1e6 : 1);
    }
    for (unsigned i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        int64_t n = shapes[i][0], mm = shapes[i][1];
        tr_slot args[6], ret[1];
        double want = sum_ref(x, n * mm);
        put_arr(args, x, 2, shapes[i], NULL);
        CHECK(run(m, args, ret) == 0 && ret[0].f == want, "in place %lldx%lld: %.17g, want %.17g",
              (long long)n, (long long)mm, ret[0].f, want);
        put_arr(args, x, 2, shapes[i], (int64_t[]){mm, 1});
        int32_t code = run(k, args, ret);
        CHECK(code == 0 && ret[0].f == want, "buffered %lldx%lld: %.17g, want %.17g", (long long)n,
              (long long)mm, ret[0].f, want);
        for (int64_t r = 0; r < n; r++)
            for (int64_t c = 0; c < mm; c++)
                t[2 * (c * n + r)] = x[r * mm + c];
        put_arr(args, t, 2, shapes[i], (int64_t[]){2, 2 * n});
        code = run(k, args, ret);
        CHECK(code == 0 && ret[0].f == want, "strided %lldx%lld: %.17g, want %.17g", (long long)n,
              (long long)mm, ret[0].f, want);
    }
    done(k);
    done(m);
}

static void test_point(void) {
    tr_module *m = from_text("0-d", "fn @f -> f64 {\n"
                                    "b0(%a: f64[0c], %b: f64[0c]):\n"
                                    "  %x: f64 = load %a[]\n"
                                    "  store %b[], %x\n"
                                    "  %r: f64 = pattern [] in(%a) out(%b) red(add 1.0) {\n"
                                    "    b0(%y: f64):\n"
                                    "      %z: f64 = add %y, 1.0\n"
                                    "      yield %z, %y\n"
                                    "  }\n"
                                    "  ret %r\n"
                                    "}\n");
    double a = 5, b = 0;
    tr_slot args[4] = {{.p = NULL}, {.p = &a}, {.p = NULL}, {.p = &b}}, ret[1];
    CHECK(run(m, args, ret) == 0 && ret[0].f == 6 && b == 6, "got %g %g", ret[0].f, b);
    done(m);
}

/* Fast-math: sums may be regrouped, but isnan() still means what it says. */
static void test_fast(void) {
    tr_module *m = from_text("fast", "fn @f -> (f64, i1) {\n"
                                     "b0(%a: f64[1c], %y: f64):\n"
                                     "  %n: i64 = dim %a, 0\n"
                                     "  %r: f64 = pattern [%n] in(%a) red(add.fast 0.0) {\n"
                                     "    b0(%i: i64, %x: f64):\n"
                                     "      yield %x\n"
                                     "  }\n"
                                     "  %nan: i1 = math.fast isnan %y\n"
                                     "  %t: (f64, i1) = tuple %r, %nan\n"
                                     "  ret %t\n"
                                     "}\n");
    double a[100];
    for (int i = 0; i < 100; i++)
        a[i] = i * 0.125;
    tr_slot args[4], ret[2];
    put_arr(args, a, 1, &(int64_t){100}, NULL)->f = (double)NAN;
    CHECK(run(m, args, ret) == 0 && ret[0].f == 618.75 && ret[1].b == 1, "got %g %d", ret[0].f, ret[1].b);
    done(m);
}

/* --- the back end itself --- */

static void test_texts(void) {
    unit u;
    tr_sb s[3];
    unit_open(&u);
    u.ctx.opts = opts;
    strcpy(now, "texts");
    bool ok = tr_ir_parse(&u.ctx, "fn @sin -> f64 {\nb0(%x: f64):\n  %y: f64 = math sin %x\n  ret %y\n}\n",
                          "t", &u.p);
    for (int i = 0; i < 3; i++)
        tr_sb_init(&s[i]);
    tr_object obj;
    ok = ok && backend->compile(&u.p, &(tr_want){.llvm = &s[0], .llvmopt = &s[1], .assembly = &s[2]}, &obj);
    CHECK(ok, "does not compile");
    if (ok) {
        CHECK(strstr(s[0].d, "@tr_entry") && strstr(s[1].d, "sind1_u10purec"), "no LLVM text");
        CHECK(strstr(s[2].d, "tr_entry:"), "no assembly");
        CHECK(!strcmp(obj.meta.ret, "f64") && !strcmp(obj.meta.title, "sin(float64)"), "%s %s", obj.meta.ret,
              obj.meta.title);
        free(obj.elf);
    }
    CHECK(backend->target() && !strncmp(backend->version, "llvm ", 5), "no description");
    for (int i = 0; i < 3; i++)
        tr_sb_fini(&s[i]);
    unit_close(&u);
}

/* ASan answers as malloc does, and sets the limit of test_no_memory itself: its shadow alone is larger than
 * any limit of the address space, and it ends the process where its own bookkeeping gets no memory. */
const char *__asan_default_options(void);
__attribute__((visibility("default"))) const char *__asan_default_options(void) {
    return "allocator_may_return_null=1:max_allocation_size_mb=16384";
}

static void test_no_memory(void) {
    unit u;
    jmp_buf here;
    struct rlimit all_of_it, little;
    getrlimit(RLIMIT_AS, &all_of_it);
    little = all_of_it;
#ifndef __SANITIZE_ADDRESS__
    little.rlim_cur = (rlim_t)16 << 30;
#endif
    setrlimit(RLIMIT_AS, &little);
    strcpy(now, "out of memory while lowering");
    unit_open(&u);
    if (tr_ir_parse(&u.ctx, "fn @f -> f64 {\nb0(%x: f64):\n  ret %x\n}\n", "t", &u.p)) {
        u.ctx.arena.oom = &here;
        /* An instance count no arena can serve makes the first allocation of lowering fail. */
        uint32_t n = u.p.insts.n;
        volatile bool jumped = false;
        if (setjmp(here) == 0) {
            tr_object obj;
            u.p.insts.n = UINT32_MAX;
            backend->compile(&u.p, NULL, &obj);
        } else {
            jumped = true;
        }
        CHECK(jumped && u.ctx.arena.oom == &here, "the handler was not reached");
        u.p.insts.n = n;
    }
    setrlimit(RLIMIT_AS, &all_of_it);
    unit_close(&u);
}

static void *compile_many(void *p) {
    const char *text = p;
    long bad = 0;
    for (int i = 0; i < 20; i++) {
        unit u;
        tr_object obj;
        unit_open(&u);
        u.ctx.opts.opt_level = i % 2 ? 2 : 0;
        if (tr_ir_parse(&u.ctx, text, "t", &u.p) && backend->compile(&u.p, NULL, &obj))
            free(obj.elf);
        else
            bad++;
        unit_close(&u);
    }
    return (void *)bad;
}

static void test_threads(void) {
    static char text[] = "fn @f -> f64 {\n"
                         "b0(%a: f64[1c], %b: f64[1a]):\n"
                         "  %n: i64 = dim %a, 0\n"
                         "  %r: f64 = pattern [%n] in(%a, %b) red(add 0.0) {\n"
                         "    b0(%i: i64, %x: f64, %y: f64):\n"
                         "      %z: f64 = mul %x, %y\n"
                         "      yield %z\n"
                         "  }\n"
                         "  ret %r\n"
                         "}\n";
    pthread_t t[4];
    strcpy(now, "threads");
    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&t[i], NULL, compile_many, text) == 0, "no thread");
    for (int i = 0; i < 4; i++) {
        void *bad;
        pthread_join(t[i], &bad);
        CHECK(!bad, "a compile failed");
    }
}

static void all(void) {
    test_loop();
    test_edges();
    test_tuple();
    test_calls();
    test_recursion();
    test_raise();
    test_alloc();
    test_owners();
    test_views();
    test_constarr();
    test_print();
    test_map();
    test_check_in_lambda();
    test_reductions();
    test_f_order();
    test_sums();
    test_point();
}

static void tests(void) {
    tr_rt_frame_init(&frame, &host);
    static const uint8_t levels[] = {2, 0, 3};
    for (int i = 0; i < 3; i++) {
        opts.opt_level = levels[i];
        all();
    }
    opts.opt_level = 2;
    opts.debug = 1;
    all();
    opts.debug = 0;
    test_fast();
    test_texts();
    test_no_memory();
    test_threads();
}

int main(void) {
    return in_child(tests);
}
