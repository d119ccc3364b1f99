/* Which bit generator a np.random.Generator has: any, or one whose state is known (rt/gen.h); forms of the kind GENERATOR (ty/kinds.def). */
#ifndef TR_BASE_BITS_H
#define TR_BASE_BITS_H

enum { TR_GEN_ANY, TR_GEN_PCG64, TR_GEN_MT19937, TR_GEN_SFC64, TR_GEN__KINDS };

#endif
