/* Bytecode of any supported CPython to neutral instructions.
 *
 * One table per version (bc_VVV.def, generated) says what each opcode becomes and by which
 * transform; what does not fit in a table is the short list of quirks below. Instructions that do
 * several things at once become several neutral ones. Any bytes decode to something or to an
 * error: nothing here trusts the code object.
 * Cost: one pass, some 10 ns per
 * instruction. */
#include "front/internal.h"

#include <assert.h>

#include "ty/obj.h"

#define TRANSFORMS(X)                                                                   \
    X(SKIP)     /* no instruction */                                                    \
    X(EXT)      /* EXTENDED_ARG */                                                      \
    X(ARG)      /* the argument as it stands */                                         \
    X(ZERO)     /* no argument */                                                       \
    X(COMMON)   /* the version's number of an object */                                 \
    X(LOADLOAD) /* two in one; the argument holds two locals */                         \
    X(STORESTORE)                                                                       \
    X(STORELOAD)                                                                        \
    X(GLOBAL) /* bit 0: with a null beside it */                                        \
    X(ATTR)   /* from 3.12 on bit 0: a method call follows */                           \
    X(METHOD)                                                                           \
    X(POS)                                                                              \
    X(NEG)                                                                              \
    X(NOT)                                                                              \
    X(INVERT)                                                                           \
    X(BINOP)                                                                            \
    X(CMP)                                                                              \
    X(SLICED) /* a slice of the two topmost values, then the operation */               \
    X(ONTOP)  /* the list must be right below the item, else it is a comprehension's */ \
    X(ADDED)  /* a set's item, a dict's key and value: the same, as a tuple of one */   \
    X(INTRINSIC1)                                                                       \
    X(FORMAT)                                                                           \
    X(CONVERT)                                                                          \
    X(CALLEX)                                                                           \
    X(GETITER)                                                                          \
    X(FORITER)                                                                          \
    X(POPITER)                                                                          \
    X(FORWARD)                                                                          \
    X(BACKWARD)                                                                         \
    X(ORPOP) /* jumps and keeps the value, or drops it and goes on */                   \
    X(CONSTRET)                                                                         \
    X(MAPMERGE) /* the map must be right below, as in a call */                         \
    X(SPECIAL)                                                                          \
    X(WITHEXIT)
enum {
#define X(id) XF_##id,
    TRANSFORMS(X)
#undef X
};

typedef struct row {
    const char *name;
    uint8_t op, xf, nyi;
} row;

#define X(num, name, op, xf) [num] = {#name, TR_N_##op, XF_##xf, 0},
#define R(num, name, why)    [num] = {#name, TR_N_REFUSED, XF_ARG, TR_NYI_##why},
#define K(num, id)
static const row rows_311[256] = {
#include "front/bc_311.def"
};
static const row rows_312[256] = {
#include "front/bc_312.def"
};
static const row rows_313[256] = {
#include "front/bc_313.def"
};
static const row rows_314[256] = {
#include "front/bc_314.def"
};
static const row rows_315[256] = {
#include "front/bc_315.def"
};
#undef X
#undef R
#undef K
/* The same tables' numbers of common objects. */
#define X(num, name, op, xf)
#define R(num, name, why)
#define K(num, id) [num] = TR_COMMON_##id,
static const uint8_t commons_314[] = {
#include "front/bc_314.def"
};
static const uint8_t commons_315[] = {
#include "front/bc_315.def"
};
#undef X
#undef R
#undef K

/* What differs between versions beyond the numbers. */
typedef struct quirks {
    int version;
    const row *rows;
    bool null_first;   /* LOAD_GLOBAL and LOAD_ATTR push the null below the callable */
    bool attr_shift;   /* LOAD_ATTR's argument has the method bit */
    uint8_t cmp_shift; /* COMPARE_OP's argument has flags below the operator */
    bool wide_for;     /* GET_ITER and FOR_ITER have the place of the whole statement */
    uint8_t for_skip;  /* instructions at the target of an exhausted FOR_ITER that it has already done */
    bool ex_map;       /* CALL_FUNCTION_EX always has keyword arguments or a null on top */
    bool iter_pair;    /* an iterator has two places on the stack */
    bool exit_pair;    /* what leaves a `with` has two */
    uint8_t ncommons;
    const uint8_t *commons; /* tr_common by number */
} quirks;
static const quirks all_quirks[] = {
    {311, rows_311, true, false, 0, true, 0, false, false, false, 0, NULL},
    {312, rows_312, true, true, 4, false, 1, false, false, false, 0, NULL},
    {313, rows_313, false, true, 5, false, 2, false, false, false, 0, NULL},
    {314, rows_314, false, true, 5, false, 2, true, false, true, sizeof commons_314, commons_314},
    {315, rows_315, false, true, 5, false, 2, true, true, true, sizeof commons_315, commons_315},
};

