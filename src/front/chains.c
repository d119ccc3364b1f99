/* Which names, and which attributes of them, the code reads: what a snapshot must resolve
 * while it holds the GIL. */
#include "front/internal.h"

bool tr_front_chains(tr_ctx *ctx, const tr_code *c, tr_front_chain_cb cb, void *user, uint32_t *loops) {
    tr_decoded d;
    *loops = 0;
    if (!tr_front_decode(ctx, c, &d))
        return false;
    TR_VEC(const char *) attrs = {0};
    for (uint32_t i = 0; i < d.n; i++) {
        const tr_bc *b = &d.ins[i];
        uint32_t arg = (uint32_t)b->arg;
        *loops += b->op == TR_N_FORITER;
        bool is_global = b->op == TR_N_GLOBAL && arg < c->nnames;
        bool is_free = (b->op == TR_N_LOADDEREF || b->op == TR_N_LOAD) && arg < c->nlocalsplus &&
                       (c->kinds[arg] & KIND_FREE);
        if (!is_global && !is_free)
            continue;
        attrs.n = 0;
        for (uint32_t k = i + 1; k < d.n; k++) {
            if (d.ins[k].op == TR_N_PUSHNULL || d.ins[k].op == TR_N_SWAP)
                continue; /* a method call's place holder */
            if (d.ins[k].op != TR_N_ATTR || (uint32_t)d.ins[k].arg >= c->nnames)
                break;
            tr_vec_push(&ctx->arena, &attrs, c->names[d.ins[k].arg]);
        }
        cb(user, is_free, arg, attrs.d, attrs.n);
    }
    return true;
}
