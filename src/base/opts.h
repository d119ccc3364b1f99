/* Every option that changes generated code, in one struct. It is frozen into each compilation and hashed into the
 * cache key field by field (code/cache.c), so a new option is a row here and nothing else can influence a compile. */
#ifndef TR_BASE_OPTS_H
#define TR_BASE_OPTS_H

#include <stdbool.h>
#include <stdint.h>

/* Fast-math flags, names as LLVM's. */
#define TR_FASTMATH(X)         \
    X(NNAN, "nnan", 0)         \
    X(NINF, "ninf", 1)         \
    X(NSZ, "nsz", 2)           \
    X(ARCP, "arcp", 3)         \
    X(CONTRACT, "contract", 4) \
    X(AFN, "afn", 5)           \
    X(REASSOC, "reassoc", 6)
enum {
#define X(id, name, bit) TR_FM_##id = 1u << (bit),
    TR_FASTMATH(X)
#undef X
        TR_FM_ALL = 127u
};

/* Processors that code can be made for, beside this machine's own: levels of the x86-64 ABI. */
#define TR_CPUS(X)    \
    X(1, "x86-64")    \
    X(2, "x86-64-v2") \
    X(3, "x86-64-v3") \
    X(4, "x86-64-v4")

/* X(field, C type, default). All integers so that hashing and comparing need no cases. */
#define TR_OPTS(X)                                                                                         \
    X(fastmath, uint8_t, 0)      /* set of TR_FM_* */                                                      \
    X(boundscheck, uint8_t, 1)   /* indices are checked; where that is proven or moved: opt/bounds.c */    \
    X(error_numpy, uint8_t, 0)   /* error_model="numpy": division by zero gives inf/nan/0 */               \
    X(promote_numba, uint8_t, 0) /* promotion="numba" */                                                   \
    X(inline_always, uint8_t, 0) /* inline="always" */                                                     \
    X(parallel, uint8_t, 0)      /* parallel=True: array expressions and prange loops on all cores */      \
    X(debug, uint8_t, 0)         /* line tables, frame pointers, GDB and perf registration */              \
    X(nogil, uint8_t, 0)         /* call without the GIL; does not change code but the entry's contract */ \
    X(opt_level, uint8_t, 2)     /* 0: code-generation level 0 (stubs), 2: REC, 3: LLVM's default<O3> */   \
    X(cpu, uint8_t, 0)           /* 0: this machine; 1 to 4: a level of the x86-64 ABI, see TR_CPUS */     \
    X(plant, uint8_t, 0)         /* test builds: which planted miscompile is on (0 = none) */

typedef struct tr_opts {
#define X(field, type, dflt) type field;
    TR_OPTS(X)
#undef X
} tr_opts;

#define TR_OPTS_DEFAULT_FIELD(field, type, dflt) .field = (dflt),
#define TR_OPTS_DEFAULT                \
    (tr_opts) {                        \
        TR_OPTS(TR_OPTS_DEFAULT_FIELD) \
    }

#endif
