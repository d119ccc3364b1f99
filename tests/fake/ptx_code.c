/* Instructions of a PTX text become those of ptx_ops.def: names are looked up once here, registers become
 * slots, numbers slots that hold them. What has no row there is made of several that have one, in slots of
 * the instruction's own (a frame's first). */
#include "ptx_text.h"

#include <stdio.h>
#include <stdlib.h>

enum { SINK = PTX_SCRATCH, FIRST_SCRATCH };
enum { PARTS = 12 };

/* A name in its parts, and what was put aside of it. */
typedef struct mnemonic {
    token part[PARTS];
    unsigned n, vector;
    int space;
    bool flush, saturate, is_volatile;
    char text[64]; /* what is left, as ptx_ops.def has it */
} mnemonic;

/* --- the table --- */

static uint32_t hash(const char *s, size_t n) {
    uint32_t h = 2166136261u;
    for (size_t k = 0; k < n; k++)
        h = (h ^ (unsigned char)s[k]) * 16777619u;
    return h;
}

static op_name *place(parser *p, const char *s, size_t n) {
    uint32_t at = hash(s, n) % OP_NAMES;
    while (p->names[at].name && (p->names[at].n != n || memcmp(p->names[at].name, s, n) != 0))
        at = (at + 1) % OP_NAMES;
    return &p->names[at];
}

void name_ops(parser *p) {
    static const struct {
        const char *names, *operands;
    } rows[] = {
#define OP(id, names, operands, ...) {names, operands},
#include "ptx_ops.def"
#undef OP
    };
    for (unsigned op = 0; op < PTX__COUNT; op++)
        for (const char *s = rows[op].names; *s; s += strspn(s, " ")) {
            size_t n = strcspn(s, " ");
            *place(p, s, n) =
                (op_name){.name = s, .n = (uint32_t)n, .operands = rows[op].operands, .op = (ptx_op)op};
            s += n;
        }
}

static const op_name *find(parser *p, const char *text) {
    const op_name *o = place(p, text, strlen(text));
    return o->name ? o : NULL;
}

static ptx_op op_of(parser *p, const char *text) {
    const op_name *o = find(p, text);
    if (!o)
        fail(p, "the instruction '%s' is not known", text);
    return o->op;
}

/* --- what is made --- */

uint32_t new_slot(parser *p, uint64_t value) {
    ptx_fn *f = p->fn;
    if (f->nslots > 1u << 24)
        fail(p, "there are too many registers");
    f->image = grown(p, f->image, f->nslots, &f->capslots, sizeof *f->image);
    f->image[f->nslots] = value;
    return f->nslots++;
}

/* A slot that holds a number. */
static int32_t constant(parser *p, uint64_t value) {
    uint64_t mixed = (value ^ value >> 29) * 0x9e3779b97f4a7c15ull;
    uint32_t *at = &p->constants[mixed >> 56];
    if (!*at || p->fn->image[*at] != value)
        *at = new_slot(p, value);
    return (int32_t)*at;
}

static int32_t scratch(parser *p) {
    if (p->scratch == PTX_FRAME)
        fail(p, "the instruction has too many parts");
    return (int32_t)p->scratch++;
}

ptx_ins *emit(parser *p, ptx_op op) {
    ptx_fn *f = p->fn;
    uint32_t cap = f->capcode;
    f->lines = grown(p, f->lines, f->ncode, &cap, sizeof *f->lines);
    f->code = grown(p, f->code, f->ncode, &f->capcode, sizeof *f->code);
    f->lines[f->ncode] = p->at_line;
    f->code[f->ncode] = (ptx_ins){.op = (uint16_t)op,
                                  .aux = 1,
                                  .d = SINK,
                                  .a = PTX_SCRATCH,
                                  .b = PTX_SCRATCH,
                                  .c = PTX_SCRATCH,
                                  .e = 0};
    return &f->code[f->ncode++];
}

static void emit3(parser *p, ptx_op op, int32_t d, int32_t a, int32_t b) {
    ptx_ins *i = emit(p, op);
    i->d = d;
    i->a = a;
    i->b = b;
}

/* --- operands --- */

