/* Code that is compiled when it is first reached: where generated code gets its address. Any thread may be
 * the first. */
#include <assert.h>
#include <stdatomic.h>

#include "rt/fns.h"

/* Stands in where compiling failed. Its caller passes more; that is not looked at. */
static int32_t failed(void) {
    return TR_CODE_LATE;
}

void *tr_rt_late(tr_frame *f, void *late) {
    tr_late *l = late;
    void *entry = atomic_load_explicit(&l->entry, memory_order_acquire);
    if (!entry && f->host && f->host->compile)
        entry = f->host->compile(f->host->self, l);
    f->within = l; /* until it returns */
    return entry ? entry : (void *)(uintptr_t)failed;
}

int64_t tr_rt_class(const tr_frame *f, int64_t site, const uint16_t *table) {
    assert(site >= 0 && (!f->late || f->late->classes) && "a raise site, of code that has classes");
    return f->late ? f->late->classes[site] : table[site];
}

/* An exception came out of it. It calls nothing that is compiled, so the trace begins with its caller. */
void tr_rt_late_raised(tr_frame *f, void *late) {
    f->late = late;
    f->within = NULL;
}
