/* What the files of driver/ share. */
#ifndef TR_DRIVER_PRIV_H
#define TR_DRIVER_PRIV_H

#include "driver/driver.h"

/* key.c: what the caller hashed of the program, and everything else that changes the code. */
void tr_driver_key(const tr_prog *p, const tr_request *rq, tr_hash *out);
/* backend.c: path of libtreadle_llvm.so as it would be opened, "" when there is none. */
void tr_driver_backend_path(char *out, size_t n);

/* report.c: rows of base/remarks.h: the types that inference found; at the end the rest, and then all of them
 * go into the dump. vectors: the back end has told which it made for the host. */
void tr_driver_tell_types(tr_prog *p);
void tr_driver_report(tr_prog *p, bool vectors);

/* late.c: adds the texts of all late code of a module to those of the module. False: `why` says why. */
bool tr_driver_late_texts(const tr_module *m, const tr_want *want, char *why, size_t n);

/* stack.c: has this thread's stack room for a compile? */
bool tr_driver_has_room(void);
/* Runs work(arg) on a thread that has, and waits. False: it could not be started. */
bool tr_driver_elsewhere(void *(*work)(void *), void *arg);

/* kernel.c: puts a kernel's root over the typed program, whose root becomes a callee. False with an error. */
bool tr_driver_kernel(tr_prog *p, const tr_kernel *k, const tr_ty **ret);

#endif