static int special_number(token t) {
    static const char *const names[] = {"%tid.x",
                                        "%tid.y",
                                        "%tid.z",
                                        "",
                                        "%ntid.x",
                                        "%ntid.y",
                                        "%ntid.z",
                                        "",
                                        "%ctaid.x",
                                        "%ctaid.y",
                                        "%ctaid.z",
                                        "",
                                        "%nctaid.x",
                                        "%nctaid.y",
                                        "%nctaid.z",
                                        "",
                                        "%laneid",
                                        "%warpid",
                                        "%nwarpid",
                                        "%lanemask_eq",
                                        "%lanemask_le",
                                        "%lanemask_lt",
                                        "%lanemask_ge",
                                        "%lanemask_gt",
                                        "%dynamic_smem_size",
                                        "%total_smem_size",
                                        "%clock64"};
    for (unsigned k = 0; k < sizeof names / sizeof *names; k++)
        if (*names[k] && same(t, names[k]))
            return (int)k;
    if (same(t, "%clock") || same(t, "%globaltimer"))
        return 26;
    return same(t, "%smid") || same(t, "%gridid") || same(t, "%clock_hi") ? 27 : -1; /* zero */
}

/* A number as a type has it: 'f' and 'd' of floats, 'p' of a predicate, 'i'. */
static uint64_t number(parser *p, char type) {
    token t = p->tok;
    if (t.n > 2 && t.s[0] == '0' && strchr("fF", t.s[1])) {
        uint64_t bits = strtoull(t.s + 2, NULL, 16);
        next(p);
        return type == 'd' ? ptx_of_f64((double)ptx_f32(bits)) : bits;
    }
    if (t.n > 2 && t.s[0] == '0' && strchr("dD", t.s[1])) {
        uint64_t bits = strtoull(t.s + 2, NULL, 16);
        next(p);
        return type == 'f' ? ptx_of_f32((float)ptx_f64(bits)) : bits;
    }
    if (t.kind == T_NUMBER && memchr(t.s, '.', t.n)) {
        double d = strtod(t.s, NULL);
        next(p);
        return type == 'f' ? ptx_of_f32((float)d) : ptx_of_f64(d);
    }
    int64_t v = integer(p);
    return type == 'p'   ? v != 0
           : type == 'f' ? ptx_of_f32((float)v)
           : type == 'd' ? ptx_of_f64((double)v)
                         : (uint64_t)v;
}

static char type_of(token t) {
    return same(t, "f32") ? 'f' : same(t, "f64") ? 'd' : same(t, "pred") ? 'p' : 'i';
}

/* The address of a variable, in its space. */
static int32_t address_of(parser *p, const sym *s, int64_t more) {
    uint64_t at = s->at + (uint64_t)more;
    switch (s->kind) {
    case S_GLOBAL:
    case S_SHARED: return constant(p, at);
    case S_DYNAMIC: {
        uint32_t slot = new_slot(p, (uint64_t)more);
        *PUSH(p, p->dynamics, p->ndynamics, p->capdynamics) = (dynamic){p->fn, slot};
        return (int32_t)slot;
    }
    case S_LOCAL: {
        int32_t d = scratch(p);
        ptx_ins *i = emit(p, PTX_LOCAL_AT);
        i->d = d;
        i->imm = (int64_t)at;
        return d;
    }
    default: fail(p, "'%.*s' has no address", (int)s->name.n, s->name.s);
    }
}

static int64_t offset(parser *p) {
    if (accept(p, "+"))
        return integer(p);
    return is(p, "-") ? integer(p) : 0;
}

static int32_t named(parser *p, token t) {
    uint32_t which;
    int k = special_number(t);
    if (k >= 0) {
        int32_t d = scratch(p);
        ptx_ins *i = emit(p, PTX_SPECIAL);
        i->d = d;
        i->imm = k;
        return d;
    }
    const sym *s = find_sym(p, t, &which);
    if (!s)
        fail(p, "'%.*s' is not known", (int)t.n, t.s);
    if (s->kind == S_REG)
        return (int32_t)(s->at + which);
    return address_of(p, s, offset(p));
}

static int32_t source(parser *p, char type) {
    if (accept(p, "!")) {
        int32_t d = scratch(p);
        emit3(p, PTX_NOT_PRED, d, named(p, word(p)), PTX_SCRATCH);
        return d;
    }
    if (p->tok.kind == T_WORD)
        return named(p, word(p));
    return constant(p, number(p, type));
}

static int32_t target(parser *p) {
    uint32_t which;
    token t = word(p);
    if (same(t, "_"))
        return SINK;
    const sym *s = find_sym(p, t, &which);
    if (!s || s->kind != S_REG)
        fail(p, "'%.*s' is no register", (int)t.n, t.s);
    return (int32_t)(s->at + which);
}

