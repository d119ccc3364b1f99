/* Calls by the interpreter and by compiled code, with the same text for what comes back. */
#include "main/calls.h"

#include <assert.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/driver.h"
#include "ir/interp.h"
#include "main/values.h"
#include "rt/enter.h"
#include "rt/rt.h"

enum { MAX_SLOTS = 256, MAX_STEPS = 20000000, MAX_LAUNCH = 1024, MAX_DYNAMIC = 227 << 10 };

typedef struct call {
    tr_prog *p;
    const tr_inst *inst;
    tr_slot args[MAX_SLOTS], ret[MAX_SLOTS];
    const char *before[MAX_SLOTS]; /* text of each array argument */
    tr_sb *out;
    int64_t grid[3], block[3], dynamic; /* of a launch */
    bool count;
} call;

/* --- the call's text --- */

static const tr_inst *find(tr_prog *p, const char *name, size_t n) {
    for (uint32_t i = 0; i < p->insts.n; i++) {
        const char *s = p->insts.d[i].fn->name;
        if (strlen(s) == n && !memcmp(s, name, n)) {
            p->root = i;
            return &p->insts.d[i];
        }
    }
    return NULL;
}

static const char *text_of(tr_ctx *ctx, const tr_ty *t, const tr_slot *v) {
    tr_sb b;
    tr_sb_init(&b);
    tr_value_write(&b, t, v);
    const char *s = tr_arena_strndup(&ctx->arena, b.d, b.n);
    tr_sb_fini(&b);
    return s;
}

/* "4" or "4x2" or "4x2x1". */
static bool read_dims(const char **s, int64_t *out) {
    for (unsigned k = 0; k < 3; k++) {
        char *end;
        out[k] = strtol(*s, &end, 10);
        if (end == *s || out[k] < 1 || out[k] > MAX_LAUNCH)
            return false;
        *s = end;
        if (*end != 'x')
            return true;
        ++*s;
    }
    return false;
}

/* "[4, 32]" between the name and the arguments: blocks and threads of each; a third number:
 * bytes of dynamic shared memory. */
static bool read_launch(call *c, const char *s) {
    if (*s == '(')
        return true;
    s++;
    if (!read_dims(&s, c->grid) || *s++ != ',')
        return false;
    while (*s == ' ')
        s++;
    if (!read_dims(&s, c->block))
        return false;
    if (*s == ',') {
        char *end;
        c->dynamic = strtoll(s + 1, &end, 10);
        s = end;
    }
    if (s[0] != ']' || s[1] != '(' || c->dynamic < 0 || c->dynamic > MAX_DYNAMIC)
        return false;
    int64_t threads = 1;
    assert(c->grid[0] > 0 && c->block[0] > 0 && "a launch has blocks, and threads");
    for (unsigned k = 0; k < 3; k++)
        threads *= c->block[k] ? c->block[k] : 1;
    return threads <= MAX_LAUNCH; /* as on the hardware */
}

static bool read_call(call *c, const char *text) {
    tr_ctx *ctx = c->p->ctx;
    const char *open = strchr(text, '('), *s = open + 1, *msg = NULL;
    unsigned n = 0;
    size_t name = strcspn(text, "([");
    c->inst = open ? find(c->p, text, name) : NULL;
    if (!c->inst)
        return tr_fail(ctx, TR_ERR_VALUE, "'%s' does not call a typed function of the program", text);
    if (!read_launch(c, text + name))
        return tr_fail(ctx, TR_ERR_VALUE, "'%s' does not say blocks and threads as in k[4, 32x2](...)", text);
    if (text[name] == '[' && c->inst->fn->kind != TR_FN_KERNEL)
        return tr_fail(ctx, TR_ERR_VALUE, "'%s' launches what is no kernel", text);
    for (uint32_t i = 0; i < c->inst->nargs; i++) {
        const tr_ty *t = c->inst->args[i];
        while (*s == ' ' || (i && *s == ','))
            s++;
        if (n + tr_ty_nparts(t) > MAX_SLOTS)
            return tr_fail(ctx, TR_ERR_VALUE, "too many arguments");
        if (!tr_value_read(ctx, t, &s, c->args + n, &msg))
            return tr_fail(ctx, TR_ERR_VALUE, "argument %" PRIu32 " of '%s': %s", i + 1, text, msg);
        if (t->kind == TR_TY_ARRAY)
            c->before[i] = text_of(ctx, t, c->args + n);
        n += tr_ty_nparts(t);
    }
    while (*s == ' ')
        s++;
    if (*s != ')')
        return tr_fail(ctx, TR_ERR_VALUE, "expected ')' at '%.20s'", s);
    return !c->inst->ret || tr_ty_nparts(c->inst->ret) <= MAX_SLOTS ||
           tr_fail(ctx, TR_ERR_VALUE, "the result has too many parts");
}