/* CPython's operator numbers of BINARY_OP; the in-place forms follow, and from 3.14 on the subscript. */
static const uint8_t binops[] = {TR_BIN_ADD, TR_BIN_AND, TR_BIN_FLOORDIV, TR_BIN_SHL, TR_BIN_MATMUL,
                                 TR_BIN_MUL, TR_BIN_MOD, TR_BIN_OR,       TR_BIN_POW, TR_BIN_SHR,
                                 TR_BIN_SUB, TR_BIN_DIV, TR_BIN_XOR};
enum { NBINOPS = sizeof binops };

static const quirks *find_version(int version) {
    for (size_t i = 0; i < sizeof all_quirks / sizeof *all_quirks; i++)
        if (all_quirks[i].version == version)
            return &all_quirks[i];
    return NULL;
}

const char *tr_front_opcode_name(int version, uint32_t opcode) {
    const quirks *q = find_version(version);
    return q && opcode < 256 && q->rows[opcode].name ? q->rows[opcode].name : "unknown";
}

bool tr_front_malformed(tr_ctx *ctx, const tr_code *c, const char *what) {
    return tr_fail(ctx, TR_ERR_INTERNAL, "malformed bytecode (Python %d.%d): %s", c->version / 100,
                   c->version % 100, what);
}

enum { MOST_OF_ONE = 4 }; /* neutral instructions */

typedef struct decoder {
    tr_ctx *ctx;
    const tr_code *c;
    const quirks *q;
    tr_bc *ins;
    uint32_t n, off;
} decoder;

static void put_aux(decoder *d, tr_nop op, uint32_t arg, uint8_t aux, uint16_t flags) {
    assert(d->n < d->c->ncode / 2 * MOST_OF_ONE && "no instruction becomes more than there is room for");
    d->ins[d->n++] = (tr_bc){(uint8_t)op, aux, flags, (int32_t)arg, d->off};
}
static void put(decoder *d, tr_nop op, uint32_t arg) {
    put_aux(d, op, arg, 0, 0);
}
static void refuse(decoder *d, tr_nyi_id why, uint32_t opcode) {
    put_aux(d, TR_N_REFUSED, opcode, (uint8_t)why, 0);
}

static void put_attr(decoder *d, uint32_t name, bool method) {
    if (method && d->q->null_first) {
        put(d, TR_N_PUSHNULL, 0);
        put(d, TR_N_SWAP, 2);
    }
    put(d, TR_N_ATTR, name);
    if (method && !d->q->null_first)
        put(d, TR_N_PUSHNULL, 0);
}

static void put_global(decoder *d, uint32_t arg) {
    if ((arg & 1) && d->q->null_first)
        put(d, TR_N_PUSHNULL, 0);
    put(d, TR_N_GLOBAL, arg >> 1);
    if ((arg & 1) && !d->q->null_first)
        put(d, TR_N_PUSHNULL, 0);
}

/* Jumps hold the code unit they go to until all units are known; a unit past the end
 * becomes one that decode refuses. */
static void put_jump(decoder *d, uint8_t op, int64_t unit) {
    put_aux(d, (tr_nop)op, unit < 0 || unit > INT32_MAX ? (uint32_t)INT32_MAX : (uint32_t)unit, 0, BC_JUMP);
}

static void put_common(decoder *d, uint32_t opcode, uint32_t number) {
    if (number >= d->q->ncommons)
        refuse(d, TR_NYI_BYTECODE, opcode);
    else
        put(d, TR_N_COMMON, d->q->commons[number]);
}