static void comma(parser *p) {
    expect(p, ",");
}

/* Registers, or with one a few in braces. */
static unsigned several(parser *p, int32_t *out, unsigned most, bool written, char type) {
    unsigned n = 0;
    expect(p, "{");
    do {
        if (n == most)
            fail(p, "there are too many in braces");
        out[n++] = written ? target(p) : source(p, type);
    } while (accept(p, ","));
    expect(p, "}");
    return n;
}

/* --- names --- */

static bool among(token t, const char *const *words) {
    for (; *words; words++)
        if (same(t, *words))
            return true;
    return false;
}

static bool first_is(const mnemonic *n, const char *const *words) {
    return among(n->part[0], words);
}

static const char *const memory[] = {"ld", "st", "atom", "red", NULL};
static const char *const roundings[] = {"rn", "rz", "rm", "rp", "rni", "rzi", "rmi", "rpi", NULL};

/* Takes a part that says nothing here. */
static bool put_aside(mnemonic *n, token t) {
    static const char *const order[] = {"relaxed", "acquire", "release", "acq_rel", "weak",   "cta",   "gpu",
                                        "sys",     "cluster", "nc",      "ca",      "cg",     "cs",    "lu",
                                        "cv",      "wb",      "wt",      "noftz",   "global", "const", NULL};
    static const char *const fences[] = {"membar", "fence", NULL}, *const bars[] = {"bar", "barrier", NULL};
    static const char *const ways[] = {"bra", "call", "ret", "brx", NULL};
    static const char *const spaceless[] = {"atom", "red", NULL};
    bool mem = first_is(n, memory);
    if (mem || first_is(n, fences)) {
        if (same(t, "volatile") || same(t, "relaxed") || same(t, "acquire"))
            n->is_volatile = true;
        if (same(t, "volatile") || among(t, order) || (t.n > 2 && t.s[0] == 'L' && t.s[2] == ':'))
            return true;
    }
    if (mem && (same(t, "v2") || same(t, "v4"))) {
        n->vector = t.s[1] == '2' ? 2 : 4;
        return true;
    }
    if (mem && (same(t, "shared") || same(t, "shared::cta") || same(t, "local"))) {
        n->space = same(t, "local") ? PTX_IN_LOCAL : PTX_IN_SHARED;
        return first_is(n, spaceless);
    }
    if (first_is(n, bars))
        return same(t, "cta") || same(t, "aligned");
    if (first_is(n, ways))
        return same(t, "uni");
    if (same(t, "ftz"))
        return n->flush = true;
    if (same(t, "sat"))
        return n->saturate = true;
    return same(t, "rn") && !same(n->part[0], "cvt");
}

static void read_name(parser *p, token t, mnemonic *n) {
    *n = (mnemonic){0};
    size_t used = 0;
    for (const char *s = t.s, *end = t.s + t.n; s < end;) {
        const char *dot = memchr(s, '.', (size_t)(end - s));
        token part = {T_WORD, s, (size_t)((dot ? dot : end) - s)};
        s = dot ? dot + 1 : end;
        if (n->n && put_aside(n, part))
            continue;
        if (same(part, "shared::cta"))
            part.n = 6;
        if (n->n == PARTS || used + part.n + 2 > sizeof n->text)
            fail(p, "the instruction '%.*s' is not known", (int)t.n, t.s);
        if (n->n)
            n->text[used++] = '.';
        n->part[n->n++] = part;
        memcpy(n->text + used, part.s, part.n);
        used += part.n;
    }
    n->text[used] = 0;
}

static token last(const mnemonic *n) {
    return n->part[n->n - 1];
}

/* --- plain instructions --- */

static int32_t flushed(parser *p, int32_t slot) {
    int32_t d = scratch(p);
    emit3(p, PTX_FLUSH, d, slot, PTX_SCRATCH);
    return d;
}

typedef struct address {
    int32_t a;
    int64_t imm;
    sym_kind kind; /* S_PARAM, S_KERNEL: imm is a place in a frame or a launch; else S_REG */
} address;

