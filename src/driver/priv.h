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
/* lines.c: the functions of what is compiled, each where it stands now; in the arena. False: there are none,
 * or lines that no file has, and nothing is kept. */
typedef struct tr_lines {
    tr_mfunc *funcs;
    uint32_t n, root;
} tr_lines;
bool tr_driver_lines(tr_prog *p, const tr_request *rq, tr_lines *out);
/* Tells what is kept of them, with how far each goes. */
void tr_driver_keep_lines(const tr_prog *p, const tr_request *rq, const tr_lines *lines, tr_meta *meta);
/* Places of a program that was a text with the module `of`, to where its functions stand now. */
void tr_driver_move_text(tr_prog *p, const tr_meta *of);

/* late.c: adds the texts of all late code of a module to those of the module. False: `why` says why. */
bool tr_driver_late_texts(const tr_module *m, const tr_want *want, char *why, size_t n);

/* stack.c: has this thread's stack room for a compile? */
bool tr_driver_has_room(void);
/* Runs work(arg) on a thread that has, and waits. False: it could not be started. */
bool tr_driver_elsewhere(void *(*work)(void *), void *arg);

/* kernel.c: puts a kernel's root over the typed program, whose root becomes a callee. False with an error. */
bool tr_driver_kernel(tr_prog *p, const tr_kernel *k, const tr_ty **ret);

#endif
