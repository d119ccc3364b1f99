/* The object loader: what a C compiler makes is loaded and run; cut and mutated objects are refused or
 * loaded, never a crash. Objects come from the C compiler at hand, so that relocations are real ones. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "code/code.h"

static const char prelude[] = "#include <stdint.h>\n#include <math.h>\n#include <string.h>\n"
                              "typedef union { int64_t i; double f; void *p; } slot;\n";

/* Uses: far calls, constants, a jump table, pointers to constants, zeroed and written data, far data. */
static const char everything[] =
    "extern int64_t tr_rt_gcd(int64_t, int64_t);\n"
    "extern int64_t tr_arr_0[];\n"
    "static int64_t zeroed[100], set = 7;\n"
    "static const char *const names[] = {\"zero\", \"one\", \"two\"};\n"
    "__attribute__((noinline)) static int pick(int k) {\n"
    "  switch (k) { case 0: return 31; case 1: return 7; case 2: return 90; case 3: return 12; case 4: "
    "return 55;\n"
    "    case 5: return 1; case 6: return 99; default: return -1; } }\n"
    "int32_t tr_entry(void *frame, const slot *a, slot *ret) {\n"
    "  (void)frame;\n"
    "  zeroed[a[0].i] += ++set;\n"
    "  char buf[64]; memcpy(buf, names[a[0].i % 3], 4);\n"
    "  ret[0].i = tr_rt_gcd(a[0].i, 12) + pick((int)a[0].i) + zeroed[a[0].i] + tr_arr_0[2] + buf[0];\n"
    "  ret[1].f = sin(a[1].f) * 1.5 + 0x1p-30;\n"
    "  return set > 100;\n"
    "}\n";

typedef struct object {
    uint8_t *d;
    size_t n;
} object;

static object compile(const char *text, const char *flags) {
    char src[] = "/tmp/tr-elf-XXXXXX.c", obj[] = "/tmp/tr-elf-XXXXXX.o", cmd[512];
    int fd = mkstemps(src, 2), fo = mkstemps(obj, 2);
    assert(fd >= 0 && fo >= 0);
    FILE *f = fdopen(fd, "w");
    fprintf(f, "%s%s", prelude, text);
    fclose(f);
    snprintf(cmd, sizeof cmd, "${CC:-cc} -std=c11 -c -fno-stack-protector -fcf-protection=none %s -o %s %s",
             flags, obj, src);
    assert(system(cmd) == 0);
    f = fdopen(fo, "rb");
    assert(fseek(f, 0, SEEK_END) == 0);
    object o = {.n = (size_t)ftell(f)};
    o.d = malloc(o.n);
    rewind(f);
    assert(fread(o.d, 1, o.n, f) == o.n);
    fclose(f);
    unlink(src);
    unlink(obj);
    return o;
}

static int64_t frozen[] = {100, 200, 300};
static const tr_binding bind[] = {{"tr_arr_0", frozen}};
static const tr_meta meta = {.narrays = 1, .entry = "tr_entry", .ret = "i64", .title = "f(int64, float64)"};

static tr_module *load(const object *o, bool debug, char err[256]) {
    err[0] = 0;
    return tr_module_load(o->d, o->n, &meta, bind, 1, debug, err, 256);
}

static void run(tr_module *m) {
    tr_slot a[2] = {{.i = 6}, {.f = 0.5}}, ret[2];
    tr_frame f = {0};
    assert(tr_module_entry(m)(&f, a, ret) == 0);
    assert(ret[0].i == 6 + 99 + 8 + 300 + 'z');
    assert(ret[1].f == sin(0.5) * 1.5 + 0x1p-30);
    assert(tr_module_entry(m)(&f, a, ret) == 0);
    assert(ret[0].i == 6 + 99 + 8 + 9 + 300 + 'z'); /* written data is the module's own and keeps its value */
}