static address read_address(parser *p, unsigned bytes) {
    address at = {.kind = S_REG};
    uint32_t which;
    expect(p, "[");
    if (p->tok.kind == T_WORD) {
        token t = word(p);
        const sym *s = find_sym(p, t, &which);
        int64_t more = offset(p);
        if (!s)
            fail(p, "'%.*s' is not known", (int)t.n, t.s);
        if (s->kind == S_REG) {
            at.a = (int32_t)(s->at + which);
            at.imm = more;
        } else if (s->kind == S_PARAM || s->kind == S_KERNEL) {
            if (more < 0 || (uint64_t)more + bytes > s->bytes)
                fail(p, "that lies outside of '%.*s'", (int)t.n, t.s);
            at.kind = s->kind;
            at.imm = (int64_t)(s->kind == S_PARAM ? 8 * s->at : s->at) + more;
        } else {
            at.a = address_of(p, s, more);
        }
    } else {
        at.a = constant(p, (uint64_t)integer(p));
    }
    expect(p, "]");
    return at;
}

static void plain(parser *p, const mnemonic *n) {
    const op_name *o = find(p, n->text);
    if (!o)
        fail(p, "the instruction '%s' is not known", n->text);
    ptx_ins i = {.op = (uint16_t)o->op, .aux = 1, .d = SINK, .a = SINK, .b = SINK, .c = SINK};
    char type = type_of(last(n));
    bool flush = n->flush && type == 'f', began = false;
    if (n->saturate && type != 'f' && type != 'd')
        fail(p, "'%s' is not known with .sat", n->text);
    for (const char *k = o->operands; *k; k++) {
        if (*k == 'd' && same(n->part[0], "red"))
            continue;
        if (began)
            comma(p);
        began = true;
        if (*k == 'd') {
            i.d = target(p);
        } else if (*k == 'm') {
            address at = read_address(p, 0);
            i.a = at.a;
            i.imm = at.imm;
            i.e = n->space;
        } else {
            int32_t s = source(p, *k == 'p' ? 'p' : *k == 'w' ? 'i' : type);
            s = flush && *k != 'p' ? flushed(p, s) : s;
            *(*k == 'a' ? &i.a : *k == 'b' ? &i.b : *k == 'e' ? &i.e : &i.c) = s;
        }
    }
    p->fn->waits |= first_is(n, memory) || o->op == PTX_SLEEP;
    *emit(p, o->op) = i;
    if (flush && !same(n->part[0], "setp"))
        emit3(p, PTX_FLUSH, i.d, i.d, PTX_SCRATCH);
    if (n->saturate)
        emit3(p, type == 'f' ? PTX_SATURATE_f32 : PTX_SATURATE_f64, i.d, i.d, PTX_SCRATCH);
}

/* Loads and stores: one for each part of a vector. */
static void transfer(parser *p, const mnemonic *n, bool load) {
    int32_t what[4];
    char type = type_of(last(n)), text[64];
    unsigned parts = n->vector ? n->vector : 1, bytes = 0;
    token t = {T_WORD, text, 0};
    t.n = (size_t)snprintf(text, sizeof text, ".%.*s", (int)last(n).n, last(n).s);
    bytes = type_bytes(p, t);
    if (load && n->vector) {
        several(p, what, 4, true, type);
    } else if (load) {
        what[0] = target(p);
    }
    if (load)
        comma(p);
    address at = read_address(p, parts * bytes);
    if (!load) {
        comma(p);
        if (n->vector)
            several(p, what, 4, false, type);
        else
            what[0] = source(p, type);
    }
    bool param = same(n->part[1], "param"), kernel = at.kind == S_KERNEL;
    if (param != (at.kind != S_REG) || (kernel && !load))
        fail(p, "'%s' does not go with this address", n->text);
    snprintf(text, sizeof text, "%s%.*s", kernel ? "ld.kernel." : "", (int)last(n).n, last(n).s);
    ptx_op op = op_of(p, kernel ? text : n->text);
    for (unsigned k = 0; k < parts && load; k++)
        if (k + 1 < parts && what[k] == at.a) { /* it is needed for the rest */
            int32_t kept = scratch(p);
            emit3(p, PTX_MOV, kept, at.a, PTX_SCRATCH);
            at.a = kept;
        }
    p->fn->waits |= n->is_volatile;
    for (unsigned k = 0; k < parts; k++) {
        ptx_ins *i = emit(p, op);
        *(load ? &i->d : &i->b) = what[k];
        i->a = at.a;
        i->imm = at.imm + k * bytes;
        i->aux = (uint16_t)(k ? bytes : parts * bytes);
    }
}

