/* Which device does a routine of BLAS. */
#include "libs/blas.h"

#include <string.h>

int32_t tr_blas_run(void *call, const tr_dev_at *at) {
    tr_blas_call *c = call;
    int32_t code = at->device->ops->load ? tr_blas_there(c, at) : tr_blas_here(c);
    if (!code && c->result)
        memcpy(c->result, c->number, sizeof c->number);
    return code;
}