/* The second place of an iterator, if there is one, is a null below it: what clears the stack up cares for
 * their number alone, and FORITER finds the iterator on top in all versions. */
static void put_getiter(decoder *d) {
    if (d->q->iter_pair) {
        put(d, TR_N_PUSHNULL, 0);
        put(d, TR_N_SWAP, 2);
    }
    put(d, TR_N_GETITER, 0);
}
static void put_popiter(decoder *d) {
    put(d, TR_N_POP, 0);
    if (d->q->iter_pair)
        put(d, TR_N_POP, 0);
}

/* One instruction of CPython. `next` is the unit behind it and its inline caches. At most 4
 * neutral ones come out. */
static void expand(decoder *d, uint32_t opcode, const row *r, uint32_t arg, uint32_t next) {
    switch (r->xf) {
    case XF_SKIP:
    case XF_EXT: break;
    case XF_ARG:
        if (r->op == TR_N_REFUSED)
            refuse(d, (tr_nyi_id)r->nyi, opcode);
        else
            put(d, (tr_nop)r->op, arg);
        break;
    case XF_ZERO: put(d, (tr_nop)r->op, 0); break;
    case XF_COMMON: put_common(d, opcode, arg); break;
    case XF_LOADLOAD:
        put(d, TR_N_LOAD, arg >> 4);
        put(d, TR_N_LOAD, arg & 15);
        break;
    case XF_STORESTORE:
        put(d, TR_N_STORE, arg >> 4);
        put(d, TR_N_STORE, arg & 15);
        break;
    case XF_STORELOAD:
        put(d, TR_N_STORE, arg >> 4);
        put(d, TR_N_LOAD, arg & 15);
        break;
    case XF_GLOBAL: put_global(d, arg); break;
    case XF_ATTR: put_attr(d, d->q->attr_shift ? arg >> 1 : arg, d->q->attr_shift && (arg & 1)); break;
    case XF_METHOD: put_attr(d, arg, true); break;
    case XF_SPECIAL:
        if (arg > 1)
            refuse(d, TR_NYI_ASYNC, opcode);
        else
            put(d, TR_N_SPECIAL, arg);
        break;
    case XF_WITHEXIT: put(d, TR_N_WITHEXIT, d->q->exit_pair ? 5 : 4); break;
    case XF_MAPMERGE:
        if (arg == 1)
            put(d, TR_N_MAPMERGE, 0);
        else
            refuse(d, TR_NYI_BYTECODE, opcode);
        break;
    case XF_POS: put(d, TR_N_UNOP, TR_UN_POS); break;
    case XF_NEG: put(d, TR_N_UNOP, TR_UN_NEG); break;
    case XF_NOT: put(d, TR_N_UNOP, TR_UN_NOT); break;
    case XF_INVERT: put(d, TR_N_UNOP, TR_UN_INVERT); break;
    case XF_BINOP:
        if (arg == 2 * NBINOPS)
            put(d, TR_N_SUBSCR, 0);
        else if (arg > 2 * NBINOPS)
            refuse(d, TR_NYI_BYTECODE, opcode);
        else
            put_aux(d, TR_N_BINOP, binops[arg % NBINOPS], arg >= NBINOPS, 0);
        break;
    case XF_CMP:
        arg >>= d->q->cmp_shift;
        if (arg >= TR_CMP__COUNT)
            refuse(d, TR_NYI_BYTECODE, opcode);
        else
            put(d, TR_N_CMP, arg);
        break;
    case XF_SLICED:
        put(d, TR_N_SLICE, 2);
        put(d, (tr_nop)r->op, 0);
        break;
    case XF_ONTOP:
        if (arg == 1)
            put(d, (tr_nop)r->op, 0);
        else if (r->op == TR_N_LISTAPPEND)
            put(d, TR_N_COMPAPPEND, arg + 1);
        else if (r->op == TR_N_MAPUPDATE && arg == 2)
            put(d, TR_N_MATCHREST, 0);
        else
            refuse(d, TR_NYI_COMPREHENSION, opcode);
        break;
    case XF_ADDED:
        if (r->op == TR_N_MAPUPDATE)
            put(d, TR_N_TUPLE, 2);
        if (arg == 1)
            put(d, TR_N_TUPLE, 1);
        put(d, arg == 1 ? (tr_nop)r->op : TR_N_COMPAPPEND, arg == 1 ? 0 : arg + 1);
        break;
    case XF_INTRINSIC1:
        if (arg == 5)
            put(d, TR_N_UNOP, TR_UN_POS);
        else if (arg == 6)
            put(d, TR_N_LISTTUPLE, 0);
        else
            refuse(d,
                   arg == 2               ? TR_NYI_IMPORT
                   : arg == 3 || arg == 4 ? TR_NYI_GENERATOR
                                          : TR_NYI_ANNOTATION_SCOPE,
                   opcode);
        break;
    case XF_FORMAT: /* bits 0-1: 0 plain, 1 !s, 2 !r, 3 !a; bit 2: with a specification */
        if (arg & 4)
            put(d, TR_N_SPEC, arg & 3);
        else if (arg >= 2)
            put(d, TR_N_CONVERT, arg);
        else
            put(d, TR_N_FORMAT, 0);
        break;
    case XF_CONVERT: /* FORMAT_SIMPLE or FORMAT_WITH_SPEC follows */ put(d, TR_N_CONVERT, arg); break;
    case XF_CALLEX: put(d, TR_N_CALLEX, d->q->ex_map ? 1 : arg); break;
    case XF_GETITER:
        if (arg) /* of `yield from` */
            refuse(d, TR_NYI_GENERATOR, opcode);
        else
            put_getiter(d);
        break;
    case XF_POPITER: put_popiter(d); break;
    case XF_FORITER:
        put_jump(d, TR_N_FORITER, (int64_t)next + arg);
        put(d, TR_N_FORNEXT, 0);
        break;
    case XF_FORWARD: put_jump(d, r->op, (int64_t)next + arg); break;
    case XF_BACKWARD: put_jump(d, r->op, (int64_t)next - arg); break;
    case XF_ORPOP:
        put(d, TR_N_COPY, 1);
        put_jump(d, r->op, (int64_t)next + arg);
        put(d, TR_N_POP, 0);
        break;
    case XF_CONSTRET:
        put(d, TR_N_CONST, arg);
        put(d, TR_N_RETURN, 0);
        break;
    default: refuse(d, TR_NYI_BYTECODE, opcode);
    }
}

