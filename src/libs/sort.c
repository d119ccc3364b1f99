/* Sorting on the host's cores. Cost: what rt/radix.c says. */
#include "libs/sort.h"

#include "rt/rt.h"

int32_t tr_sort_run(void *call, const tr_dev_at *at) {
    const tr_sort_call *c = call;
    tr_frame f;
    int32_t code;
    tr_rt_frame_init(&f, at->host);
    if (c->ends)
        code = tr_rt_radix_segments(&f, &c->what, c->ends, c->many);
    else if (c->k < c->what.n)
        code = tr_rt_radix_select(&f, &c->what, c->k);
    else
        code = tr_rt_radix_sort(&f, &c->what);
    tr_rt_frame_fini(&f);
    return code;
}
