/* treadlec: the compiler without Python. Reads a program as text IR and prints, checks, transforms,
 * interprets, runs or emits it. Every run verifies what it read and what each pass made. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/driver.h"
#include "infer/infer.h"
#include "ir/nest.h"
#include "main/calls.h"
#include "main/resolve.h"
#include "opt/opt.h"
#include "rt/pool.h"

static const char help[] =
    "usage: treadlec [OPTION...] [FILE]\n"
    "Reads text IR (docs/ir.md) from FILE or standard input.\n"
    "  --print            print the program; the default when nothing else is asked for\n"
    "  --verify           only check it\n"
    "  --loops            the loops of each pattern, as they are lowered for x86-64\n"
    "  --args TYPES       argument types of the first function, as in \"(f8[:], i8)\": types untyped IR\n"
    "  --run PASSES       run passes over every function: \"fold,dce\"; \"opt\" is the order of the product\n"
    "  --interp CALL      interpret a call, as in \"f(1, [2.0, 3.0])\"\n"
    "  --exec CALL        compile and run a call\n"
    "  --count            with --interp: how many bytes patterns have moved, too\n"
    "  --emit KIND        llvm, llvmopt or asm as text, obj as an object file\n"
    "  --target T         where --emit's code is to run: x86-64; nvptx64 or nvptx64:sm_80, whose obj is PTX, "
    "of all\n"
    "                     functions, and which --emit obj need not be said for\n"
    "  --only NAMES       of these functions and what they call: \"f,g\"\n"
    "  --libdevice FILE   NVIDIA's mathematics; else it is looked for where CUDA_HOME says, then where ptxas "
    "is\n"
    "  --no-libdevice     calls of it stay as they are\n"
    "  -o FILE            where --emit writes; standard output otherwise\n"
    "  --set NAME=N       a code option: fastmath, boundscheck, error_numpy, opt_level, ...\n"
    "  --help, --version\n"
    "Several --interp and --exec are made in order. TREADLE_DUMP, TREADLE_SKIP and TREADLE_VERIFY work as in "
    "Python.\n";

enum { MAX_CALLS = 64 };

typedef struct args {
    const char *file, *passes, *types, *emit, *out, *target, *only, *libdevice;
    const char *calls[MAX_CALLS];
    bool compiled[MAX_CALLS];
    unsigned ncalls;
    bool print, verify, loops, count;
} args;

static bool complain(const char *what, const char *arg) {
    fprintf(stderr, "treadlec: %s%s%s\n", what, arg ? ": " : "", arg ? arg : "");
    return false;
}

/* --- options --- */

static bool set_option(tr_opts *o, const char *text) {
    const char *eq = strchr(text, '=');
    if (!eq)
        return complain("--set wants NAME=NUMBER", text);
    size_t n = (size_t)(eq - text);
    long v = strtol(eq + 1, NULL, 10);
#define X(field, type, dflt)                                  \
    if (n == sizeof #field - 1 && !memcmp(text, #field, n)) { \
        o->field = (type)v;                                   \
        return true;                                          \
    }
    TR_OPTS(X)
#undef X
    return complain("no such option", text);
}

/* "--name=value" or "--name value". */
static const char *value_of(char **argv, int *i, const char *name) {
    size_t n = strlen(name);
    if (strncmp(argv[*i], name, n) != 0)
        return NULL;
    if (argv[*i][n] == '=')
        return argv[*i] + n + 1;
    return !argv[*i][n] && argv[*i + 1] ? argv[++*i] : NULL;
}

static bool add_call(args *a, const char *text, bool compiled) {
    if (a->ncalls == MAX_CALLS)
        return complain("too many calls", NULL);
    a->calls[a->ncalls] = text;
    a->compiled[a->ncalls++] = compiled;
    return true;
}

static bool read_option(args *a, tr_opts *o, char **argv, int *i) {
    const char *v, *s = argv[*i];
    if (!strcmp(s, "--print"))
        return a->print = true;
    if (!strcmp(s, "--count"))
        return a->count = true;
    if (!strcmp(s, "--verify"))
        return a->verify = true;
    if (!strcmp(s, "--loops"))
        return a->loops = true;
    if ((v = value_of(argv, i, "--args")))
        return (a->types = v) != NULL;
    if ((v = value_of(argv, i, "--run")))
        return (a->passes = v) != NULL;
    if ((v = value_of(argv, i, "--interp")))
        return add_call(a, v, false);
    if ((v = value_of(argv, i, "--exec")))
        return add_call(a, v, true);
    if ((v = value_of(argv, i, "--emit")))
        return (a->emit = v) != NULL;
    if ((v = value_of(argv, i, "--target")))
        return (a->target = v) != NULL;
    if ((v = value_of(argv, i, "--only")))
        return (a->only = v) != NULL;
    if ((v = value_of(argv, i, "--libdevice")))
        return (a->libdevice = v) != NULL;
    if (!strcmp(s, "--no-libdevice"))
        return (a->libdevice = "") != NULL;
    if ((v = value_of(argv, i, "-o")))
        return (a->out = v) != NULL;
    if ((v = value_of(argv, i, "--set")))
        return set_option(o, v);
    if (*s == '-' && s[1])
        return complain("no such option, or its value is missing", s);
    if (a->file)
        return complain("one file at a time", s);
    return (a->file = s) != NULL;
}

