/* Code modules: relocatable objects loaded into memory, kept on disk, named for GDB and perf. No LLVM. */
#ifndef TR_CODE_CODE_H
#define TR_CODE_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "code/meta.h"
#include "rt/layout.h"

/* Loaded machine code. Counted; memory goes when the last reference does. Immutable after loading, so any
 * thread may run it. */
typedef struct tr_module tr_module;

/* symbols of this module alone: frozen arrays, and the exceptions that its sites name (meta.h) */
typedef struct tr_binding {
    const char *name;
    void *addr;
} tr_binding;

/* Maps, relocates and protects (RX, R, RW; never W and X at once). Copies meta. NULL with a message in err
 * (size errn). */
tr_module *tr_module_load(const void *elf, size_t size, const tr_meta *meta, const tr_binding *bind,
                          size_t nbind, bool debug, char *err, size_t errn);
/* The same for code of a device, which is text here: it is kept, and runs where a device has loaded it. */
tr_module *tr_module_keep(const void *text, size_t size, const tr_meta *meta, const tr_binding *bind,
                          size_t nbind, char *err, size_t errn);
/* That text, which ends with a 0. NULL: the code is this machine's. */
const char *tr_module_text(const tr_module *m);
/* The module is asked to hold what a device made of it, and to give that back (`drop`) at its end. For the
 * one who has it, before anybody else. */
void tr_module_hold(tr_module *m, void *loaded, void (*drop)(void *loaded));
void *tr_module_held(const tr_module *m); /* NULL: nothing */
void tr_module_ref(tr_module *m);
void tr_module_unref(tr_module *m);
/* From now on its entry only returns TR_CODE_CPU. For the one who loaded it, before anybody else has it. */
void tr_module_forbid(tr_module *m);
tr_entry_fn tr_module_entry(const tr_module *m);
const tr_meta *tr_module_meta(const tr_module *m);
size_t tr_module_bytes(const tr_module *m); /* with the late parts that were reached */
uint64_t tr_code_live_bytes(void);          /* of all modules of the process */

/* Parts of a module that are compiled when they are first reached (rt/layout.h: tr_late; meta.h: their
 * texts). One thread at a time adds one: the lock is held from the look whether it is there to the adding.
 * What compiling needs is kept with the module. */
void tr_module_lock_late(tr_module *m);
void tr_module_unlock_late(tr_module *m);
/* Makes `code` the code of l; takes the reference. */
void tr_module_add_late(tr_late *l, tr_module *code);
/* The same for code of a device, which has no entry here: l->entry is what the module holds. */
void tr_module_add_far(tr_late *l, tr_module *code);
/* Keeps the first reason why there is none. */
void tr_module_no_late(tr_late *l, const char *why);
const tr_binding *tr_module_bindings(const tr_module *m, size_t *n);
/* Where code is cached, NULL: nowhere. For a module with late parts; set by who loads it, once. */
bool tr_module_set_cache(tr_module *m, const char *dir);
const char *tr_module_cache(const tr_module *m);
/* Any runtime symbol by name: rt.def, libm, and vector math (SLEEF is opened when first asked for). NULL when
 * unknown. */
void *tr_symbol_find(const char *name);

/* --- cache.c: object files on disk, addressed by content --- */

typedef struct tr_hash {
    uint8_t b[32];
} tr_hash; /* SHA-256 */
typedef struct tr_hasher tr_hasher;
/* Streaming: _new, _add*, _end (frees). */
tr_hasher *tr_hasher_new(void);
void tr_hasher_add(tr_hasher *h, const void *p, size_t n);
void tr_hasher_end(tr_hasher *h, tr_hash *out);

/* Directory to use: TREADLE_CACHE_DIR, else $XDG_CACHE_HOME/treadle, else ~/.cache/treadle. Created 0700;
 * must be the user's own and not writable by others, else NULL with a reason. Result is malloc'ed. */
char *tr_cache_dir(char *why, size_t whyn);
/* Which directory that is; it is neither made nor looked at. */
char *tr_cache_path(char *why, size_t whyn);
/* Is it one that may be used, as it is now? */
bool tr_cache_fits(const char *dir, char *why, size_t whyn);
/* A hit is verified (magic, version, key, checksum) before anything is used; everything else is a miss. elf
 * is malloc'ed. The time of change of an entry that is used is moved to now, once a day: its age is since. */
bool tr_cache_get(const char *dir, const tr_hash *key, tr_arena *a, uint8_t **elf, size_t *size,
                  tr_meta *meta);
/* What a file of the directory is. NONE: it is not of the cache's making; OLD: an entry that this version
 * does not read, or a broken one; TEMP: one that a writer fills, or has left. */
typedef enum tr_cachek { TR_CACHE_NONE, TR_CACHE_OLD, TR_CACHE_TEMP, TR_CACHE_ENTRY } tr_cachek;
/* Of an entry `meta` is read, whose code is not looked at. */
tr_cachek tr_cache_about(const char *dir, const char *name, tr_arena *a, tr_meta *meta);
/* Writes to a temporary file in the directory and renames. Failure is silent but counted: a cache is never
 * fatal. */
bool tr_cache_put(const char *dir, const tr_hash *key, const uint8_t *elf, size_t size, const tr_meta *meta);

#endif
