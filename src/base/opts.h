/* Every option that changes generated code, in one struct. It is frozen into each compilation and hashed into
 * the cache key field by field (code/cache.c), so a new option is a row here and nothing else can influence a
 * compile. */
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

/* Mistakes of kernels that are looked for while they run, names as TREADLE_EMU_CHECK has them. Exits before a
 * barrier are told of, and no error. */
#define TR_WATCHES(X)        \
    X(BOUNDS, 0, "bounds")   \
    X(RACE, 1, "race")       \
    X(UNINIT, 2, "uninit")   \
    X(BARRIER, 3, "barrier") \
    X(EXIT, 4, "exit")
enum {
#define X(id, bit, name) TR_WATCH_##id = 1u << (bit),
    TR_WATCHES(X)
#undef X
};

/* Processors that code can be made for, as LLVM names them: this machine's own, the levels of the x86-64 ABI,
 * and the kinds that are about. */
#define TR_CPUS(X)                      \
    X(NATIVE, "native")                 \
    X(X86_64, "x86-64")                 \
    X(X86_64_V2, "x86-64-v2")           \
    X(X86_64_V3, "x86-64-v3")           \
    X(X86_64_V4, "x86-64-v4")           \
    X(NEHALEM, "nehalem")               \
    X(SANDYBRIDGE, "sandybridge")       \
    X(IVYBRIDGE, "ivybridge")           \
    X(HASWELL, "haswell")               \
    X(BROADWELL, "broadwell")           \
    X(SKYLAKE, "skylake")               \
    X(SKYLAKE_AVX512, "skylake-avx512") \
    X(CASCADELAKE, "cascadelake")       \
    X(COOPERLAKE, "cooperlake")         \
    X(ICELAKE_CLIENT, "icelake-client") \
    X(ICELAKE_SERVER, "icelake-server") \
    X(TIGERLAKE, "tigerlake")           \
    X(ROCKETLAKE, "rocketlake")         \
    X(ALDERLAKE, "alderlake")           \
    X(SAPPHIRERAPIDS, "sapphirerapids") \
    X(EMERALDRAPIDS, "emeraldrapids")   \
    X(GRANITERAPIDS, "graniterapids")   \
    X(SIERRAFOREST, "sierraforest")     \
    X(ZNVER1, "znver1")                 \
    X(ZNVER2, "znver2")                 \
    X(ZNVER3, "znver3")                 \
    X(ZNVER4, "znver4")                 \
    X(ZNVER5, "znver5")
enum {
#define X(id, name) TR_CPU_##id,
    TR_CPUS(X)
#undef X
        TR_CPU__COUNT
};

/* X(field, C type, default). All integers so that hashing and comparing need no cases. First what each
 * function has of its own, whoever calls it (a plain one has its caller's) ... */
#define TR_OWN_OPTS(X)                                                                                       \
    X(fastmath, uint8_t, 0)    /* set of TR_FM_* */                                                          \
    X(boundscheck, uint8_t, 1) /* indices are checked; where that is proven or moved: opt/scalar/bounds.c */ \
    X(error_numpy, uint8_t, 0) /* error_model="numpy": division by zero gives inf/nan/0 */                   \
    X(promote_numba, uint8_t, 0) /* promotion="numba" */                                                     \
    X(inline_always, uint8_t, 0) /* inline="always" */                                                       \
    X(parallel, uint8_t, 0) /* parallel=True: prange loops on all cores; the root's: array expressions too */
/* ... then what holds for a compilation as a whole: the root's. */
#define TR_ROOT_OPTS(X)                                                                                      \
    X(debug, uint8_t, 0)     /* line tables, frame pointers, GDB and perf registration */                    \
    X(nogil, uint8_t, 0)     /* call without the GIL; does not change code but the entry's contract */       \
    X(opt_level, uint8_t, 2) /* 0: code-generation level 0 (stubs), 2: REC, 3: LLVM's default<O3> */         \
    X(cpu, uint8_t, 0)       /* TR_CPU_*: the processor to make code for */                                  \
    X(watch, uint8_t, 0) /* of a launch: a set of TR_WATCH_*, what of it is looked for (opt/grid/watch.c) */ \
    X(account, uint8_t, 0) /* the root's last param is told what moves through memory (opt/account.c) */     \
    X(offload, uint8_t, 0) /* tr_offload: arrays lie on a device, where loops run (opt/offload.c) */         \
    X(seed, uint32_t, 0) /* of a launch: 0, or how its blocks and threads are permuted (opt/grid/grid.c) */  \
    X(plant, uint8_t, 0) /* test builds: which planted miscompile is on (0 = none) */
#define TR_OPTS(X) TR_OWN_OPTS(X) TR_ROOT_OPTS(X)

/* Which device the arrays of a program lie on: none, the emulated one, whose kernels are the host's code, one
 * with code of its own. */
typedef enum tr_offload { TR_OFFLOAD_NO, TR_OFFLOAD_HERE, TR_OFFLOAD_OWN } tr_offload;

/* What a program with `account` stores to its log: four words each, this and what it says. */
typedef enum tr_account {
    TR_ACCOUNT_KERNEL, /* a loop or a call: its form, bytes read, bytes written; then */
    TR_ACCOUNT_NODE,   /*   the lines that it is made of, each */
    TR_ACCOUNT_MAKE,   /* an array is made: its number, bytes */
    TR_ACCOUNT_USE     /* the loop or call before goes over an array: its number, bytes */
} tr_account;
enum { /* a form is a set of */
       TR_ACCOUNT_MAP = 1,
       TR_ACCOUNT_REDUCE = 2,
       TR_ACCOUNT_SCAN = 4,
       TR_ACCOUNT_FILTER = 8,
       TR_ACCOUNT_SCATTER = 16,
       TR_ACCOUNT_TOP = 32,
       TR_ACCOUNT_CALL = 64
};

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
