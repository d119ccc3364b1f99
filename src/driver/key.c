/* The cache's key: what it hashes beside the program. The caller has hashed the program (bytecode,
 * constants, frozen globals, called functions); this adds the types, the options, the machine and the
 * compiler itself. In which lines functions begin is only part of it where code says so (else: lines.c).
 *
 * The compiler is named by its two libraries' size and time of change, so that a rebuilt one never meets old
 * code. The machine is named by what CPUID says of it, without opening LLVM: a hit must not pay for that. */
#include <assert.h>
#include <cpuid.h>
#include <dlfcn.h>
#include <string.h>
#include <sys/stat.h>

#include "driver/priv.h"

static void add_text(tr_hasher *h, const char *s) {
    tr_hasher_add(h, s, strlen(s) + 1);
}

static void add_type(tr_hasher *h, const tr_ty *t) {
    tr_sb b;
    tr_sb_init(&b);
    if (t)
        tr_ty_print_ir(&b, t);
    tr_sb_putc(&b, 0);
    tr_hasher_add(h, b.d, b.n);
    tr_sb_fini(&b);
}

static void add_file(tr_hasher *h, const char *path) {
    struct stat st;
    int64_t id[4] = {0};
    if (stat(path, &st) == 0) {
        id[0] = (int64_t)st.st_size;
        id[1] = (int64_t)st.st_mtim.tv_sec;
        id[2] = (int64_t)st.st_mtim.tv_nsec;
        id[3] = (int64_t)st.st_ino;
    }
    add_text(h, path);
    tr_hasher_add(h, id, sizeof id);
}

static void add_compiler(tr_hasher *h) {
    Dl_info here;
    char path[4096];
    add_text(h, TR_VERSION);
    if (dladdr((void *)(uintptr_t)tr_driver_key, &here) && here.dli_fname)
        add_file(h, here.dli_fname);
    tr_driver_backend_path(path, sizeof path);
    add_file(h, path);
}

/* Vendor, model and feature leaves, and which register state the system saves. */
static void add_machine(tr_hasher *h) {
    static const unsigned leaves[][2] = {{0, 0},    {1, 0},    {7, 0},           {7, 1},          {0xd, 1},
                                         {0x19, 0}, {0x24, 0}, {0x80000001u, 0}, {0x80000008u, 0}};
    unsigned r[4], state = 0, high;
    for (size_t i = 0; i < sizeof leaves / sizeof *leaves; i++) {
        if (!__get_cpuid_count(leaves[i][0], leaves[i][1], &r[0], &r[1], &r[2], &r[3]))
            memset(r, 0, sizeof r);
        if (leaves[i][0] == 1 || leaves[i][0] == 0xd)
            r[1] = 0; /* holds the number of the core that asks, and the size of its present state */
        tr_hasher_add(h, r, sizeof r);
    }
    if (__get_cpuid(1, &r[0], &r[1], &r[2], &r[3]) && r[2] & 1u << 27)
        __asm__ volatile("xgetbv" : "=a"(state), "=d"(high) : "c"(0));
    tr_hasher_add(h, &state, sizeof state);
}

static void add_lines(tr_hasher *h, const tr_prog *p) {
    for (uint32_t i = 0; i < p->funcs.n; i++) {
        uint32_t line = p->funcs.d[i].code ? p->funcs.d[i].code->firstline : 0;
        tr_hasher_add(h, &line, sizeof line);
    }
}

void tr_driver_key(const tr_prog *p, const tr_request *rq, tr_hash *out) {
    tr_hasher *h = tr_hasher_new();
    tr_hasher_add(h, &rq->key, sizeof rq->key);
    add_compiler(h);
    add_machine(h);
    tr_hasher_add(h, &rq->nargs, sizeof rq->nargs);
    for (uint32_t i = 0; i < rq->nargs; i++)
        add_type(h, rq->args[i]);
    add_type(h, rq->ret);
    assert((!rq->kernel || !rq->device) && "a ufunc's loop runs on the host");
    if (rq->kernel)
        tr_hasher_add(h, rq->kernel, sizeof *rq->kernel);
    if (rq->device) {
        add_text(h, rq->device);
        tr_hasher_add(h, &rq->kind, sizeof rq->kind);
        tr_hasher_add(h, &rq->want.device, sizeof rq->want.device);
        add_file(h, rq->want.libdevice ? rq->want.libdevice : "");
    }
    /* line tables, and texts that name accesses by their lines */
    if (p->ctx->opts.debug || p->ctx->opts.watch || (rq->device && rq->want.device.lines))
        add_lines(h, p);
#define X(field, type, dflt) tr_hasher_add(h, &p->ctx->opts.field, sizeof p->ctx->opts.field);
    TR_OPTS(X)
#undef X
    tr_hasher_end(h, out);
}
