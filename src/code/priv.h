/* What the files of code/ share. */
#ifndef TR_CODE_PRIV_H
#define TR_CODE_PRIV_H

#include "base/strbuf.h"
#include "code/code.h"

/* --- elf_x86_64.c --- */

/* One mapping: code (RX), constants and the table of far addresses (R), data (RW), in this order. */
typedef struct tr_image {
    uint8_t *base;
    size_t size, text; /* all of it; the code at its beginning */
    uint8_t *entry;
    uint64_t *sec_addr; /* address of each section of the object, 0 = not loaded; malloc'ed */
    uint32_t nsec;
} tr_image;

typedef struct tr_elf_env {
    const char *entry; /* symbol to find */
    void *(*resolve)(void *self, const char *name);
    void (*on_fn)(void *self, const char *name, const void *addr,
                  size_t size); /* NULL, or told of each function */
    void *self;
} tr_elf_env;

bool tr_elf_load(const void *elf, size_t size, const tr_elf_env *env, tr_image *out, char *err, size_t errn);
void tr_elf_unload(tr_image *im);

/* --- meta.c --- */

void tr_meta_write(tr_sb *out, const tr_meta *m);
/* Room that tr_meta_read needs for n bytes of text. */
size_t tr_meta_room(size_t n);
/* All that *out points to lies in `room`. False for anything malformed. */
bool tr_meta_read(const uint8_t *p, size_t n, void *room, tr_meta *out);

/* --- gdb.c, perf.c: for modules compiled with debug --- */

typedef struct tr_gdb tr_gdb;
/* Tells an attached debugger of the object as loaded; NULL without memory. */
tr_gdb *tr_gdb_add(const void *elf, size_t size, const tr_image *im);
void tr_gdb_remove(tr_gdb *g);
/* Appends a line to perf's map of this process; failure is ignored: profiling is never fatal. */
void tr_perf_note(const char *name, const void *addr, size_t size);

/* --- sha256.c --- */

typedef struct tr_sha256 {
    uint32_t h[8];
    uint64_t n; /* bytes so far */
    uint8_t buf[64];
} tr_sha256;
void tr_sha256_init(tr_sha256 *s);
void tr_sha256_add(tr_sha256 *s, const void *p, size_t n);
void tr_sha256_end(tr_sha256 *s, tr_hash *out);

#endif
