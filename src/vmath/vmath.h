/* Vector math: which functions have vector variants on this machine, their names, and where they are.
 *
 * A function of math is one *row* (name, type, accuracy) of vmath_x86_64.def. On a given machine it stands
 * for one scalar function, the twin, and a vector variant per level the machine has. Twin and variants give
 * the same bits for the same arguments, so a value never depends on where in a loop it was computed. The
 * names belong to SLEEF ("Sleef_finz_sind8_u10avx512f"), to a wrapper of ours round such a function
 * ("tr_vm_finz_sinhd8_u10avx512f") or to a kernel of ours ("tr_vk_expd8_u10avx512f"). names.c is pure and
 * cheap; symbols.c opens SLEEF when the first of these names is looked up. */
#ifndef TR_VMATH_VMATH_H
#define TR_VMATH_VMATH_H

#include <stdbool.h>
#include <stddef.h>

typedef struct tr_vmrow {
    const char *name, *accuracy;
    unsigned arity;
    bool f32, fast, mended, own;
    const char *families; /* letters of those where the row holds */
} tr_vmrow;

typedef struct tr_vmlevel {
    const char *isa;
    char family;
    unsigned bits;
    const char *needs;
} tr_vmlevel;

enum { TR_VM_NAME = 64 /* room that a name takes at most */ };

extern const tr_vmrow tr_vmath_rows[];
extern const unsigned tr_vmath_nrows;
extern const tr_vmlevel tr_vmath_levels[]; /* widest first */
extern const unsigned tr_vmath_nlevels;

/* Family of a machine with these LLVM features: 'f' or 'c'. */
char tr_vmath_family(const char *features);
/* May code for a machine with these features, whose vectors have at most `bits`, use the level? */
bool tr_vmath_has(const tr_vmlevel *l, const char *features, unsigned bits);
/* The row for a function, or NULL: libm's. fast: the fast row where there is one. */
const tr_vmrow *tr_vmath_find(const char *name, bool f32, bool fast, char family);
/* Lanes of a vector at a level. */
static inline unsigned tr_vmath_lanes(const tr_vmrow *r, const tr_vmlevel *l) {
    return l->bits / (r->f32 ? 32 : 64);
}
void tr_vmath_twin(const tr_vmrow *r, char family, char out[TR_VM_NAME]);
void tr_vmath_variant(const tr_vmrow *r, const tr_vmlevel *l, char out[TR_VM_NAME]);

/* Address of such a name, or NULL. *foreign: the name is none of these. Opens SLEEF. */
void *tr_vmath_symbol(const char *name, bool *foreign);

#endif
