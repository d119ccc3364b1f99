/* Control-flow simplification: the work is ir/'s, because building and inlining need it too. */
#include "opt/priv.h"

bool tr_opt_simplify(tr_prog *p, tr_fn *f) {
    (void)p;
    return tr_simplify_cfg(f);
}
