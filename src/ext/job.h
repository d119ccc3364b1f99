/* One compilation: a function, argument types, and all that lives from the snapshot to the code module. */
#ifndef TR_EXT_JOB_H
#define TR_EXT_JOB_H

#include "ext/freeze.h"
#include "ext/function.h"

typedef struct tr_job {
    tr_state *st;
    tr_function *f;
    tr_ctx ctx;
    tr_prog prog;
    tr_frozen frozen;
    const tr_argk *pats; /* what the argument types are made from; NULL: they are given */
    const tr_ty **args;
    uint32_t n;
    TR_VEC(const tr_ty *) hands; /* what functions of the result were, by their number: hands.h */
    Py_ssize_t nroot;            /* what the function itself reaches: the first so many of frozen.keep */
    tr_request rq;
    char *cache_dir; /* malloc'ed */
    tr_compiled out;
} tr_job;

/* A job for the types of `pats`, or, where that is NULL, for `args`. NULL with an exception. */
tr_job *tr_job_new(tr_function *f, const tr_argk *pats, const tr_ty *const *args, uint32_t n,
                   const tr_ty *ret);
/* Snapshot and compile. On failure the exception is set. Lets go of the GIL in between. */
bool tr_job_run(tr_job *j);
/* From now on the job fails, with a TypingError, where its result has no type that Python can be given. */
void tr_job_for_python(tr_job *j);
/* Runs the job for the text of a stage: TR_STAGE_INFER, OPT, PARALLEL (with what fusion says), LLVM, LLVMOPT,
 * ASM. New reference to str. */
PyObject *tr_job_text(tr_job *j, tr_stage stage);
/* What running code and its results need of the snapshot: list of frozen arrays, classes of named tuples,
 * exceptions, Generators. */
PyObject *tr_job_keep(const tr_job *j);
/* Threads of the pool may run loops of others, which may ask for the GIL: who calls the
 * code holds it no longer. */
bool tr_job_lets_go(const tr_job *j);
void tr_job_free(tr_job *j);
/* ptx.c: loads the kernel that the job has compiled, on the device. False with an
 * exception; the module is gone then. */
bool tr_devcode_load(tr_job *j);
/* The same for the root of a program that was compiled to this module; f: of whom a failure tells. */
bool tr_devcode_load_far(tr_ctx *c, const tr_prog *p, tr_module *m, struct tr_dev *d, tr_function *f);

#endif