/* Moves: of parts, of addresses, of special registers. */
static void move(parser *p, const mnemonic *n) {
    int32_t parts[4];
    char type = type_of(last(n));
    unsigned width = same(last(n), "b16") ? 16 : same(last(n), "b32") ? 32 : 64;
    if (is(p, "{")) {
        unsigned count = several(p, parts, 4, true, type);
        comma(p);
        int32_t from = source(p, type);
        for (unsigned k = 0; k < count; k++) {
            ptx_ins *i = emit(p, PTX_PART);
            i->d = parts[k];
            i->a = from;
            i->imm = (int64_t)(k * (width / count));
        }
        return;
    }
    int32_t d = target(p);
    comma(p);
    if (is(p, "{")) {
        unsigned count = several(p, parts, 4, false, type);
        ptx_op op = width / count == 16 ? PTX_PACK_16 : PTX_PACK_32;
        if (count == 4) {
            int32_t low = scratch(p), high = scratch(p);
            emit3(p, PTX_PACK_16, low, parts[0], parts[1]);
            emit3(p, PTX_PACK_16, high, parts[2], parts[3]);
            emit3(p, PTX_PACK_32, d, low, high);
        } else if (count == 2 && width >= 32) {
            emit3(p, op, d, parts[0], parts[1]);
        } else {
            fail(p, "so many parts do not make a register");
        }
        return;
    }
    op_of(p, n->text);
    emit3(p, PTX_MOV, d, source(p, type), PTX_SCRATCH);
}

/* --- comparisons --- */

static ptx_op combiner(token t) {
    return same(t, "and") ? PTX_AND : same(t, "or") ? PTX_OR : same(t, "xor") ? PTX_XOR : PTX__COUNT;
}

/* setp.cmp[.bool].type: what it says of two values, and its contrary, combined with a third. */
static void compare(parser *p, const mnemonic *n, ptx_op how, const char *text, int32_t d, int32_t contrary) {
    char type = type_of(last(n));
    int32_t a = source(p, type), b, yes = d, no, third;
    comma(p);
    b = source(p, type);
    if (n->flush && type == 'f') {
        a = flushed(p, a);
        b = flushed(p, b);
    }
    if (how != PTX__COUNT) {
        comma(p);
        third = source(p, 'p');
        yes = scratch(p);
    } else {
        third = SINK;
        yes = contrary == SINK ? d : scratch(p);
    }
    emit3(p, op_of(p, text), yes, a, b);
    if (yes == d)
        return;
    no = scratch(p);
    emit3(p, PTX_NOT_PRED, no, yes, PTX_SCRATCH);
    emit3(p, how == PTX__COUNT ? PTX_MOV : how, d, yes, third);
    emit3(p, how == PTX__COUNT ? PTX_MOV : how, contrary, no, third);
}

static void set_predicate(parser *p, const mnemonic *n) {
    char text[64];
    ptx_op how = n->n == 4 ? combiner(n->part[2]) : PTX__COUNT;
    if (n->n < 3 || n->n > 4 || (n->n == 4 && how == PTX__COUNT))
        fail(p, "the instruction '%s' is not known", n->text);
    snprintf(text, sizeof text, "setp.%.*s.%.*s", (int)n->part[1].n, n->part[1].s, (int)last(n).n, last(n).s);
    int32_t d = target(p), contrary = accept(p, "|") ? target(p) : SINK;
    comma(p);
    compare(p, n, how, text, d, contrary);
}

static void set_value(parser *p, const mnemonic *n) {
    char text[64];
    bool five = n->n == 5;
    ptx_op how = five ? combiner(n->part[2]) : PTX__COUNT;
    if (n->n < 4 || n->n > 5 || (five && how == PTX__COUNT))
        fail(p, "the instruction '%s' is not known", n->text);
    token to = n->part[n->n - 2];
    if (!same(to, "u32") && !same(to, "s32") && !same(to, "f32"))
        fail(p, "the instruction '%s' is not known", n->text);
    snprintf(text, sizeof text, "setp.%.*s.%.*s", (int)n->part[1].n, n->part[1].s, (int)last(n).n, last(n).s);
    int32_t d = target(p), yes = scratch(p);
    comma(p);
    compare(p, n, how, text, yes, SINK);
    int32_t one = constant(p, same(to, "f32") ? ptx_of_f32(1) : UINT32_MAX), zero = constant(p, 0);
    ptx_ins *i = emit(p, PTX_SELP);
    i->d = d;
    i->a = one;
    i->b = zero;
    i->c = yes;
}

