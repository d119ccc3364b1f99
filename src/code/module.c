/* Code modules: an image, what must be known beside it, and a count. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "code/priv.h"
#include "rt/enter.h"

/* What is compiled later needs: late parts, and the whole function anew. */
typedef struct late {
    pthread_mutex_t lock;
    tr_binding *bind; /* names and all in one block */
    size_t nbind;
    char *cache_dir;
    atomic_size_t bytes; /* of all code below */
    struct {
        tr_late cell;
        tr_module *code; /* NULL: not compiled yet */
        char *why;       /* of the cell */
    } part[];
} late;

struct tr_module {
    atomic_uint refs;
    tr_image im;
    tr_code_range code; /* of im */
    tr_meta meta;       /* points into meta_room */
    void *meta_room;
    uint16_t *classes; /* of the raise sites' exceptions */
    tr_gdb *gdb;       /* NULL unless compiled with debug */
    late *late;        /* NULL where nothing is compiled later */
    char *text;        /* code of a device */
    void *loaded;      /* what that made of it; NULL: nothing */
    void (*drop)(void *loaded);
};

/* A statistic of the process, nothing reads it to decide. */
static atomic_uint_fast64_t live_bytes;

typedef struct loading {
    tr_module *m;
    const tr_binding *bind;
    size_t nbind;
    const char *entry, *title;
} loading;

static void *resolve(void *self, const char *name) {
    const loading *l = self;
    static const char prefix[] = "tr_late_";
    for (size_t i = 0; i < l->nbind; i++)
        if (!strcmp(name, l->bind[i].name))
            return l->bind[i].addr;
    if (!strncmp(name, prefix, sizeof prefix - 1)) {
        unsigned long k = strtoul(name + sizeof prefix - 1, NULL, 10);
        return k < l->m->meta.nlate ? &l->m->late->part[k].cell : NULL;
    }
    return strcmp(name, "tr_sites") == 0 ? l->m->meta.sites : tr_symbol_find(name);
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
    m->classes = ok ? malloc((m->meta.nsites + 1u) * sizeof *m->classes) : NULL;
    for (uint32_t i = 0; m->classes && i < m->meta.nsites; i++)
        m->classes[i] = m->meta.sites[i].cls;
    return m->classes != NULL;
}

/* What the program's own exceptions are; false where one is not bound. */
static bool bind_sites(tr_module *m, const tr_binding *bind, size_t n) {
    for (uint32_t i = 0; i < m->meta.nsites; i++) {
        tr_msite *s = &m->meta.sites[i];
        char name[32];
        size_t k = 0;
        if (!s->own)
            continue;
        snprintf(name, sizeof name, "tr_exc_%u", (unsigned)(s->own - 1));
        while (k < n && strcmp(bind[k].name, name) != 0)
            k++;
        if (k == n)
            return false;
        s->obj = bind[k].addr;
    }
    return true;
}

/* --- late parts --- */

static bool copy_bindings(late *l, const tr_binding *bind, size_t n) {
    size_t bytes = n * sizeof *bind;
    for (size_t i = 0; i < n; i++)
        bytes += strlen(bind[i].name) + 1;
    l->bind = malloc(bytes + 1);
    if (!l->bind)
        return false;
    char *text = (char *)(l->bind + n);
    for (size_t i = 0; i < n; i++) {
        size_t len = strlen(bind[i].name) + 1;
        memcpy(text, bind[i].name, len);
        l->bind[i] = (tr_binding){text, bind[i].addr};
        text += len;
    }
    l->nbind = n;
    return true;
}

static bool make_late(tr_module *m, const tr_binding *bind, size_t nbind) {
    uint32_t n = m->meta.nlate;
    if (!n && !m->meta.large)
        return true;
    m->late = calloc(1, sizeof *m->late + n * sizeof m->late->part[0]);
    if (!m->late)
        return false;
    pthread_mutex_init(&m->late->lock, NULL);
    for (uint32_t k = 0; k < n; k++) {
        m->late->part[k].cell.module = m;
        m->late->part[k].cell.index = k;
    }
    return copy_bindings(m->late, bind, nbind);
}

static void free_late(tr_module *m) {
    for (uint32_t k = 0; k < m->meta.nlate; k++) {
        tr_module_unref(m->late->part[k].code);
        free(m->late->part[k].why);
    }
    pthread_mutex_destroy(&m->late->lock);
    free(m->late->bind);
    free(m->late->cache_dir);
    free(m->late);
}

void tr_module_lock_late(tr_module *m) {
    pthread_mutex_lock(&m->late->lock);
}

void tr_module_unlock_late(tr_module *m) {
    pthread_mutex_unlock(&m->late->lock);
}

void tr_module_add_late(tr_late *l, tr_module *code) {
    assert(code && code->im.entry && "late code that was compiled has an entry");
    late *all = ((tr_module *)l->module)->late;
    assert(!all->part[l->index].code && !l->entry && "late code is compiled once");
    all->part[l->index].code = code;
    atomic_fetch_add_explicit(&all->bytes, code->im.size, memory_order_relaxed);
    l->meta = &code->meta;
    l->classes = code->classes;
    l->sites = code->meta.sites;
    atomic_store_explicit(&l->entry, code->im.entry, memory_order_release);
}

