/* What the pass that goes by rows (byrow.c) shares: a chain of patterns, and the round that it becomes, of a
 * row (byrow_row.c) or of a block of rows (byrow_block.c). */
#ifndef TR_OPT_BYROW_H
#define TR_OPT_BYROW_H

#include "opt/pattern/fuse.h"
#include "opt/versions.h"

/* TR_ROWS_TERMS: how many a product of few rows at a time adds for an item; of more it is no gain. */
enum {
    TR_MAX_CHAIN = 12,
    TR_MAX_CHAIN_OPERANDS = 16,
    TR_MAX_CHAIN_PRODUCTS = 4,
    TR_MAX_CHAIN_ARRAYS = 2 * TR_MAX_CHAIN + TR_MAX_CHAIN_PRODUCTS,
    TR_MAX_CHAIN_TARGETS = 4,
    TR_ROWS_TERMS = 64
};

/* An array that the chain writes. */
typedef struct tr_rows_array {
    tr_val array;
    unsigned by;  /* which pattern */
    bool row;     /* an element per round: what a reduction's epilogue makes, or a pattern with one a row */
    bool chosen;  /* the best of a row, which are known at its end */
    bool seen;    /* others than the chain use it */
    bool local;   /* an array of the round */
    bool stays;   /* keeps a place of its own: a product is made of it, or it begins the chain */
    tr_val place; /* where its elements stand: itself, or what is made of it */
    tr_val value; /* row: of this round */
} tr_rows_array;

/* An array that a pattern of the chain scatters to. */
typedef struct tr_rows_target {
    tr_val array;
    unsigned by;  /* which pattern */
    tr_val fill;  /* the pattern that it begins with, of the chain then; TR_NOVAL */
    bool guarded; /* its places are tested behind the chain */
    bool blocks;  /* it adds up floats, in blocks of rows */
    tr_val empty; /* guarded: has it no places? */
} tr_rows_target;

/* A product in the chain: its call. */
typedef struct tr_rows_mul {
    tr_val call, made; /* the array */
    unsigned before;   /* which pattern it stands before */
} tr_rows_mul;

typedef struct tr_rows {
    tr_fn *f;
    tr_bid blk;
    tr_versions *forms;
    tr_bid whole;  /* the block of which blk is a part */
    bool guarded;  /* that is protected */
    unsigned k, n; /* axes of the rows; patterns */
    tr_val pats[TR_MAX_CHAIN];
    bool guards[TR_MAX_CHAIN]; /* what the pattern loads is tested behind the chain */
    unsigned nmul;
    tr_rows_mul muls[TR_MAX_CHAIN_PRODUCTS];
    tr_u32s behind; /* what stands between them and depends on what they reduce, in order */
    bool tests;     /* some of that raises */
    unsigned nw;
    tr_rows_array w[TR_MAX_CHAIN_ARRAYS];
    unsigned nt;
    tr_rows_target t[TR_MAX_CHAIN_TARGETS];
    /* the round */
    tr_bld b;
    tr_u32s caps; /* values of f, in the order of g's params behind the indices */
    tr_val *part; /* per array of f: the round's part of it */
    tr_val *map;  /* per value of f: what it is in the round */
    tr_node outer;
    bool blocks;        /* a round is a block of rows */
    bool either;        /* it is one where rows are short, else a row */
    uint32_t most;      /* how many these are at most: its place among what is captured */
    tr_val a_block;     /* where rounds scatter: how many rows have a table */
    uint32_t from, to;  /* where rounds scatter: those that begin with the first row, up to the last one */
    tr_val first, rows; /* the first one; how many there are in this round */
    tr_val written;     /* the first one among those of arrays that the chain writes and others use */
    unsigned nred;      /* values that the rounds contribute */
    tr_val red[TR_MAX_REDS];
} tr_rows;

/* What a pattern of the chain is in a round. */
typedef enum tr_rows_form {
    TR_ROWS_NONE,
    TR_ROWS_INNER,  /* a pattern, of a row's elements: a map, or some kept axes are the round's own */
    TR_ROWS_ROW,    /* one that gives values of the row */
    TR_ROWS_WHOLE,  /* one whose values the rounds contribute */
    TR_ROWS_VALUES, /* no pattern: computes with values of the row, that the rounds may contribute */
    TR_ROWS_SCATTER /* one that stores to places of an array, of which each round has all */
} tr_rows_form;

