/* The pipeline: snapshot in, code module out. driver/compile.c shows it on one screen. */
#ifndef TR_DRIVER_DRIVER_H
#define TR_DRIVER_DRIVER_H

#include "code/code.h"
#include "ir/prog.h"
#include "jit/backend.h"

/* A root around the user's function, for the inner loops of ufuncs (driver/kernel.c). It takes the operands
 * as arrays, inputs first, and returns nothing; the first axis of each runs over the loop. MAP: contiguous
 * 1-d arrays; the function takes one element of each input. An output may share memory with an input only
 * element for element. CHAIN: two inputs and an output o: o[i] = f(o[i - 1], b[i]), where a[0] stands for
 * o[-1]. CORE: the function takes a view of each operand, outputs included, or an element where it wants a
 * scalar. */
typedef enum tr_kernelk { TR_KERNEL_MAP, TR_KERNEL_CHAIN, TR_KERNEL_CORE } tr_kernelk;
typedef struct tr_kernel {
    uint8_t kind; /* tr_kernelk */
    uint8_t nin, nout;
    uint8_t core[TR_MAX_OPERANDS]; /* CORE: axes of each operand beside the first */
    uint32_t once;                 /* MAP: inputs of one item, the same for all, a bit each */
} tr_kernel;

/* What a caller asks for: code, or the text of a stage. */
typedef struct tr_request {
    uint32_t nargs;
    const tr_ty *const *args;
    const tr_ty *ret; /* declared return type or NULL */
    /* NULL: the function itself is the root; else `args` and `ret` are the function's, not the root's */
    const tr_kernel *kernel;
    tr_stage upto; /* TR_STAGE_TIME: all the way to code */
    tr_want want;  /* texts of the back end */
    /* code for another target than the host, as tr_target_find has its names; NULL: code to run here */
    const char *device;
    uint8_t kind;   /* tr_fnkind, with a device: KERNEL or DEVICE */
    bool text_only; /* with a device: there will be no module */
    tr_sb *code;    /* with that: where the device's text goes; NULL: only those of `want` are asked for */
    const tr_binding *bind; /* data of frozen arrays */
    size_t nbind;
    const char *cache_dir; /* NULL: no cache */
    tr_hash key;           /* with cache_dir */
    /* May whoever asks be given such a result? NULL: any. Asked of what the cache holds, where no is a miss,
     * and of a program before it is compiled and kept, where no is a failure that the callback reports. It
     * may name another type of the same parts, by which whoever asks knows the result. */
    bool (*accept)(void *self, const tr_ty **ret, bool report);
    void *self;
    const tr_mlate
        *late;         /* a function that is late code: read instead of what the program holds; else NULL */
    const char *large; /* a function to be compiled anew (tr_meta.large): likewise */
    const char *far;   /* with a device: its kernel, left out of code of the host's: likewise */
    const tr_meta *of; /* with one of these: what the code is part of */
} tr_request;

/* Result of a compile; ret (of the function, with a kernel too) and module outlive the context (types: when
 * not local). */
typedef struct tr_compiled {
    tr_module *module; /* one reference, the caller's */
    const tr_ty *ret;
    bool from_cache;
} tr_compiled;

/* ctx->oom is set here: on lack of memory reports MEMORY. Needs no GIL. */
bool tr_compile(tr_prog *p, const tr_request *rq, tr_compiled *out);
/* The passes that TREADLE_SKIP and TREADLE_DUMP=opt:PASS name exist; else false with a message that lists
 * them. */
bool tr_driver_check_dump(const tr_dump *d, char *msg, unsigned size);
/* Compiles late code if nobody did before; its entry, or NULL, in which case l->why says why, or is NULL:
 * there was no memory. Holds nothing that waits for another thread of the host's, so it may be called with
 * the GIL and without. */
void *tr_driver_late(tr_late *l, const tr_dump *dump);
/* The function of a module with tr_meta.large compiled anew from that: a module of its own, one reference.
 * NULL: `why` says why, or is empty: there was no memory. Likewise. */
tr_module *tr_driver_large(const tr_module *m, const tr_dump *dump, char *why, size_t n);
/* Compiles the kernel behind a cell for a device, in a context and a program that the caller has begun and
 * ends; its arguments are those of the program's root then. One reference; NULL with errors in c. */
tr_module *tr_driver_far(const tr_late *l, const char *device, tr_ctx *c, tr_prog *p);
/* For a host that may fork: from now on fork() waits for such compiles. Before the first of them. */
void tr_driver_watch_forks(void);
/* Path of NVIDIA's libdevice in the CUDA toolkit that CUDA_HOME names, or else that whose ptxas is on
 * PATH; NULL: there is none. */
const char *tr_driver_libdevice(tr_ctx *ctx);
/* Opens libtreadle_llvm.so once (thread-safe), from `dir`; NULL with a message. */
const tr_backend *tr_backend_load(const char *dir, char *err, size_t errn);

#endif