static void test_run(const char *flags, bool debug) {
    char err[256];
    object o = compile(everything, flags);
    uint64_t before = tr_code_live_bytes();
    tr_module *m = load(&o, debug, err), *twin = load(&o, debug, err);
    if (!m)
        fprintf(stderr, "%s: %s\n", flags, err);
    assert(m && twin && tr_module_entry(m) != tr_module_entry(twin));
    assert(tr_code_live_bytes() == before + tr_module_bytes(m) + tr_module_bytes(twin));
    assert(!strcmp(tr_module_meta(m)->title, "f(int64, float64)"));
    run(m);
    tr_module_ref(m);
    tr_module_unref(m);
    run(twin);
    tr_module_unref(m);
    tr_module_unref(twin);
    assert(tr_code_live_bytes() == before);
    free(o.d);
}

static void expect_refused(const char *text, const char *flags, const char *part) {
    char err[256];
    object o = compile(text, flags);
    tr_module *m = load(&o, false, err);
    if (m || !strstr(err, part)) {
        fprintf(stderr, "got '%s', want '%s'\n", err, part);
        assert(0);
    }
    free(o.d);
}

static uint64_t rng(uint64_t *s) {
    return *s = *s * 6364136223846793005u + 1442695040888963407u, *s >> 33;
}

/* Mutations favour the headers and tables, where the checks are. */
static void test_mutated(const object *good) {
    char err[256];
    uint64_t s = 12345;
    unsigned loaded = 0;
    for (size_t n = 0; n < good->n; n += n < 256 ? 1 : 7) {
        object cut = {malloc(n ? n : 1),
                      n}; /* of exactly this size, so that a sanitizer sees every step outside */
        memcpy(cut.d, good->d, n);
        assert(!load(&cut, false, err) && err[0]);
        free(cut.d);
    }
    for (int round = 0; round < 20000; round++) {
        object o = {malloc(good->n), good->n};
        memcpy(o.d, good->d, good->n);
        for (uint64_t k = rng(&s) % 4 + 1; k; k--) {
            uint64_t shoff;
            memcpy(&shoff, o.d + 40, sizeof shoff);
            size_t span = rng(&s) % 2 && shoff < o.n ? o.n - shoff : o.n, at = o.n - 1 - rng(&s) % span;
            static const uint8_t nasty[] = {0, 1, 0x7f, 0x80, 0xff, 0xfe, 8, 64};
            uint8_t flipped = (uint8_t)(o.d[at] ^ 1u << rng(&s) % 8);
            o.d[at] = rng(&s) % 2 ? nasty[rng(&s) % sizeof nasty] : flipped;
        }
        tr_module *m = load(&o, round % 64 == 0, err);
        assert(m || err[0]);
        loaded += m != NULL;
        tr_module_unref(m);
        free(o.d);
    }
    printf("mutated objects: %u of 20000 were still loadable\n", loaded);
}

int main(void) {
    test_run("-O2 -fPIC", false);
    test_run("-O0 -fPIC", false);
    test_run("-O2 -fPIC -g", true);
    test_run("-O2 -fPIC -fno-plt", false);
    test_run("-O2 -fPIC -ffunction-sections -fdata-sections", false);
    expect_refused("extern int nobody(void); int tr_entry(void) { return nobody(); }", "-fPIC", "`nobody`");
    expect_refused("int other(void) { return 0; }", "-fPIC", "`tr_entry`");
    expect_refused("extern int64_t tr_arr_0[]; int tr_entry(void) { return (int)tr_arr_0[0]; }",
                   "-O2 -fno-pic -mcmodel=small", "too far");
    expect_refused("_Thread_local int t; int tr_entry(void) { return ++t; }", "-fPIC", "not loaded");
    expect_refused("int common; int tr_entry(void) { return ++common; }", "-fPIC -fcommon", "`common`");
    object o = compile(everything, "-O2 -fPIC");
    test_mutated(&o);
    free(o.d);
    assert(tr_code_live_bytes() == 0);
    assert(tr_symbol_find("cos") && tr_symbol_find("memset") && !tr_symbol_find("no_such_function"));
    return 0;
}