/* --- what comes back --- */

static void show_result(call *c) {
    const tr_fn *f = c->inst->fn;
    unsigned n = 0;
    if (c->inst->ret)
        tr_value_write(c->out, c->inst->ret, c->ret);
    else
        tr_sb_puts(c->out, "none");
    for (uint32_t i = 0; i < c->inst->nargs; i++) {
        const tr_ty *t = c->inst->args[i];
        if (t->kind == TR_TY_ARRAY) {
            const char *now = text_of(c->p->ctx, t, c->args + n);
            tr_val v = f->blks.d[0].params.d[i];
            const char *name = v < f->names.n ? f->names.d[v] : NULL;
            if (strcmp(now, c->before[i]) != 0 && name)
                tr_sb_printf(c->out, "; %%%s = %s", name, now);
            else if (strcmp(now, c->before[i]) != 0)
                tr_sb_printf(c->out, "; argument %" PRIu32 " = %s", i, now);
        }
        n += tr_ty_nparts(t);
    }
    tr_sb_putc(c->out, '\n');
}

/* "{0}" and so on in a message stand for values; "{w}" for the index as it was written: value 0 is the index
 * after wrapping, value 1 the size, which a negative index has had added; "{u}" for value 0 as an unsigned
 * one. */
static void show_message(tr_sb *out, const char *text, const char *const *values, uint32_t n) {
    for (const char *s = text; *s; s++) {
        if (!strncmp(s, "{w}", 3) && n >= 2) {
            long long i = strtoll(values[0], NULL, 10), size = strtoll(values[1], NULL, 10);
            tr_sb_printf(out, "%lld", i < 0 ? i - size : i);
            s += 2;
        } else if (!strncmp(s, "{u}", 3) && n >= 1) {
            tr_sb_printf(out, "%llu", (unsigned long long)strtoll(values[0], NULL, 10));
            s += 2;
        } else if (s[0] == '{' && s[1] >= '0' && s[1] <= '9' && s[2] == '}' && (uint32_t)(s[1] - '0') < n) {
            tr_sb_puts(out, values[s[1] - '0']);
            s += 2;
        } else {
            tr_sb_putc(out, *s);
        }
    }
}

static void show_exception(tr_sb *out, uint32_t exc, const char *text, const char *const *values,
                           uint32_t n) {
    char buf[16];
    tr_sb_printf(out, "raises %s", tr_exc_text(exc, buf));
    if (text || n)
        tr_sb_puts(out, ": ");
    if (text)
        show_message(out, text, values, n);
    for (uint32_t i = 0; !text && i < n; i++)
        tr_sb_printf(out, "%s%s", i ? ", " : "", values[i]);
    tr_sb_putc(out, '\n');
}

/* --- the interpreter --- */

static void write_out(void *self, const char *text, size_t n) {
    const char *end = text + n;
    tr_rt_piece p;
    (void)self;
    while (tr_rt_piece_next(&text, end, &p)) {
        if (!p.how) {
            fwrite(p.text ? p.text : "", 1, p.n, stdout);
            continue;
        }
        printf("%s[", p.dtype);
        for (uint32_t i = 0; i < p.ndim; i++)
            printf("%s%" PRId64, i ? ", " : "", tr_rt_piece_axis(&p, i));
        printf("]");
    }
}

static const char *obj_text(tr_ctx *ctx, const tr_obj *o) {
    return o->kind == TR_OBJ_STR ? o->u.s.d : tr_arena_strdup(&ctx->arena, o->repr);
}

static void interp_exception(call *c, const tr_interp *in) {
    tr_ctx *ctx = c->p->ctx;
    const char *values[TR_FRAME_PAYLOAD], **shown = values;
    const tr_slot *at = in->payload;
    for (uint32_t i = 0; i < in->npayload; i++) {
        values[i] = text_of(ctx, in->payload_ty[i], at);
        at += tr_ty_nparts(in->payload_ty[i]);
    }
    uint32_t n = in->npayload, next = 0;
    if (in->site->nargs >= 0) {
        n = (uint32_t)in->site->nargs;
        shown = TR_NEW_N(&ctx->arena, const char *, n);
        for (uint32_t i = 0; i < n; i++)
            shown[i] = in->site->args[i]     ? obj_text(ctx, in->site->args[i])
                       : next < in->npayload ? values[next++]
                                             : "?";
    }
    show_exception(c->out, in->site->exc, in->site->text, shown, n);
}

