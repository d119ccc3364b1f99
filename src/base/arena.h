/* Region memory for one compilation.
 *
 * Invariants: tr_arena_alloc never returns NULL; memory is zeroed; nothing is freed before tr_arena_fini.
 * When the system has no memory left the arena jumps to the handler its owner set (driver/compile.c), so no
 * arena call may stand below an LLVM or Python frame.
 * Cost: a pointer bump; chunks grow geometrically from 64 KiB. */
#ifndef TR_BASE_ARENA_H
#define TR_BASE_ARENA_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

struct tr_chunk;

typedef struct tr_arena {
    struct tr_chunk *head;
    size_t total; /* bytes handed out, for statistics and the limit */
    jmp_buf *oom; /* where to go without memory; NULL aborts */
} tr_arena;

void tr_arena_init(tr_arena *a, jmp_buf *oom);
void tr_arena_fini(tr_arena *a);
void *tr_arena_alloc(tr_arena *a, size_t size);
void *tr_arena_copy(tr_arena *a, const void *src, size_t size);
char *tr_arena_strdup(tr_arena *a, const char *s);
char *tr_arena_strndup(tr_arena *a, const char *s, size_t n);
char *tr_arena_printf(tr_arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
char *tr_arena_vprintf(tr_arena *a, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));

#define TR_NEW(a, T)      ((T *)tr_arena_alloc((a), sizeof(T)))
#define TR_NEW_N(a, T, n) ((T *)tr_arena_alloc((a), sizeof(T) * (size_t)(n)))

#endif
