/* A pattern's ports: the operands of the node, each with a role (ir/roles.def). What is known of each role as
 * data, walks over them, and making nodes of them. */
#ifndef TR_IR_PORTS_H
#define TR_IR_PORTS_H

#include "ir/ir.h"

typedef enum tr_portjoin { TR_JOIN_NONE, TR_JOIN_RED, TR_JOIN_SCATTER, TR_JOIN_TOP } tr_portjoin;
typedef enum tr_portis {
    TR_PORT_SIZE,
    TR_PORT_FLAG,
    TR_PORT_NUMBER,
    TR_PORT_ANY,
    TR_PORT_SPACE, /* from here on arrays */
    TR_PORT_KEPT,
    TR_PORT_BEST,
    TR_PORT_PACKED,
    TR_PORT_TARGET
} tr_portis;
typedef enum tr_porttakes { TR_TAKES_NONE, TR_TAKES_INDEX, TR_TAKES_ITEM, TR_TAKES_VALUE } tr_porttakes;
typedef enum tr_portgives {
    TR_GIVES_NONE,
    TR_GIVES_ITEM,
    TR_GIVES_VALUE,
    TR_GIVES_KEY,
    TR_GIVES_PLACE
} tr_portgives;
enum {
    TR_MEM_NONE = 0,
    TR_MEM_READ = 1,
    TR_MEM_WRITE = 2,
    TR_MEM_INSIDE = 4, /* as its functions have it */
    TR_MEM_UPDATE = TR_MEM_READ | TR_MEM_WRITE
};

typedef struct tr_roleinfo {
    const char *word, *mark;
    uint32_t most;
    uint8_t join, operand; /* tr_portjoin, tr_portis */
    char of;
    uint8_t takes[2], gives[2]; /* tr_porttakes, tr_portgives, by TR_LAM and TR_EPI */
    uint8_t memory;             /* TR_MEM_* */
} tr_roleinfo;
extern const tr_roleinfo tr_role_info[TR_ROLE__COUNT];

/* The operands of one role, and where what is theirs stands in one of the functions. */
typedef struct tr_ports {
    const tr_roleinfo *is;
    uint32_t role, n, arg, param, slot; /* slot: of a place, the first one's */
} tr_ports;
/* for (tr_ports g = tr_ports_of(p, fn); tr_ports_left(&g); tr_ports_next(p, fn, &g)): all roles in their
 * order */
tr_ports tr_ports_of(const tr_pat *p, unsigned fn);
static inline bool tr_ports_left(const tr_ports *g) {
    return g->role < TR_ROLE__COUNT;
}
void tr_ports_next(const tr_pat *p, unsigned fn, tr_ports *g);

tr_role tr_pat_role(const tr_pat *p, uint32_t operand);
/* The first operand from `from` on with which something of `memory` (TR_MEM_*) is done; nargs: none.
 * for (k = 0; (k = tr_pat_with(p, TR_MEM_WRITE, k)) < nargs; k++) */
uint32_t tr_pat_with(const tr_pat *p, unsigned memory, uint32_t from);
/* Has the node operands of no other roles? has_only(p, P_(SPACE) | P_(IN)): what asks so knows them all, and
 * a role that comes later does not slip in. */
#define P_(id) (1u << P_##id)
static inline bool tr_pat_has_only(const tr_pat *p, uint32_t roles) {
    uint32_t all = 0;
    for (unsigned r = 0; r < TR_ROLE__COUNT; r++)
        all |= p->n[r] ? 1u << r : 0;
    return !(all & ~roles);
}
/* It reads and writes arrays at the node's index, and nothing else. */
static inline bool tr_pat_is_map(const tr_pat *p) {
    return !p->keep && tr_pat_has_only(p, P_(SPACE) | P_(IN) | P_(OUT) | P_(CAP));
}
/* The param of one of the functions that operand has; TR_NOVAL: it has none. */
tr_val tr_port_param(const tr_pat *p, unsigned fn, uint32_t operand);
/* How many values a function yields for an operand of a role, whose value is v. */
static inline uint32_t tr_port_nvalues(const tr_fn *f, unsigned role, unsigned fn, tr_val v) {
    return tr_role_info[role].gives[fn] == TR_GIVES_PLACE ? tr_at(f, v)->ty->ndim + 1u : 1;
}
/* The words that say how values of a role come together. */
const char *const *tr_join_words(tr_portjoin join, unsigned *n);
/* The first captured value among the params of a function of the node. */
static inline uint32_t tr_pat_cap(const tr_pat *p, const tr_fn *f) {
    return f == p->lam || f == p->epi ? tr_pat_param(p, f == p->epi ? TR_EPI : TR_LAM, P_CAP) : TR_BY_CAP;
}
/* Some reduction is by a function of the node. */
bool tr_pat_joins(const tr_pat *p);
/* What the node's reductions come to: none with kept axes, one, or a tuple. */
const tr_ty *tr_pat_result(const tr_fn *f, const tr_pat *p, const tr_val *args);

/* --- making one --- */

/* A node in the making: its operands by role. What else it says is set in `t`. */
typedef struct tr_node {
    tr_fn *f;
    tr_pat t;
    TR_VEC(tr_val) of[TR_ROLE__COUNT];
    TR_VEC(tr_join) joins[TR_ROLE__COUNT];
} tr_node;
tr_node tr_node_new(tr_fn *f);
/* Number of the operand among those of its role; `once`: it may be there already. */
uint32_t tr_node_put(tr_node *m, tr_role role, tr_val v);
uint32_t tr_node_once(tr_node *m, tr_role role, tr_val v);
uint32_t tr_node_join(tr_node *m, tr_role role, tr_val v, tr_join how);
void tr_node_put_all(tr_node *m, tr_role role, const tr_val *v, uint32_t n);
/* All operands of a role that another node has. */
void tr_node_take(tr_node *m, tr_role role, const tr_ins *from);
void tr_node_count(tr_node *m);                  /* says in t how many there are of each, by now */
tr_pat *tr_node_make(tr_node *m, tr_val **args); /* with its operands */
tr_val tr_node_emit(tr_node *m, tr_bld *b);

/* Takes an operand away, with what the functions yield for it and how it is joined; not its param. */
void tr_port_drop(tr_fn *f, tr_val pattern, uint32_t operand);
/* Gives a node one more operand of a role with which its functions have nothing to do. */
void tr_port_add(tr_fn *f, tr_val pattern, tr_role role, tr_val v);

#endif
