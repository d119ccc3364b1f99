/* The compiler's stack: LLVM needs some hundred KiB, and more for a large function. Where the caller's nears
 * its end, as on a thread that was made with a small one or in a deep recursion, a thread of its own does the
 * work while the caller waits. */
#include <pthread.h>
#include <signal.h>

#include "driver/priv.h"
#include "rt/fns.h"

enum { ROOM = 2 << 20, STACK = 8 << 20 };

bool tr_driver_has_room(void) {
    uintptr_t here = (uintptr_t)__builtin_frame_address(0), limit = tr_rt_stack_limit();
    return here > limit && here - limit >= ROOM;
}

/* The thread takes no signals: those are for the one that waits for it. */
bool tr_driver_elsewhere(void *(*work)(void *), void *arg) {
    pthread_t t;
    pthread_attr_t a;
    sigset_t all, old;
    if (pthread_attr_init(&a))
        return false;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    bool ok = pthread_attr_setstacksize(&a, STACK) == 0 && pthread_create(&t, &a, work, arg) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&a);
    if (ok)
        pthread_join(t, NULL);
    return ok;
}
