/* Code modules: an image, what must be known beside it, and a count. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "code/priv.h"

struct tr_module {
    atomic_uint refs;
    tr_image im;
    tr_meta meta; /* points into meta_room */
    void *meta_room;
    tr_gdb *gdb; /* NULL unless compiled with debug */
};

/* A statistic of the process, nothing reads it to decide. */
static atomic_uint_fast64_t live_bytes;

typedef struct loading {
    const tr_binding *bind;
    size_t nbind;
    const char *entry, *title;
} loading;

static void *resolve(void *self, const char *name) {
    const loading *l = self;
    for (size_t i = 0; i < l->nbind; i++)
        if (!strcmp(name, l->bind[i].name))
            return l->bind[i].addr;
    return tr_symbol_find(name);
}

static void note_fn(void *self, const char *name, const void *addr, size_t size) {
    const loading *l = self;
    char text[256];
    snprintf(text, sizeof text, "py::%s", strcmp(name, l->entry) != 0 ? name : l->title);
    tr_perf_note(text, addr, size);
}

static bool copy_meta(tr_module *m, const tr_meta *meta) {
    tr_sb b;
    tr_sb_init(&b);
    tr_meta_write(&b, meta);
    m->meta_room = b.oom ? NULL : malloc(tr_meta_room(b.n));
    bool ok = m->meta_room && tr_meta_read((const uint8_t *)b.d, b.n, m->meta_room, &m->meta);
    tr_sb_fini(&b);
    return ok;
}

static void destroy(tr_module *m) {
    if (m->gdb)
        tr_gdb_remove(m->gdb);
    atomic_fetch_sub(&live_bytes, m->im.size);
    tr_elf_unload(&m->im);
    free(m->meta_room);
    free(m);
}

tr_module *tr_module_load(const void *elf, size_t size, const tr_meta *meta, const tr_binding *bind,
                          size_t nbind, bool debug, char *err, size_t errn) {
    loading l = {bind, nbind, meta->entry ? meta->entry : "tr_entry", meta->title ? meta->title : "?"};
    tr_elf_env env = {.entry = l.entry, .resolve = resolve, .on_fn = debug ? note_fn : NULL, .self = &l};
    tr_module *m = calloc(1, sizeof *m);
    if (!m || !copy_meta(m, meta)) {
        snprintf(err, errn, "out of memory while loading code");
        goto fail;
    }
    if (!tr_elf_load(elf, size, &env, &m->im, err, errn))
        goto fail;
    atomic_init(&m->refs, 1);
    atomic_fetch_add(&live_bytes, m->im.size);
    if (debug)
        m->gdb = tr_gdb_add(elf, size, &m->im);
    return m;
fail:
    if (m)
        destroy(m);
    return NULL;
}

void tr_module_ref(tr_module *m) {
    atomic_fetch_add_explicit(&m->refs, 1, memory_order_relaxed);
}

void tr_module_unref(tr_module *m) {
    if (m && atomic_fetch_sub_explicit(&m->refs, 1, memory_order_acq_rel) == 1)
        destroy(m);
}

/* A function pointer is not an object pointer to ISO C; POSIX says they convert. */
tr_entry_fn tr_module_entry(const tr_module *m) {
    return (tr_entry_fn)(uintptr_t)m->im.entry;
}

const tr_meta *tr_module_meta(const tr_module *m) {
    return &m->meta;
}

size_t tr_module_bytes(const tr_module *m) {
    return m->im.size;
}

uint64_t tr_code_live_bytes(void) {
    return atomic_load(&live_bytes);
}