/* --- input and output --- */

static bool read_all(FILE *f, tr_sb *b) {
    char chunk[65536];
    size_t n;
    while ((n = fread(chunk, 1, sizeof chunk, f)) > 0)
        tr_sb_write(b, chunk, n);
    return !ferror(f) && !b->oom;
}

static bool read_input(const args *a, tr_sb *b) {
    bool std = !a->file || !strcmp(a->file, "-");
    FILE *f = std ? stdin : fopen(a->file, "rb");
    bool ok = f && read_all(f, b);
    if (f && !std)
        fclose(f);
    if (!ok)
        return complain("cannot read", a->file);
    return strlen(b->d) == b->n || complain("the text holds a zero byte", a->file);
}

static bool write_output(const args *a, const void *d, size_t n) {
    FILE *f = a->out ? fopen(a->out, "wb") : stdout;
    bool ok = f && fwrite(d, 1, n, f) == n;
    if (f && a->out)
        ok = !fclose(f) && ok;
    return ok || complain("cannot write", a->out);
}

static void show_errors(const tr_ctx *ctx) {
    static const char *const classes[] = {
#define X(id, cls) cls,
        TR_ERRKINDS(X)
#undef X
    };
    for (const tr_err *e = ctx->errs; e; e = e->next) {
        if (e->place.file && e->place.span.line)
            fprintf(stderr, "%s:%d:%d: ", e->place.file, e->place.span.line, e->place.span.col + 1);
        else
            fprintf(stderr, "treadlec: ");
        fprintf(stderr, "%s: %s\n", classes[e->kind], e->text);
        for (const tr_note *n = e->notes; n; n = n->next)
            fprintf(stderr, "  note: %s\n", n->text);
        if (e->hint)
            fprintf(stderr, "  hint: %s\n", e->hint);
    }
}

/* --- stages --- */

static bool verify_all(const tr_prog *p) {
    tr_sb report;
    tr_sb_init(&report);
    bool ok = tr_ir_verify_program(p, &report);
    fputs(report.d, stderr);
    tr_sb_fini(&report);
    return ok;
}

static bool infer(tr_prog *p, const char *types) {
    tr_sig sig;
    const char *msg;
    if (!p->funcs.n)
        return tr_fail(p->ctx, TR_ERR_VALUE, "--args is for untyped IR, and there is none");
    if (!tr_ty_parse_sig(&p->ctx->arena, p->ctx->types, types, &sig, &msg))
        return tr_fail(p->ctx, TR_ERR_SIGNATURE, "%s", msg);
    tr_resolve_names(p);
    return tr_infer(p, sig.n, sig.args, sig.ret) && verify_all(p);
}

static bool run_passes(tr_prog *p, const char *passes) {
    if (!strcmp(passes, "opt"))
        return tr_opt_run(p) && verify_all(p);
    uint32_t n = p->insts.n; /* those that `late` adds are done */
    for (uint32_t i = 0; i < n; i++)
        if (!tr_opt_run_named(p, p->insts.d[i].fn, passes))
            return false;
    return verify_all(p);
}

/* Is the name among those of the list? */
static bool is_named(const char *list, const char *name) {
    size_t n = strlen(name);
    for (const char *s = list; *s; s += strcspn(s, ","), s += *s == ',')
        if (strcspn(s, ",") == n && !memcmp(s, name, n))
            return true;
    return false;
}

/* What the back end is to make, and for whom; the program's patterns become what that target has. */
static bool choose(tr_prog *p, const args *a, tr_want *want) {
    want->target = a->target ? tr_target_find(p->ctx, a->target, &want->processor) : &tr_target_x86_64;
    if (!want->target || !tr_opt_for(p, want->target))
        return false;
    bool *only = a->only ? TR_NEW_N(&p->ctx->arena, bool, p->insts.n + 1u) : NULL, any = !only;
    for (uint32_t i = 0; only && i < p->insts.n; i++)
        any |= only[i] = p->insts.d[i].fn && is_named(a->only, p->insts.d[i].fn->name);
    want->functions = only;
    want->libdevice = a->libdevice ? a->libdevice : tr_driver_libdevice(p->ctx);
    return any || tr_fail(p->ctx, TR_ERR_VALUE, "--only names no function of the program");
}

