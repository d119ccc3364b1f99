/* Typed IR to an LLVM module: the folder's one door, used by jit/ alone. */
#ifndef TR_LOWER_LOWER_H
#define TR_LOWER_LOWER_H

#include <llvm-c/Types.h>

#include "code/meta.h"
#include "ir/prog.h"
#include "target/target.h"

typedef struct tr_lower_want {
    const tr_target *target;
    unsigned vector_bits; /* preferred vector width, written on every function */
    unsigned math_bits;   /* the same for modules with vector math: calls pay where arithmetic does not */
    const char *features; /* of the processor, as LLVM writes them: which vector math it has */
    const bool *wanted;   /* TR_ABI_FLAT: per instance whether it is; NULL: all */
    tr_device_opts device;
    bool names; /* give LLVM values the user's names: only when someone will read the text */
} tr_lower_want;

/* What begins the name of a function of others where it is declared. */
#define TR_EXTERN_PREFIX "tr_extern."

/* What a module turned out to hold; it decides which of LLVM's passes pay. */
typedef struct tr_lower_made {
    bool calls;   /* more than one LLVM function: inlining comes first */
    bool complex; /* products of complex numbers: the SLP pass knows how to pair them */
    bool choices; /* several branches on whether an integer is a given one, of which LLVM makes a switch */
    bool nested;  /* loops of few rounds with branches, in others */
    bool carried; /* loops that read what the round before has stored */
    bool powers; /* powers by integers that the running program knows, perhaps one for all rounds of a loop */
    bool externs; /* calls of functions of others, which are linked (jit/bitcode.c) */
    bool wraps;   /* low bits of integers, which indices may be made of (jit/wraps.c) */
    /* TBAA tag of stores that are to go past the caches (jit/nontemporal.c); NULL: there are none */
    LLVMValueRef past;
} tr_lower_made;

/* Fills the empty module `mod` (context, triple and data layout set by the caller) with every instance that
 * the root reaches and the entry "tr_entry"; for a target without slots (tr_abi) with every instance that is
 * wanted (tr_lower_want), under names of their own. False with errors in p->ctx. May jump to ctx's handler
 * without memory: no LLVM frame stands above that call, so the caller need only dispose of the context. */
bool tr_lower_program(tr_prog *p, LLVMContextRef lc, LLVMModuleRef mod, const tr_lower_want *want,
                      tr_lower_made *made, tr_meta *meta);

#endif