/* The units become instructions; at[unit] is the first instruction of the unit, its prefixes included. */
static bool decode_units(decoder *d, uint32_t *at, uint32_t nunits) {
    const uint8_t *code = d->c->code;
    for (uint32_t i = 0; i < nunits;) {
        uint32_t start = i, arg = code[2 * i + 1], next;
        const row *r = &d->q->rows[code[2 * i]];
        while (r->xf == XF_EXT && r->name && i + 1 < nunits && i - start < 3) {
            i++;
            arg = arg << 8 | code[2 * i + 1];
            r = &d->q->rows[code[2 * i]];
        }
        for (next = i + 1; next < nunits && code[2 * next] == 0;)
            next++; /* inline caches are zeroed in co_code */
        for (uint32_t k = start; k < next; k++)
            at[k] = k <= i ? d->n : UINT32_MAX;
        d->off = start * 2;
        if (arg > INT32_MAX)
            return tr_front_malformed(d->ctx, d->c, "an argument is too large");
        if (r->name)
            expand(d, code[2 * i], r, arg, next);
        else
            refuse(d, TR_NYI_BYTECODE, code[2 * i]);
        i = next;
    }
    at[nunits] = d->n;
    return true;
}

/* Gives the steps of a loop the place of what is iterated, as later versions do. */
static void narrow_loops(decoder *d) {
    for (uint32_t i = 1; d->q->wide_for && i < d->n; i++) {
        uint8_t op = d->ins[i].op, before = d->ins[i - 1].op;
        if (op == TR_N_GETITER || (op == TR_N_FORITER && before == TR_N_GETITER) || op == TR_N_FORNEXT)
            d->ins[i].off = d->ins[i - 1].off;
    }
}

/* Jump targets become instruction numbers. An exhausted FOR_ITER goes past the clean-up
 * that stands at its target. */
