/* vmath_x86_64.def as data, and the names that follow from it. No state, no I/O. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "vmath/vmath.h"

enum { EXACT = 0, FAST = 1 };

const tr_vmrow tr_vmath_rows[] = {
#define VM_OWN(name, arity)                                \
    {#name, "u10", arity, false, EXACT, false, true, "f"}, \
        {#name, "u10", arity, true, EXACT, false, true, "f"},
#define VM_FN(name, arity, acc, use, d, f) \
    {#name, #acc, arity, false, use, false, false, d}, {#name, #acc, arity, true, use, false, false, f},
#define VM_MENDED(name, arity, acc, use, d, f, rule, bd, bf) \
    {#name, #acc, arity, false, use, true, false, d}, {#name, #acc, arity, true, use, true, false, f},
#include "vmath/vmath_x86_64.def"
};
const unsigned tr_vmath_nrows = sizeof tr_vmath_rows / sizeof *tr_vmath_rows;

const tr_vmlevel tr_vmath_levels[] = {
#define VM_LEVEL(isa, family, bits, needs) {#isa, #family[0], bits, needs},
#include "vmath/vmath_x86_64.def"
};
const unsigned tr_vmath_nlevels = sizeof tr_vmath_levels / sizeof *tr_vmath_levels;

static const struct {
    char letter;
    const char *prefix, *twin;
} families[] = {
#define VM_FAMILY(letter, prefix, twin) {#letter[0], #prefix, #twin},
#include "vmath/vmath_x86_64.def"
};

/* Is the feature in a list like "+avx,+avx2,-sse4a", and not a mere beginning of another? */
static bool has_feature(const char *features, const char *one) {
    size_t n = strlen(one);
    for (const char *s = features; (s = strstr(s, one)); s += n)
        if ((s == features || s[-1] == ',') && (s[n] == ',' || !s[n]))
            return true;
    return false;
}

char tr_vmath_family(const char *features) {
    return has_feature(features, "+avx2") && has_feature(features, "+fma") ? 'f' : 'c';
}

bool tr_vmath_has(const tr_vmlevel *l, const char *features, unsigned bits) {
    return l->family == tr_vmath_family(features) && l->bits <= bits && has_feature(features, l->needs);
}

const tr_vmrow *tr_vmath_find(const char *name, bool f32, bool fast, char family) {
    assert((family == families[0].letter || family == families[1].letter) && "one of two families");
    const tr_vmrow *exact = NULL;
    for (unsigned i = 0; i < tr_vmath_nrows; i++) {
        const tr_vmrow *r = &tr_vmath_rows[i];
        if (r->f32 != f32 || strcmp(r->name, name) != 0 || !strchr(r->families, family))
            continue;
        if (r->fast && fast)
            return r;
        if (!r->fast)
            exact = r;
    }
    return exact;
}

static void spell(const tr_vmrow *r, char family, unsigned lanes, const char *isa, char out[TR_VM_NAME]) {
    size_t i = families[0].letter == family ? 0 : 1;
    assert(families[i].letter == family && strchr(r->families, family) && "the row holds for the family");
    assert(lanes > 0 && (lanes & (lanes - 1)) == 0 && "a vector has a power of two of lanes, a number one");
    int n = snprintf(out, TR_VM_NAME, "%s%s%s%c%u_%s%s",
                     r->own      ? "tr_vk_"
                     : r->mended ? "tr_vm_"
                                 : "Sleef_",
                     r->own ? "" : families[i].prefix, r->name, r->f32 ? 'f' : 'd', lanes, r->accuracy,
                     isa ? isa : families[i].twin);
    assert(n > 0 && n < TR_VM_NAME && "there is room for the name");
    (void)n;
}

void tr_vmath_twin(const tr_vmrow *r, char family, char out[TR_VM_NAME]) {
    spell(r, family, 1, NULL, out);
}

void tr_vmath_variant(const tr_vmrow *r, const tr_vmlevel *l, char out[TR_VM_NAME]) {
    spell(r, l->family, tr_vmath_lanes(r, l), l->isa, out);
}