static bool emit(tr_prog *p, const args *a) {
    char why[512];
    tr_sb text;
    tr_object obj = {0};
    const tr_backend *be = tr_backend_load(NULL, why, sizeof why);
    if (!be)
        return tr_fail(p->ctx, TR_ERR_LOWERING, "%s", why);
    if (!p->insts.n)
        return tr_fail(p->ctx, TR_ERR_VALUE, "--emit needs typed IR; --args types it");
    tr_sb_init(&text);
    tr_want want = {0};
    const char *what = a->emit ? a->emit : "obj";
    bool object = !strcmp(what, "obj"), known = true;
    if (!choose(p, a, &want))
        return false;
    if (!strcmp(what, "llvm"))
        want.llvm = &text;
    else if (!strcmp(what, "llvmopt"))
        want.llvmopt = &text;
    else if (!strcmp(what, "asm"))
        want.assembly = &text;
    else
        known = object;
    bool ok =
        known ? be->compile(p, &want, &obj) : complain("--emit knows llvm, llvmopt, asm and obj, not", what);
    if (ok)
        ok = object ? write_output(a, obj.elf, obj.size) : write_output(a, text.d, text.n);
    free(obj.elf);
    tr_sb_fini(&text);
    return ok;
}

static void print_all(const tr_prog *p) {
    tr_sb b;
    tr_sb_init(&b);
    tr_prog_print(&b, p, p->insts.n > 0);
    fputs(b.d, stdout);
    tr_sb_fini(&b);
}

static void print_loops(const tr_prog *p) {
    tr_sb b;
    tr_sb_init(&b);
    for (uint32_t i = 0; i < p->insts.n; i++)
        if (p->insts.d[i].fn) {
            tr_sb_printf(&b, "%s:\n", p->insts.d[i].fn->name);
            tr_nest_print_all(&b, p->insts.d[i].fn, true);
        }
    fputs(b.d, stdout);
    tr_sb_fini(&b);
}

/* Reads, types and transforms the program. */
static bool prepare(tr_ctx *ctx, const args *a, const char *text, tr_prog *p) {
    tr_prog_init(p, ctx);
    return tr_ir_parse(ctx, text, a->file ? a->file : "<stdin>", p) && verify_all(p) &&
           (!a->types || infer(p, a->types)) && (!a->passes || run_passes(p, a->passes));
}

static bool make_calls(tr_prog *p, const args *a, const char *text) {
    tr_sb line;
    tr_prog fresh;
    bool ok = true;
    tr_sb_init(&line);
    for (unsigned i = 0; i < a->ncalls && ok; i++) {
        tr_sb_reset(&line);
        if (a->compiled[i]) /* compiling changes a program, so each gets its own */
            ok = prepare(p->ctx, a, text, &fresh) && tr_call(&fresh, a->calls[i], true, false, &line);
        else
            ok = tr_call(p, a->calls[i], false, a->count, &line);
        fputs(line.d, stdout);
    }
    tr_sb_fini(&line);
    return ok;
}

static bool run(tr_ctx *ctx, const args *a, const char *text) {
    tr_prog p;
    if (!prepare(ctx, a, text, &p))
        return false;
    bool emits = a->emit || a->target;
    if (a->print || !(a->verify || a->loops || emits || a->ncalls))
        print_all(&p);
    if (a->loops)
        print_loops(&p);
    return (!emits || emit(&p, a)) && make_calls(&p, a, text);
}

/* What the environment says. */
static bool set_up(tr_ctx *ctx) {
    char msg[400];
    if (!tr_dump_parse(&ctx->dump, getenv("TREADLE_DUMP"), getenv("TREADLE_SKIP"), getenv("TREADLE_VERIFY"),
                       msg, sizeof msg) ||
        !tr_driver_check_dump(&ctx->dump, msg, sizeof msg))
        return complain(msg, NULL);
    ctx->dump.verify = true;
    if (!tr_rt_pool_configure("TREADLE_NUM_THREADS", getenv("TREADLE_NUM_THREADS"), msg, sizeof msg))
        return complain(msg, NULL);
    return true;
}

int main(int argc, char **argv) {
    args a = {0};
    tr_ctx ctx;
    tr_sb text;
    bool ok = true;
    tr_ctx_init(&ctx);
    tr_sb_init(&text);
    for (int i = 1; i < argc && ok; i++) {
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "--version")) {
            fputs(argv[i][2] == 'h' ? help : "treadlec " TR_VERSION "\n", stdout);
            goto done;
        }
        ok = read_option(&a, &ctx.opts, argv, &i);
    }
    tr_tytab *shared = ok ? tr_tytab_new(NULL) : NULL;
    ctx.types = shared ? tr_tytab_new(shared) : NULL;
    if (ctx.types)
        tr_tytab_follow(ctx.types, &ctx.arena);
    ok = ok && ctx.types && set_up(&ctx) && read_input(&a, &text) && run(&ctx, &a, text.d);
    if (ctx.dump_text.n)
        fputs(ctx.dump_text.d, stderr);
    show_errors(&ctx);
    tr_tytab_free(ctx.types);
    tr_tytab_free(shared);
done:
    tr_sb_fini(&text);
    tr_ctx_fini(&ctx);
    return ok ? 0 : 1;
}
