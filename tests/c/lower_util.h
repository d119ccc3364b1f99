/* For tests of lower/ and jit/: build typed IR, compile it with the real back end, run it,
 * all in a child process, since LLVM ends the process on what it cannot do. `now` says what
 * was going on when the child died. */
#ifndef TR_TESTS_LOWER_UTIL_H
#define TR_TESTS_LOWER_UTIL_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "code/code.h"
#include "driver/driver.h"
#include "ir/prog.h"
#include "rt/fns.h"
#include "rt/rt.h"

static char *now; /* shared with the parent */
static int failures;
static const tr_backend *backend;

#define CHECK(cond, ...)                                             \
    do {                                                             \
        if (!(cond)) {                                               \
            fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, now); \
            fprintf(stderr, __VA_ARGS__);                            \
            fputc('\n', stderr);                                     \
            if (++failures > 30)                                     \
                exit(1);                                             \
        }                                                            \
    } while (0)

/* One program being built; functions are added with unit_fn. */
typedef struct unit {
    tr_ctx ctx;
    tr_tytab *types;
    tr_prog p;
    tr_bld b; /* into the function opened last */
} unit;

static inline void unit_open(unit *u) {
    memset(u, 0, sizeof *u);
    tr_ctx_init(&u->ctx);
    u->types = tr_tytab_new(NULL);
    u->ctx.types = u->types;
    u->ctx.dump.verify = true;
    const char *plant =
        getenv("TREADLE_TEST_PLANT"); /* in builds with -Dplants=true these tests must then fail */
    u->ctx.opts.plant = plant ? (uint8_t)atoi(plant) : 0;
    tr_prog_init(&u->p, &u->ctx);
}

static inline void unit_close(unit *u) {
    tr_ctx_fini(&u->ctx);
    tr_tytab_free(u->types);
}

static inline const tr_ty *ty(unit *u, tr_tyk k) {
    return tr_ty_scalar(u->types, k);
}

static inline const tr_ty *arr_ty(unit *u, tr_tyk k, unsigned nd, tr_layout l) {
    return tr_ty_array(u->types, ty(u, k), nd, l, false);
}

/* Opens a function as instance number p.insts.n; arguments become params[0 .. n). */
static inline tr_fn *unit_fn(unit *u, const char *name, const tr_ty *ret, uint32_t n,
                             const tr_ty *const *args, tr_val *params) {
    tr_fn *f = tr_fn_new(&u->ctx, name, S_T);
    f->file = "test.py";
    f->ret = ret;
    u->b = (tr_bld){f, tr_blk_new(f), TR_NOVAL, 0};
    tr_place place = {"test.py", f->name, {1, 0, 1, 10}};
    u->b.loc = tr_loc_add(f, place, 0);
    const tr_ty **copy = tr_arena_copy(&u->ctx.arena, args, n * sizeof *args);
    for (uint32_t i = 0; i < n; i++)
        params[i] = tr_blk_param(f, 0, args[i], NULL);
    tr_inst inst = {.func = UINT32_MAX, .nargs = n, .args = copy, .ret = ret, .fn = f};
    tr_vec_push(&u->ctx.arena, &u->p.insts, inst);
    return f;
}

/* A lambda for a pattern, opened; the caller restores u->b. */
static inline tr_fn *unit_lambda(unit *u) {
    tr_fn *f = tr_fn_new(&u->ctx, "lambda", S_T);
    f->is_lambda = true;
    f->file = "test.py";
    u->b = (tr_bld){f, tr_blk_new(f), TR_NOVAL, 0};
    return f;
}

static inline tr_val i64c(unit *u, int64_t v) {
    return tr_const_int(u->b.fn, ty(u, TR_TY_I64), v);
}

static inline tr_site *unit_site(unit *u, tr_exc exc, const char *text) {
    tr_site *s = TR_NEW(&u->ctx.arena, tr_site);
    *s = (tr_site){exc, text, -1, NULL};
    return s;
}

static inline void unit_errors(unit *u) {
    for (tr_err *e = u->ctx.errs; e; e = e->next)
        fprintf(stderr, "  error: %s\n", e->text);
}

/* Compiles the whole program; NULL after a failed CHECK. */
static inline tr_module *unit_compile_bind(unit *u, const tr_binding *bind, size_t nbind) {
    for (uint32_t i = 0; i < u->p.insts.n; i++) {
        tr_sb report;
        tr_sb_init(&report);
        tr_cfg_compute(u->p.insts.d[i].fn);
        bool ok = tr_ir_verify(u->p.insts.d[i].fn, &report);
        CHECK(ok, "the test's own IR is wrong:\n%s", report.d ? report.d : "");
        tr_sb_fini(&report);
        if (!ok)
            return NULL;
    }
    tr_object obj;
    if (!backend->compile(&u->p, NULL, &obj)) {
        CHECK(0, "does not compile");
        unit_errors(u);
        return NULL;
    }
    char err[256];
    tr_module *m =
        tr_module_load(obj.elf, obj.size, &obj.meta, bind, nbind, u->ctx.opts.debug, err, sizeof err);
    free(obj.elf);
    CHECK(m, "does not load: %s", err);
    return m;
}

static inline tr_module *unit_compile(unit *u) {
    return unit_compile_bind(u, NULL, 0);
}

/* Compiles, closes the unit, keeps the code. */
static inline tr_module *unit_finish(unit *u) {
    tr_module *m = unit_compile(u);
    unit_close(u);
    return m;
}

/* Runs the tests in a child; the exit status of the program. */
static inline int in_child(void (*tests)(void)) {
    now = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    strcpy(now, "start");
    pid_t pid = fork();
    if (pid == 0) {
        char err[512];
        backend = tr_backend_load(getenv("TREADLE_LLVM_DIR"), err, sizeof err);
        if (!backend) {
            fprintf(stderr, "%s\n", err);
            _exit(1);
        }
        tests();
        fflush(stderr);
        exit(failures != 0);
    }
    int status;
    if (waitpid(pid, &status, 0) != pid)
        return 1;
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    fprintf(stderr, "the compiler or its code died of signal %d in: %s\n", WTERMSIG(status), now);
    return 1;
}

#endif
