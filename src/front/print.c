/* Normalised bytecode as text, for TREADLE_DUMP=code and tests: one line an instruction, the line of the
 * source in front where it changes, jump targets marked. */
#include "front/internal.h"

static void print_arg(tr_sb *b, const tr_code *c, const tr_bc *i) {
    uint32_t arg = (uint32_t)i->arg;
    const char *text = NULL;
    switch (tr_nop_kind(i->op)) {
    case '-': return;
    case 'L': text = arg < c->nlocalsplus ? c->localsplus[arg] : "?"; break;
    case 'C': text = arg < c->nconsts ? c->consts[arg]->repr : "?"; break;
    case 'N': text = arg < c->nnames ? c->names[arg] : "?"; break;
    case 'J': tr_sb_printf(b, " -> %u", arg); return;
    default: break;
    }
    if (i->op == TR_N_REFUSED)
        tr_sb_printf(b, " %s (%s)", tr_front_opcode_name(c->version, arg), tr_nyi_rows[i->aux].id);
    else if (i->op == TR_N_BINOP) {
        static const char *const names[] = {
#define X(id, name, sign) sign,
            TR_BINOPS(X)
#undef X
        };
        tr_sb_printf(b, " %s%s", names[arg], i->aux ? "=" : "");
    } else if (i->op == TR_N_CMP) {
        static const char *const names[] = {
#define X(id, name, sign, inverse, mirrored) sign,
            TR_CMPOPS(X)
#undef X
        };
        tr_sb_printf(b, " %s", names[arg]);
    } else if (i->op == TR_N_UNOP) {
        static const char *const names[] = {
#define X(id, name, sign) name,
            TR_UNOPS(X)
#undef X
        };
        tr_sb_printf(b, " %s", names[arg]);
    } else if (i->op == TR_N_COMMON) {
        static const char *const names[] = {
#define X(id, name) name,
            TR_COMMONS(X)
#undef X
        };
        tr_sb_printf(b, " %s", names[arg]);
    } else if (text)
        tr_sb_printf(b, " %s", text);
    else
        tr_sb_printf(b, " %u", arg);
}

void tr_front_print_code(tr_sb *b, const tr_code *c, const tr_decoded *d) {
    int32_t line = -1;
    for (uint32_t i = 0; i < d->n; i++) {
        tr_span s = tr_front_span(c, d->ins[i].off);
        bool target = false;
        for (uint32_t k = 0; k < d->n && !target; k++)
            target = (d->ins[k].flags & BC_JUMP) && (uint32_t)d->ins[k].arg == i;
        if (s.line != line)
            tr_sb_printf(b, "line %d\n", s.line);
        line = s.line;
        tr_sb_printf(b, "%s%4u %s", target ? ">>" : "  ", i, tr_nop_name[d->ins[i].op]);
        print_arg(b, c, &d->ins[i]);
        tr_sb_putc(b, '\n');
    }
    for (uint32_t k = 0; k < d->nexc; k++)
        tr_sb_printf(b, "try %u-%u -> %u\n", d->exc[k].start, d->exc[k].end, d->exc[k].handler);
}