static inline tr_ins *tr_rows_def(const tr_rows *c, tr_val v) {
    return tr_at(c->f, v);
}

static inline const tr_ins *tr_rows_pattern(const tr_rows *c, unsigned i) {
    return tr_rows_def(c, c->pats[i]);
}

static inline const tr_ty *tr_rows_i64(const tr_rows *c) {
    return tr_ty_scalar(c->f->ctx->types, TR_TY_I64);
}
/* Index j of the row. */
static inline tr_val tr_rows_index(const tr_rows *c, unsigned j) {
    return tr_blk_at(c->b.fn, 0)->params.d[j];
}

/* --- byrow.c --- */

tr_rows_array *tr_rows_find(tr_rows *c, tr_val array);
/* An array of the chain's of which a row has one element here, itself or by that view of it; NULL: none. */
tr_rows_array *tr_rows_of_view(tr_rows *c, tr_val v);
tr_rows_form tr_rows_form_of(const tr_rows *c, const tr_ins *p);
bool tr_rows_are_short(const tr_rows *c, const tr_ins *in,
                       unsigned naxes);          /* one element each, of so many axes */
bool tr_rows_repeat(const tr_rows *c, tr_val v); /* an array that is the same for all */

/* --- byrow_row.c --- */

tr_val tr_rows_captured(tr_rows *c, tr_val v); /* a value from outside, in the round */
/* The same of one that is made again where it is a view. */
tr_val tr_rows_seen(tr_rows *c, tr_val v);
tr_val tr_rows_size_of(tr_rows *c, tr_val array, unsigned axis);
/* Value i of those that pattern p has reduced; the rounds contribute it. */
tr_val tr_rows_reduced(tr_rows *c, const tr_ins *p, tr_val reduced, uint32_t i);
void tr_rows_contribute(tr_rows *c, const tr_ins *p, uint32_t i, tr_val x);
/* Pattern number i of the chain, in a round of one row. */
void tr_rows_by_row(tr_rows *c, unsigned i);

/* --- byrow_scatter.c --- */

bool tr_rows_scatter(const tr_rows *c, const tr_ins *p);        /* may it be one of a chain? */
bool tr_rows_take_scatter(tr_rows *c, tr_val v);                /* as the chain's next pattern; false: no */
bool tr_rows_is_target(const tr_rows *c, const tr_ins *in);     /* is it an operand of the instruction's? */
tr_rows_target *tr_rows_target_of(tr_rows *c, unsigned by);     /* NULL: the pattern scatters to none */
void tr_rows_guard_scatters(tr_rows *c);                        /* places that are tested behind the chain */
void tr_rows_guard_plain(tr_rows *c);                           /* the same, of the chain as it was */
void tr_rows_fill_target(tr_rows *c, const tr_rows_target *t);  /* before the round's scatter */
tr_val tr_rows_of_scatter(tr_rows *c, const tr_rows_target *t); /* how many rows of the round it stores */
/* How many rows a block has: what the scatter that has blocks says, else the first one. */
tr_val tr_rows_a_block(tr_rows *c, tr_bld *b);
/* The rounds, of `most` rows each, in blocks that have tables. */
tr_val tr_rows_in_tables(tr_rows *c, tr_bld *b, tr_val most);

/* --- byrow_block.c --- */

void tr_rows_begin_block(tr_rows *c);
void tr_rows_by_block(tr_rows *c, unsigned i);
tr_val tr_rows_block_of_written(tr_rows *c, const tr_rows_array *w); /* what the round has of it */

/* --- byrow_product.c --- */

tr_val tr_rows_made_by(const tr_rows *c, const tr_ins *call); /* the array that a product fills, or NOVAL */
bool tr_rows_take_product(tr_rows *c, tr_val v);              /* into the chain; false: it is none of it */
bool tr_rows_are_multiplied(const tr_rows *c, tr_val array);  /* by a product of the chain */
bool tr_rows_is_of_product(const tr_rows *c, tr_val v);       /* its call, a view that only it uses */
/* `test`, and whether the chain's products add few terms. */
tr_val tr_rows_few_terms(const tr_rows *c, tr_bld *b, tr_val test);
void tr_rows_products_before(tr_rows *c, unsigned pattern); /* of a block's rows, in the round */
/* Copies of right matrices in lines, in place of those that the round captures. */
void tr_rows_lay_lines(tr_rows *c, tr_bld *b);

#endif