void tr_module_add_far(tr_late *l, tr_module *code) {
    late *all = ((tr_module *)l->module)->late;
    assert(code->loaded && !all->part[l->index].code && "a device has loaded it, once");
    all->part[l->index].code = code;
    atomic_store_explicit(&l->entry, code->loaded, memory_order_release);
}

void tr_module_no_late(tr_late *l, const char *why) {
    char **kept = &((tr_module *)l->module)->late->part[l->index].why;
    if (!*kept && (*kept = strdup(why)))
        atomic_store_explicit(&l->why, *kept, memory_order_release);
}

const tr_binding *tr_module_bindings(const tr_module *m, size_t *n) {
    *n = m->late ? m->late->nbind : 0;
    return m->late ? m->late->bind : NULL;
}

bool tr_module_set_cache(tr_module *m, const char *dir) {
    return !m->late || !dir || (m->late->cache_dir = strdup(dir));
}

const char *tr_module_cache(const tr_module *m) {
    return m->late ? m->late->cache_dir : NULL;
}

/* --- the whole --- */

static void destroy(tr_module *m) {
    if (m->loaded)
        m->drop(m->loaded);
    if (m->late)
        free_late(m);
    if (m->gdb)
        tr_gdb_remove(m->gdb);
    atomic_fetch_sub(&live_bytes, m->im.size);
    tr_rt_code_remove(&m->code);
    tr_elf_unload(&m->im);
    free(m->text);
    free(m->meta_room);
    free(m->classes);
    free(m);
}

/* What is known of code wherever it runs. NULL: no, and why. */
static tr_module *describe(const tr_meta *meta, const tr_binding *bind, size_t nbind, char *err,
                           size_t errn) {
    tr_module *m = calloc(1, sizeof *m);
    bool room = m && copy_meta(m, meta) && make_late(m, bind, nbind);
    if (room && bind_sites(m, bind, nbind)) {
        atomic_init(&m->refs, 1);
        return m;
    }
    snprintf(err, errn, "%s",
             room ? "an exception of the program is not bound" : "out of memory while loading code");
    if (m)
        destroy(m);
    return NULL;
}

tr_module *tr_module_keep(const void *text, size_t size, const tr_meta *meta, const tr_binding *bind,
                          size_t nbind, char *err, size_t errn) {
    tr_module *m = describe(meta, bind, nbind, err, errn);
    if (!m)
        return NULL;
    if (!(m->text = strndup(text, size))) {
        snprintf(err, errn, "out of memory while loading code");
        destroy(m);
        return NULL;
    }
    m->im.size = size;
    atomic_fetch_add(&live_bytes, size);
    return m;
}

const char *tr_module_text(const tr_module *m) {
    return m->text;
}

void tr_module_hold(tr_module *m, void *loaded, void (*drop)(void *loaded)) {
    assert(!m->loaded && "a device loads code once");
    m->loaded = loaded;
    m->drop = drop;
}

tr_module *tr_module_load(const void *elf, size_t size, const tr_meta *meta, const tr_binding *bind,
                          size_t nbind, bool debug, char *err, size_t errn) {
    loading l = {NULL, bind, nbind, meta->entry ? meta->entry : "tr_entry", meta->title ? meta->title : "?"};
    tr_elf_env env = {.entry = l.entry, .resolve = resolve, .on_fn = debug ? note_fn : NULL, .self = &l};
    tr_module *m = describe(meta, bind, nbind, err, errn);
    if (!m)
        return NULL;
    l.m = m;
    if (!tr_elf_load(elf, size, &env, &m->im, err, errn)) {
        destroy(m);
        return NULL;
    }
    assert(m->im.entry >= m->im.base && m->im.entry < m->im.base + m->im.text &&
           "the entry lies in the code");
    m->code.lo = (uintptr_t)m->im.base;
    m->code.hi = m->code.lo + m->im.text;
    tr_rt_code_add(&m->code);
    atomic_fetch_add(&live_bytes, m->im.size);
    if (debug)
        m->gdb = tr_gdb_add(elf, size, &m->im);
    return m;
}

void *tr_module_held(const tr_module *m) {
    return m->loaded;
}

void tr_module_ref(tr_module *m) {
    assert(m->refs > 0 && "a module that is referred to lives");
    atomic_fetch_add_explicit(&m->refs, 1, memory_order_relaxed);
}

void tr_module_unref(tr_module *m) {
    assert((!m || m->refs > 0) && "a reference that is given back was one");
    if (m && atomic_fetch_sub_explicit(&m->refs, 1, memory_order_acq_rel) == 1)
        destroy(m);
}

static int32_t forbidden(tr_frame *frame, const tr_slot *args, tr_slot *ret) {
    (void)frame, (void)args, (void)ret;
    return TR_CODE_CPU;
}

void tr_module_forbid(tr_module *m) {
    m->im.entry = (uint8_t *)(uintptr_t)forbidden;
}

/* A function pointer is not an object pointer to ISO C; POSIX says they convert. */
tr_entry_fn tr_module_entry(const tr_module *m) {
    return (tr_entry_fn)(uintptr_t)m->im.entry;
}

const tr_meta *tr_module_meta(const tr_module *m) {
    return &m->meta;
}

size_t tr_module_bytes(const tr_module *m) {
    return m->im.size + (m->late ? atomic_load_explicit(&m->late->bytes, memory_order_relaxed) : 0);
}

uint64_t tr_code_live_bytes(void) {
    return atomic_load(&live_bytes);
}