static bool link_jumps(decoder *d, const uint32_t *at, uint32_t nunits) {
    for (uint32_t i = 0; i < d->n; i++) {
        tr_bc *b = &d->ins[i];
        if (!(b->flags & BC_JUMP))
            continue;
        if ((uint32_t)b->arg >= nunits || at[b->arg] == UINT32_MAX)
            return tr_front_malformed(d->ctx, d->c, "a jump goes nowhere");
        uint32_t to = at[b->arg];
        if (b->op == TR_N_FORITER && d->q->for_skip > 0) {
            if (to + d->q->for_skip > d->n || d->ins[to].op != TR_N_ENDFOR ||
                (d->q->for_skip > 1 && d->ins[to + 1].op != TR_N_POP))
                return tr_front_malformed(d->ctx, d->c, "a loop has no end");
            to += d->q->for_skip;
        }
        if (to >= d->n)
            return tr_front_malformed(d->ctx, d->c, "a jump goes past the end");
        b->arg = (int32_t)to;
    }
    return true;
}

/* `any(x for x in a)`: from 3.14 on a loop stands there for the case that `any` is the builtin, behind a test
 * of that, and then the call. The call means the same and is what later stages know. */
static void drop_consumers(decoder *d) {
    for (uint32_t i = 1; i + 2 < d->n; i++) {
        tr_bc *b = &d->ins[i - 1];
        if (b[1].op != TR_N_COMMON || b[1].arg != TR_COMMON_CONSUMER || b[0].op != TR_N_COPY ||
            b[0].arg != 1 || b[2].op != TR_N_IS || b[2].arg != 0 || b[3].op != TR_N_BRFALSE)
            continue;
        b[0].op = b[1].op = b[2].op = TR_N_NOP;
        b[3].op = TR_N_JUMP;
        for (uint32_t k = i + 3; k < (uint32_t)b[3].arg;
             k++) /* that loop is none of those that rounds.c looks for */
            d->ins[k] = (tr_bc){TR_N_NOP, 0, 0, 0, d->ins[k].off};
    }
}

/* `case {'a': x, **rest}` copies the mapping and deletes the keys, which are unpacked, one after the
 * other. That is one step here, since of a record with names no key is deleted. */
static void drop_deletions(decoder *d) {
    for (uint32_t i = 0; i + 1 < d->n; i++) {
        if (d->ins[i].op != TR_N_MATCHREST || d->ins[i + 1].op != TR_N_UNPACK)
            continue;
        uint32_t n = d->ins[i + 1].arg < 0 ? 0 : (uint32_t)d->ins[i + 1].arg;
        for (uint32_t k = i + 2; n > 0 && k < d->n && d->ins[k].op != TR_N_STORE; k++) {
            uint8_t op = d->ins[k].op;
            n -= op == TR_N_DELSUBSCR;
            if (op == TR_N_DELSUBSCR || op == TR_N_COPY || op == TR_N_SWAP)
                d->ins[k].op = op == TR_N_DELSUBSCR ? TR_N_POP : TR_N_NOP;
        }
    }
}

/* A number of the exception table: six bits a byte, bit 6 says that more follow. */
static bool exc_number(const tr_code *c, uint32_t *pos, uint32_t *out) {
    uint64_t v = 0;
    for (int k = 0; k < 6 && *pos < c->nexctab; k++) {
        uint8_t b = c->exctab[(*pos)++];
        v = v << 6 | (b & 63u);
        if (!(b & 64)) {
            *out = (uint32_t)v;
            return v <= INT32_MAX;
        }
    }
    return false;
}

/* Which range each instruction lies in; the table's do not overlap. */
static bool cover(decoder *d, tr_decoded *out) {
    out->covered = TR_NEW_N(&d->ctx->arena, uint32_t, (size_t)d->n + 1);
    for (uint32_t k = 0; k < out->nexc; k++)
        for (uint32_t i = out->exc[k].start; i < out->exc[k].end; i++) {
            if (out->covered[i])
                return tr_front_malformed(d->ctx, d->c, "ranges of the exception table overlap");
            out->covered[i] = k + 1;
        }
    return true;
}

/* A handler that only cleans up the interpreter's own state (its stack, variables of an inlined
 * comprehension) and raises again, out of the function. */
