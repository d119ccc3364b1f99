/* PTX for the fake driver (cuda.h): kernels really run, one thread after the other. ptx_parse.c,
 * ptx_decl.c and ptx_code.c make code of a text, ptx_run.c runs a thread, ptx_block.c threads that meet,
 * blocks that wait for each other, and a grid.
 *
 * What Treadle's compiler makes of programs is known, and what one may write by hand beside it; all else is
 * refused when the text is loaded, by its line. */
#ifndef TR_FAKE_PTX_H
#define TR_FAKE_PTX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Statuses of the driver's that a launch ends with. */
enum {
    PTX_ILLEGAL_ADDRESS = 700,
    PTX_TIMEOUT = 702, /* nobody can go on, or it takes too long */
    PTX_ILLEGAL_INSTRUCTION = 715,
    PTX_MISALIGNED = 716,
    PTX_FAILED = 719 /* trap */
};

/* The device's memory, and what of the host's it may touch. Memory of the device at an
 * address lies at `host` + (address - at). */
typedef struct ptx_memory {
    uint64_t at, bytes;
    char *host;
    const uint8_t *live; /* of each 2^PTX_GRAIN bytes: are they allocated? */
    void *(*other)(void *self, uint64_t at, size_t bytes); /* NULL: nothing is there */
    void *self;
} ptx_memory;
enum { PTX_GRAIN = 9 };

typedef struct ptx_launch {
    unsigned grid[3], block[3], shared;
    const unsigned char *params;
    size_t bytes;
    ptx_memory memory;
} ptx_launch;

/* Where kernels print; NULL: to standard output at once. */
extern FILE *ptx_out;

typedef struct ptx_module ptx_module;
typedef struct ptx_fn ptx_fn;

/* NULL, with what is wrong and where. */
ptx_module *ptx_load(const char *text, char *msg, size_t room);
void ptx_unload(ptx_module *m);
/* A kernel by its name; NULL: there is none. */
const ptx_fn *ptx_entry(const ptx_module *m, const char *name);
size_t ptx_params(const ptx_fn *f); /* bytes of its parameters */
/* Can it be launched so? */
bool ptx_fits(const ptx_fn *f, const ptx_launch *l);
/* Runs a kernel to its end: 0, or a status. `steps`: how many instructions that took. */
int ptx_run(const ptx_fn *f, const ptx_launch *l, uint64_t *steps);

#endif
