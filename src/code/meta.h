/* What a code module needs beside its machine code: raise sites (for exceptions) and frozen arrays (to bind).
 * Plain data that code/cache.c writes and reads. */
#ifndef TR_CODE_META_H
#define TR_CODE_META_H

#include <stdint.h>

#include "base/err.h"
#include "base/opts.h"
#include "rt/site.h"

/* A part that is compiled when it is first reached: its function in the IR's text. */
typedef struct tr_mlate {
    const char *text;
} tr_mlate;

/* One function of the program, and where its code stands. A key of the cache knows no first lines, so a file
 * that has changed above a function finds what was made before: places of sites are in the lines of `now`,
 * those in texts of what is compiled later in those of `first`, until that is compiled. */
typedef struct tr_mfunc {
    const char *file, *fn;
    int32_t first, last, now; /* at most TR_MAX_LINE */
} tr_mfunc;
enum { TR_MAX_LINE = INT32_MAX / 4 }; /* of a file: sums of two are none too large */

typedef struct tr_meta {
    uint32_t nsites;
    /* raise sites and call sites share the numbers: tr_entry returns 1 + index; frame->trace holds indices */
    tr_msite *sites;
    uint32_t narrays;  /* symbols "tr_arr_0" ... are bound to the data of the program's frozen arrays */
    const char *entry; /* "tr_entry"; of a device its kernel's name */
    const char *ret;   /* result type in the IR's text, for boxing a result that came from the cache */
    /* Where lists are among the parameters: types that these have, in the IR's text, as a tuple's ("none" for
     * one without a list), and a character for each: 'w' where the function may change items, 'g' where also
     * their number. NULL: there are none. */
    const char *takes, *writes;
    const char *title; /* "f(float64[:])" for GDB, perf and error texts */
    uint32_t nlate;    /* symbols "tr_late_0" ... are bound to their cells */
    tr_mlate *late;    /* for these: */
    /* the function's text, to be compiled anew when it has made an array of TR_LARGE bytes;
     * NULL: that is not worth it */
    const char *large;
    tr_opts opts;
    uint32_t nfuncs; /* 0: nobody keeps the code */
    tr_mfunc *funcs;
    uint32_t root;      /* of these: what the code is of */
    bool says_lines;    /* the code or its texts hold the numbers of lines, so they may not change */
    bool cooperative;   /* a kernel whose blocks wait for each other: all of them run at once */
    bool atomic_counts; /* threads may count references of one block at the same time */
} tr_meta;

/* The functions' first lines are `now` of these: places move with them. False where that cannot be: another
 * number of functions, code that says lines, or lines of which nobody can tell which function they are of. */
bool tr_meta_move(tr_meta *m, const tr_mfunc *as, uint32_t n);
/* Moves a place from the lines of `first` to those of `now`; false where no function has it. */
bool tr_place_move(const tr_mfunc *funcs, uint32_t n, tr_place *p);

#endif