/* --- conversions --- */

static unsigned cvt_type(parser *p, const mnemonic *n, token t) {
    static const char *const types[] = {
#define X(t) #t,
        PTX_TYPES(X)
#undef X
    };
    for (unsigned k = 0; k < PTX_TYPE__COUNT; k++)
        if (same(t, types[k]))
            return k;
    fail(p, "the instruction '%s' is not known", n->text);
}

static ptx_op extension(unsigned type) {
    static const uint16_t ops[] = {PTX_EXT_U8, PTX_EXT_U16, PTX_EXT_U32, PTX_EXT_U64,
                                   PTX_EXT_S8, PTX_EXT_S16, PTX_EXT_S32, PTX_EXT_S64};
    return (ptx_op)ops[type];
}

static void convert(parser *p, const mnemonic *n) {
    ptx_cvt how = {.flush = n->flush, .saturate = n->saturate};
    unsigned k = 0;
    if (n->n < 3 || n->n > 4)
        fail(p, "the instruction '%s' is not known", n->text);
    while (n->n == 4 && roundings[k] && !same(n->part[1], roundings[k]))
        k++;
    if (n->n == 4 && !roundings[k])
        fail(p, "the instruction '%s' is not known", n->text);
    how.round = (uint8_t)k;
    how.to = (uint8_t)cvt_type(p, n, n->part[n->n - 2]);
    how.from = (uint8_t)cvt_type(p, n, last(n));
    int32_t d = target(p);
    comma(p);
    int32_t a = source(p, type_of(last(n)));
    bool whole = how.to < PTX_TYPE_f16 && how.from < PTX_TYPE_f16;
    bool wider = (how.to & 3) > (how.from & 3); /* of integers: the number's lowest bits are the size */
    const op_name *short_form = how.flush || how.saturate ? NULL : find(p, n->text);
    ptx_op op = PTX_CONVERT;
    if (whole && !how.saturate)
        op = extension(wider ? how.from : how.to);
    else if (short_form)
        op = short_form->op;
    emit3(p, op, d, a, PTX_SCRATCH);
    if (op == PTX_CONVERT)
        memcpy(&p->fn->code[p->fn->ncode - 1].imm, &how, sizeof how);
}

/* --- where threads meet --- */

/* d[|q], a, ... mask */
static void meet_lanes(parser *p, const mnemonic *n) {
    static const struct {
        const char *name;
        ptx_op op;
    } rows[] = {{"shfl.sync.idx.b32", PTX_SHFL_IDX},      {"shfl.sync.up.b32", PTX_SHFL_UP},
                {"shfl.sync.down.b32", PTX_SHFL_DOWN},    {"shfl.sync.bfly.b32", PTX_SHFL_BFLY},
                {"match.all.sync.b32", PTX_MATCH_ALL_32}, {"match.all.sync.b64", PTX_MATCH_ALL_64}};
    ptx_ins i = {.aux = 1};
    unsigned k = 0;
    while (k < sizeof rows / sizeof *rows && strcmp(rows[k].name, n->text) != 0)
        k++;
    if (k == sizeof rows / sizeof *rows) {
        plain(p, n);
        return;
    }
    i.op = (uint16_t)rows[k].op;
    i.d = target(p);
    i.imm = accept(p, "|") ? target(p) : 0;
    comma(p);
    i.a = i.b = source(p, 'i');
    comma(p);
    if (k < 4) {
        i.b = source(p, 'i');
        comma(p);
        i.e = source(p, 'i');
        comma(p);
    }
    i.c = source(p, 'i');
    *emit(p, rows[k].op) = i;
}

