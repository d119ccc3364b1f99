/* The thread pool's functions of the package itself: get_num_threads, get_thread_id, set_num_threads. */
#include "lib/fam.h"
#include "lib/families.h"

/* aux: the row of rt.def that gives the number. */
bool tr_lib_threads_get(tr_em *e, const tr_bcall *c, tr_tv *out) {
    *out = tr_em_callrt(e, (tr_rt)c->aux, tr_fam_ty(e, TR_TY_I64), NULL, 0, NULL);
    return true;
}

bool tr_lib_threads_set(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv n;
    if (!tr_fam_int(e, c, c->a[0], "the number of threads", &n))
        return false;
    tr_tv ok = tr_em_callrt(e, TR_RT_SET_NUM_THREADS, tr_fam_ty(e, TR_TY_BOOL), NULL, 1, &n);
    tr_em_check(e, ok, TR_EXC_VALUE, "the number of threads must be between 1 and the pool's size, not {0}",
                1, &n);
    *out = tr_em_none(e);
    return true;
}
