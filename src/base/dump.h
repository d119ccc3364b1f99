/* TREADLE_DUMP, TREADLE_SKIP, TREADLE_VERIFY: what to print, which passes to leave out, whether to verify.
 *
 *   TREADLE_DUMP=front,infer,opt:bounds,llvm,asm@name     stages, a pass after "opt:", only functions named
 *                                                         `name`
 *   TREADLE_DUMP=help                                   lists the stages
 *   TREADLE_DUMP=time                                   one line per stage with its time
 * Parsed once per process into a tr_dump that the context carries; text goes to `sink` (stderr, or a buffer
 * for inspect_*()). */
#ifndef TR_BASE_DUMP_H
#define TR_BASE_DUMP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"

/* ORDER STAGE: the order in which a function passes through them. */
#define TR_STAGES(X)                                                                           \
    X(CODE, "code", "normalised bytecode")                                                     \
    X(FRONT, "front", "untyped SSA")                                                           \
    X(INFER, "infer", "typed SSA, Python's meaning made explicit")                             \
    X(OPT, "opt", "typed SSA after each pass, or after opt:PASS")                              \
    X(FUSE, "fuse", "which patterns were merged, and why others were not")                     \
    X(PARALLEL, "parallel", "which loops run on all cores, and what might be wrong with that") \
    X(EMULATION, "emulation", "how kernels run on the emulated device")                        \
    X(LOOPS, "loops", "the loops of each pattern, as a tree, as they are lowered")             \
    X(LLVM, "llvm", "the LLVM module before LLVM's passes")                                    \
    X(LLVMOPT, "llvmopt", "the LLVM module after LLVM's passes")                               \
    X(ASM, "asm", "assembly")                                                                  \
    X(REPORT, "report", "what all stages know of each line: types, loops, cores, checks ...")  \
    X(TIME, "time", "time of each stage")

typedef enum tr_stage {
#define X(id, name, help) TR_STAGE_##id,
    TR_STAGES(X)
#undef X
        TR_STAGE__COUNT
} tr_stage;

typedef struct tr_dump {
    uint32_t stages; /* set of 1 << tr_stage */
    char pass[32];   /* after "opt:"; empty = all passes */
    char only[64];   /* after "@"; empty = every function */
    char skip[128];  /* TREADLE_SKIP: comma-separated pass names */
    bool verify;     /* TREADLE_VERIFY=1, or a test build */
    bool help;
    bool keep; /* text stays in the context: for inspection */
} tr_dump;

/* Parses the two variables' texts (NULL allowed). False with a message in `msg` for an unknown stage. */
bool tr_dump_parse(tr_dump *d, const char *dump, const char *skip, const char *verify, char *msg,
                   unsigned msg_size);
void tr_dump_help(tr_sb *out);
bool tr_dump_wants(const tr_dump *d, tr_stage s, const char *pass, const char *fn);
bool tr_dump_skips(const tr_dump *d, const char *pass);

#endif