static void meet_block(parser *p, const mnemonic *n) {
    static const struct {
        const char *name;
        ptx_op op;
        char type;
    } rows[] = {{"bar.sync", PTX_BAR, 0},
                {"barrier.sync", PTX_BAR, 0},
                {"bar.red.and.pred", PTX_BAR_AND, 'p'},
                {"bar.red.or.pred", PTX_BAR_OR, 'p'},
                {"bar.red.popc.u32", PTX_BAR_POPC, 'i'},
                {"bar.warp.sync", PTX_SYNCWARP, 'w'}};
    unsigned k = 0;
    while (k < sizeof rows / sizeof *rows && strcmp(rows[k].name, n->text) != 0)
        k++;
    if (k == sizeof rows / sizeof *rows)
        fail(p, "the instruction '%s' is not known", n->text);
    ptx_ins i = {.op = (uint16_t)rows[k].op, .aux = 1, .d = SINK, .a = SINK, .b = SINK};
    if (rows[k].type == 'w') {
        i.c = source(p, 'i');
    } else if (rows[k].type) {
        i.d = target(p);
        comma(p);
        i.imm = integer(p);
        comma(p);
        i.b = source(p, 'p');
        if (accept(p, ",")) { /* it was the number of threads */
            i.a = i.b;
            i.b = source(p, 'p');
        }
    } else {
        i.imm = integer(p);
        if (accept(p, ","))
            i.a = source(p, 'i');
    }
    if (i.imm < 0 || i.imm >= PTX_BARRIERS)
        fail(p, "a block has %d barriers", PTX_BARRIERS);
    *emit(p, rows[k].op) = i;
}

/* --- the way --- */

static void jump(parser *p, ptx_op op, int32_t when) {
    token t = word(p);
    uint32_t at = p->fn->ncode;
    emit(p, op)->a = when;
    *PUSH(p, p->later, p->nlater, p->caplater) = (later){t, p->at_line, at, -1};
}

static void jump_by_table(parser *p) {
    uint32_t which;
    int32_t a = source(p, 'i');
    comma(p);
    token t = word(p);
    const sym *s = find_sym(p, t, &which);
    if (!s || s->kind != S_TABLE)
        fail(p, "'%.*s' is no table of places", (int)t.n, t.s);
    ptx_ins *i = emit(p, PTX_BRX);
    i->a = a;
    i->imm = (int64_t)s->at;
}

static void table_of(parser *p, token name) {
    ptx_fn *f = p->fn;
    uint32_t at = f->ntables;
    sym *s = add_sym(p, name, S_TABLE);
    s->at = at;
    *PUSH(p, f->tables, f->ntables, f->captables) = 0;
    do {
        *PUSH(p, p->later, p->nlater, p->caplater) = (later){word(p), p->at_line, 0, f->ntables};
        *PUSH(p, f->tables, f->ntables, f->captables) = 0;
        f->tables[at]++;
    } while (accept(p, ","));
    expect(p, ";");
}

/* Names of parameters in parentheses. */
static unsigned given(parser *p, const sym **out, unsigned most) {
    unsigned n = 0;
    uint32_t which;
    expect(p, "(");
    while (!is(p, ")")) {
        token t = word(p);
        const sym *s = find_sym(p, t, &which);
        if (!s || s->kind != S_PARAM || n == most)
            fail(p, "'%.*s' cannot be given to a function", (int)t.n, t.s);
        out[n++] = s;
        if (!accept(p, ","))
            break;
    }
    expect(p, ")");
    return n;
}

static void copy_param(parser *p, ptx_op op, const ptx_param *of, const sym *s) {
    if (of->bytes != s->bytes)
        fail(p, "'%.*s' has another size than %s", (int)s->name.n, s->name.s, of->name);
    ptx_ins *i = emit(p, op);
    i->d = (int32_t)(op == PTX_GIVE ? of->at : s->at);
    i->a = (int32_t)(op == PTX_GIVE ? s->at : of->at);
    i->imm = (int64_t)((of->bytes + 7) / 8 * 8);
}

static void call(parser *p) {
    enum { MOST = 256 };
    const sym *results[2], *args[MOST];
    unsigned nresults = 0, nargs = 0;
    if (is(p, "(")) {
        nresults = given(p, results, 2);
        comma(p);
    }
    token name = word(p);
    ptx_fn *f = find_fn(p->m, name);
    if (accept(p, ","))
        nargs = given(p, args, MOST);
    if (!f)
        fail(p, "the function '%.*s' is not known", (int)name.n, name.s);
    if (f->nresults != nresults || f->nparams - f->nresults != nargs)
        fail(p, "%s takes %u and gives %u", f->name, f->nparams - f->nresults, f->nresults);
    if (!strcmp(f->name, "vprintf") && nargs == 2) {
        emit3(p, PTX_PRINT, (int32_t)results[0]->at, (int32_t)args[0]->at, (int32_t)args[1]->at);
        return;
    }
    *PUSH(p, p->fn->calls, p->fn->ncalls, p->fn->capcalls) = f;
    emit(p, PTX_PREPARE)->imm = (int64_t)(uintptr_t)f;
    for (unsigned k = 0; k < nargs; k++)
        copy_param(p, PTX_GIVE, &f->params[f->nresults + k], args[k]);
    emit(p, PTX_CALL)->imm = (int64_t)(uintptr_t)f;
    for (unsigned k = 0; k < nresults; k++)
        copy_param(p, PTX_TAKE, &f->params[k], results[k]);
}

