/* LLVM's passes for a module: our own short list, "REC". It takes about half the time of LLVM's default<O3>
 * and gives the same code on nearly all kernels. Each choice was measured:
 * - full unrolling stays: short loops of constant length are common
 * - so does loop-rotate, for the loops of patterns and heads that inlining made small: on those that
 *   opt/scalar/rotate.c has turned it costs nothing
 * - so does the second instcombine: without it a large function takes 1.5 % fewer instructions to
 *   compile, but one of 296 test programs grew by a fifth (pagerank)
 * - unswitching of a loop on an invariant test inside it is left out: our own passes have taken index
 *   checks out of loops already, and on the checked copies of loops it multiplies code without use (a
 *   matrix product took twice as long)
 * - runtime unrolling is left out: it doubles the time of code generation and slows loops of branches
 *   down; loop-unroll is there for loops that lowering has marked (lower/loops.c)
 * - the SLP pass is for complex arithmetic alone, a quarter faster with it; a convex hull over pairs of
 *   floats took twice as long, and it costs a twentieth of the time
 * - LLVM makes a switch of tests of one integer, in which its vectoriser (until LLVM 20) sees no loop it
 *   could do: between the halves jit/choices.c makes tests of short ones again, where there are any
 * - behind the vectoriser stands licm: what it found to be the same in all lanes, a filter's weights, is
 *   read in front of the loop once its tests of overlap are made
 * - there, too, jit/wraps.c hides indices that wrap from a fault of the vectoriser's
 * - instcombine's fixpoint is neither sought nor verified: a failed verification would end the process
 * The text is constant, because LLVM reports a wrong one at run time. */
#ifndef TR_JIT_PIPELINE_H
#define TR_JIT_PIPELINE_H

enum { TR_REC_VERSION = 18 }; /* raise it with every change below; `python -m treadle info` shows it */

#define TR_REC_CFG_EARLY                                                                                  \
    "simplifycfg<bonus-inst-threshold=1;no-forward-switch-cond;switch-range-to-icmp;no-switch-to-lookup;" \
    "keep-loops;no-hoist-common-insts;no-sink-common-insts;speculate-blocks;simplify-cond-branch>"
#define TR_REC_CFG_LATE                                                                             \
    "simplifycfg<bonus-inst-threshold=1;forward-switch-cond;switch-range-to-icmp;switch-to-lookup;" \
    "no-keep-loops;hoist-common-insts;sink-common-insts;speculate-blocks;simplify-cond-branch>"
#define TR_REC_COMBINE "instcombine<max-iterations=1;no-verify-fixpoint>"

/* Until loops are as simple as they get; then vectors. */
#define TR_REC_FIRST                                                                            \
    "sroa,early-cse<memssa>," TR_REC_CFG_EARLY "," TR_REC_COMBINE ","                           \
    "loop-mssa(loop-rotate,licm,simple-loop-unswitch)," TR_REC_CFG_EARLY "," TR_REC_COMBINE "," \
    "loop(loop-idiom,indvars,loop-deletion,loop-unroll-full),"
/* Where loops of few rounds with branches were unrolled in others: the loop around them is straight
 * code for the vectoriser only without the branches that are constant now, and with what does not
 * vary out of it again (a loop over the eight neighbours of cells is ten times as fast). Elsewhere
 * it would cost a quarter for nothing. */
#define TR_REC_NESTED TR_REC_CFG_EARLY ",loop-mssa(licm),"
/* Which way a power by an integer is computed is often the same in all rounds: then each way
 * has a loop, and vectors, of its own. */
#define TR_REC_POWERS  "loop-mssa(simple-loop-unswitch<nontrivial>),"
#define TR_REC_VALUES  "gvn"
#define TR_REC_VECTORS "loop-vectorize,"
/* What a loop reads that the round before has stored comes in a register, where tests in front of
 * the loop find the other arrays apart. */
#define TR_REC_CARRIED "loop-load-elim,"
#define TR_REC_SECOND                                                                \
    "loop-mssa(licm),loop-unroll<O2;no-runtime;no-partial;no-peeling;no-upperbound>" \
    "," TR_REC_COMBINE "," TR_REC_CFG_LATE
#define TR_REC_PAIRS ",slp-vectorizer,vector-combine"

/* opt_level 3: LLVM's default<O3> as it goes on from where it could stop for a linker, in its order. */
#define TR_O3_NESTED "loop(loop-unroll-full)," TR_REC_NESTED TR_REC_COMBINE
#define TR_O3_SECOND                                                                  \
    "loop-vectorize," TR_REC_COMBINE ",slp-vectorizer,vector-combine," TR_REC_COMBINE \
    ",loop-unroll<O3>," TR_REC_COMBINE ",loop-mssa(licm)," TR_REC_CFG_LATE

/* A module with calls: callees are cleaned up a little, then inlined where that pays. */
#define TR_REC_INLINE \
    "function<eager-inv>(sroa,early-cse<memssa>," TR_REC_CFG_EARLY "," TR_REC_COMBINE "),cgscc(inline),"

/* Before stores of vectors are marked (jit/nontemporal.c): where they are known to lie. */
#define TR_ALIGNED "function<eager-inv>(infer-alignment)"

/* Stubs (opt_level 0): nothing worth waiting for. */
#define TR_REC_STUB "function(early-cse)"

#endif