static bool is_trivial(const decoder *d, const tr_decoded *out, uint32_t handler) {
    for (uint32_t i = handler; i < d->n; i++)
        switch (d->ins[i].op) {
        case TR_N_NOP:
        case TR_N_CONST:
        case TR_N_STORE:
        case TR_N_DEL:
        case TR_N_POP:
        case TR_N_COPY:
        case TR_N_SWAP:
        case TR_N_PUSHEXC:
        case TR_N_POPEXC: break;
        case TR_N_RERAISE: return !out->covered[i];
        default: return false;
        }
    return false;
}

/* Ranges with such handlers are none. Without them the handlers that they guard may be such. */
static void drop_trivial(decoder *d, tr_decoded *out) {
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t k = 0; k < out->nexc; k++) {
            tr_bcexc *e = &out->exc[k];
            if (e->start == e->end || !is_trivial(d, out, e->handler))
                continue;
            for (uint32_t i = e->start; i < e->end; i++)
                out->covered[i] = 0;
            e->end = e->start;
            changed = true;
        }
    }
    uint32_t left = 0;
    for (uint32_t k = 0; k < out->nexc; k++)
        left += out->exc[k].start < out->exc[k].end;
    if (!left) {
        out->nexc = 0;
        out->covered = NULL;
    }
}

static bool decode_exceptions(decoder *d, const uint32_t *at, uint32_t nunits, tr_decoded *out) {
    TR_VEC(tr_bcexc) v = {0};
    for (uint32_t pos = 0; pos < d->c->nexctab;) {
        uint32_t f[4];
        for (int k = 0; k < 4; k++)
            if (!exc_number(d->c, &pos, &f[k]))
                return tr_front_malformed(d->ctx, d->c, "the exception table is broken");
        uint64_t end = (uint64_t)f[0] + f[1];
        if (end > nunits || f[2] >= nunits || at[f[0]] == UINT32_MAX || at[end] == UINT32_MAX ||
            at[f[2]] >= d->n)
            return tr_front_malformed(d->ctx, d->c, "the exception table points outside");
        tr_bcexc e = {at[f[0]], at[end], at[f[2]], f[3] >> 1, f[3] & 1};
        if (e.start < e.end)
            tr_vec_push(&d->ctx->arena, &v, e);
    }
    out->exc = v.d;
    out->nexc = v.n;
    if (!v.n)
        return true;
    if (!cover(d, out))
        return false;
    drop_trivial(d, out);
    return true;
}

/* What later stages need not ask: jumps and ranges stay within. */
static __attribute__((unused)) bool all_is_inside(const tr_decoded *d) {
    for (uint32_t i = 0; i < d->n; i++)
        if ((d->ins[i].flags & BC_JUMP) && (uint32_t)d->ins[i].arg >= d->n)
            return false;
    for (uint32_t k = 0; k < d->nexc; k++)
        if (d->exc[k].start > d->exc[k].end || d->exc[k].end > d->n || d->exc[k].handler >= d->n)
            return false;
    return true;
}

bool tr_front_decode(tr_ctx *ctx, const tr_code *c, tr_decoded *out) {
    *out = (tr_decoded){0};
    decoder d = {.ctx = ctx, .c = c, .q = find_version(c->version)};
    if (!d.q)
        return tr_fail(ctx, TR_ERR_INTERNAL, "no bytecode table for Python %d.%d", c->version / 100,
                       c->version % 100);
    uint32_t nunits = c->ncode / 2;
    if (nunits == 0 || c->ncode % 2)
        return tr_front_malformed(ctx, c, "its length is odd or zero");
    d.ins = TR_NEW_N(&ctx->arena, tr_bc, (size_t)nunits * MOST_OF_ONE);
    uint32_t *at = TR_NEW_N(&ctx->arena, uint32_t, (size_t)nunits + 1);
    if (!decode_units(&d, at, nunits) || !link_jumps(&d, at, nunits) ||
        !decode_exceptions(&d, at, nunits, out))
        return false;
    narrow_loops(&d);
    drop_consumers(&d);
    drop_deletions(&d);
    out->ins = d.ins;
    out->n = d.n;
    assert(all_is_inside(out) && "jumps and ranges of exceptions lead to instructions");
    return true;
}