static bool interpret(call *c) {
    tr_ctx *ctx = c->p->ctx;
    tr_host host = {.write = write_out};
    tr_frame frame;
    tr_rt_frame_init(&frame, &host);
    tr_interp in = {.ctx = ctx, .prog = c->p, .symbol = tr_symbol_find, .frame = &frame, .steps = MAX_STEPS};
    memcpy(in.grid, c->grid, sizeof in.grid);
    memcpy(in.block, c->block, sizeof in.block);
    in.dynamic = c->dynamic;
    if (tr_ir_interp(&in, c->inst->fn, c->args, c->ret))
        show_result(c);
    else if (in.site)
        interp_exception(c, &in);
    tr_rt_frame_fini(&frame); /* a string among these lies in a block of it */
    if (c->count)
        tr_sb_printf(c->out, "\nread %" PRIu64 ", wrote %" PRIu64, in.read, in.written);
    if (!in.fault)
        return true;
    tr_err_add(ctx, TR_ERR_INTERNAL, in.place, "the interpreter stopped: the program %s", in.fault);
    return false;
}

/* --- compiled code --- */

static const char *marg_text(tr_ctx *ctx, const tr_marg *a, const tr_slot *s) {
    tr_arena *m = &ctx->arena;
    tr_tytab *t = ctx->types;
    switch (a->kind) {
    case 'i': return text_of(ctx, tr_ty_scalar(t, TR_TY_I64), s);
    case 'u': return text_of(ctx, tr_ty_scalar(t, TR_TY_U64), s);
    case 'd': return text_of(ctx, tr_ty_scalar(t, TR_TY_F64), s);
    case 'f': return text_of(ctx, tr_ty_scalar(t, TR_TY_F32), s);
    case 'h': return text_of(ctx, tr_ty_scalar(t, TR_TY_F16), s);
    case 'b': return text_of(ctx, tr_ty_scalar(t, TR_TY_BOOL), s);
    case 'C':
    case 'c': return text_of(ctx, tr_ty_scalar(t, TR_TY_C128), s);
    case 's':
    case 'y': return text_of(ctx, tr_ty_string(t), s);
    case 'I': return tr_arena_printf(m, "%" PRIi64, a->i);
    case 'D':
    case 'F': return text_of(ctx, tr_ty_scalar(t, TR_TY_F64), &(tr_slot){.f = a->d});
    case 'U': return tr_arena_printf(m, "%" PRIu64, (uint64_t)a->i);
    case 'B': return a->i ? "True" : "False";
    case 'S': return a->s;
    case 'T': return "tuple";
    default: return "None";
    }
}

static void *compile_late(void *self, tr_late *l) {
    const tr_ctx *ctx = self;
    void *entry = tr_driver_late(l, &ctx->dump);
    const char *why = entry ? NULL : atomic_load_explicit(&l->why, memory_order_acquire);
    if (!entry)
        fprintf(stderr, "treadlec: late code: %s\n", why ? why : "out of memory");
    return entry;
}

static void code_exception(call *c, const tr_meta *meta, int32_t rc, const tr_frame *f) {
    meta = rc > 0 && f->late ? f->late->meta : meta;
    const tr_msite *s = rc > 0 && (uint32_t)rc <= meta->nsites ? &meta->sites[rc - 1] : NULL;
    if (!s) {
        tr_sb_printf(c->out, "raises nothing known: code %" PRId32 "\n", rc);
        return;
    }
    const char **values = TR_NEW_N(&c->p->ctx->arena, const char *, s->nargs);
    unsigned slot = 0;
    for (uint32_t i = 0; i < s->nargs && slot < TR_FRAME_PAYLOAD; i++) {
        values[i] = marg_text(c->p->ctx, &s->args[i], &f->payload[slot]);
        slot += tr_marg_slots(s->args[i].kind);
    }
    show_exception(c->out, s->own ? TR_EXC__COUNT + s->own - 1 : s->exc, s->text, values, s->nargs);
}

static bool execute(call *c) {
    tr_host host = {.write = write_out, .self = c->p->ctx, .compile = compile_late};
    tr_frame frame;
    tr_compiled code = {0};
    tr_request rq = {.upto = TR_STAGE_TIME};
    if (!tr_compile(c->p, &rq, &code))
        return false;
    c->inst = &c->p->insts.d[c->p->root];
    tr_rt_frame_init(&frame, &host);
    int32_t rc = tr_rt_run(tr_module_entry(code.module), &frame, c->args, c->ret);
    if (rc)
        code_exception(c, tr_module_meta(code.module), rc, &frame);
    else
        show_result(c);
    tr_rt_frame_fini(&frame);
    tr_module_unref(code.module);
    return true;
}

bool tr_call(tr_prog *p, const char *text, bool compiled, bool count, tr_sb *out) {
    call *c = TR_NEW(&p->ctx->arena, call);
    c->p = p;
    c->out = out;
    c->count = count;
    return read_call(c, text) && (compiled ? execute(c) : interpret(c));
}