/* --- statements --- */

static void instruction(parser *p, token t) {
    mnemonic n;
    read_name(p, t, &n);
    token first = n.part[0];
    if (same(first, "ld") || same(first, "st"))
        transfer(p, &n, same(first, "ld"));
    else if (same(first, "mov"))
        move(p, &n);
    else if (same(first, "setp"))
        set_predicate(p, &n);
    else if (same(first, "set"))
        set_value(p, &n);
    else if (same(first, "cvt"))
        convert(p, &n);
    else if (same(first, "shfl") || same(first, "match"))
        meet_lanes(p, &n);
    else if (same(first, "bar") || same(first, "barrier"))
        meet_block(p, &n);
    else if (!strcmp(n.text, "call"))
        call(p);
    else if (!strcmp(n.text, "bra"))
        jump(p, PTX_BRA, SINK);
    else if (!strcmp(n.text, "brx.idx"))
        jump_by_table(p);
    else
        plain(p, &n);
    expect(p, ";");
}

/* @p: the rest of it happens or not. */
static void guarded(parser *p) {
    bool contrary = accept(p, "!");
    int32_t when = named(p, word(p));
    token t = word(p);
    if (same(t, "bra") || same(t, "bra.uni")) {
        jump(p, contrary ? PTX_BRANCH_NOT : PTX_BRANCH, when);
        expect(p, ";");
        return;
    }
    uint32_t at = p->fn->ncode;
    emit(p, contrary ? PTX_BRANCH : PTX_BRANCH_NOT)->a = when;
    instruction(p, t);
    p->fn->code[at].imm = p->fn->ncode;
}

static void label_or_instruction(parser *p) {
    token t = word(p);
    if (!accept(p, ":")) {
        instruction(p, t);
    } else if (accept(p, ".branchtargets")) {
        table_of(p, t);
    } else {
        label *l = PUSH(p, p->labels, p->nlabels, p->caplabels);
        *l = (label){t, p->fn->ncode};
    }
}

void statement(parser *p) {
    p->scratch = FIRST_SCRATCH;
    if (accept(p, "{"))
        open_scope(p);
    else if (accept(p, "}"))
        close_scope(p);
    else if (is(p, ".reg"))
        declare_registers(p);
    else if (is(p, ".param"))
        declare_param(p);
    else if (is(p, ".shared") || is(p, ".local") || is(p, ".global") || is(p, ".const"))
        declare_variable(p);
    else if (is(p, ".loc") || is(p, ".file"))
        skip_line(p);
    else if (is(p, ".pragma"))
        skip_statement(p);
    else if (accept(p, "@"))
        guarded(p);
    else if (!accept(p, ";"))
        label_or_instruction(p);
}

static int64_t place_of(parser *p, const later *l) {
    for (uint32_t k = 0; k < p->nlabels; k++)
        if (p->labels[k].name.n == l->name.n && !memcmp(p->labels[k].name.s, l->name.s, l->name.n))
            return p->labels[k].at;
    p->at_line = l->line;
    fail(p, "the label '%.*s' is not there", (int)l->name.n, l->name.s);
}

void finish_code(parser *p) {
    ptx_fn *f = p->fn;
    emit(p, PTX_RET); /* a label may stand at the end */
    for (uint32_t k = 0; k < p->nlater; k++) {
        const later *l = &p->later[k];
        *(l->table < 0 ? &f->code[l->ins].imm : &f->tables[l->table]) = place_of(p, l);
    }
    for (uint32_t k = 0; k < f->ncode; k++)
        switch ((ptx_op)f->code[k].op) {
        case PTX_PREPARE:
        case PTX_GIVE:
        case PTX_TAKE:
        case PTX_CALL: f->code[k].e = (int32_t)f->nslots; break;
        default: break;
        }
    p->nlater = p->nlabels = 0;
}
