/* Programs of the host's whose arrays lie on a device (opt/offload.c): what they ask of it, by their host.
 *
 * A block has a header of the host's, which is counted and linked into the frame like any other; its data lie
 * where the host says. Cost: a malloc, beside what the device takes. */
#include <assert.h>
#include <stdlib.h>

#include "rt/fns.h"
#include "rt/rt.h"

void *tr_rt_far_alloc(tr_frame *f, uint64_t bytes) {
    assert(f->host && f->host->far_alloc && "who runs such a program has a device");
    tr_mem *m = tr_rt_alloc(f, 0);
    tr_far *far = m ? f->host->far_alloc(f->host->self, bytes) : NULL;
    if (!far) {
        if (m)
            tr_rt_free(f, m);
        return NULL;
    }
    m->far = far;
    m->at = far->at;
    return m;
}

int32_t tr_rt_far_launch(tr_frame *f, void *late, const void *slots, int64_t n) {
    assert(f->host && f->host->far_launch && "who runs such a program has a device");
    return f->host->far_launch(f->host->self, late, slots, (uint32_t)n);
}

int32_t tr_rt_far_fetch(tr_frame *f, void *to, const void *from, int64_t bytes) {
    assert(f->host && f->host->far_fetch && "who runs such a program has a device");
    return f->host->far_fetch(f->host->self, to, from, (uint64_t)bytes);
}
