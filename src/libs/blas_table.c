/* BLAS's routines as a table, and what can be said of a call by it: which bytes it touches.
 * Cost: whether two arrays meet, one step for each column of the one that has fewer, if they lie in each
 * other's range. */
#include "libs/blas.h"

#define ANY_OF(name_, kind_, slot_, use_, rows_, cols_) \
    {.name = name_, .kind = TR_BLAS_##kind_, .slot = slot_, .use = use_, .rows = rows_, .cols = cols_},
#define NONE                TR_BLAS_NO_SLOT
#define OP(name, at, which) ANY_OF(#name, OP, at, TR_BLAS_##which, 0, 0)
#define UPLO                ANY_OF("uplo", UPLO, 0, 0, 0, 0)
#define SIDE(name)          ANY_OF(#name, SIDE, 0, 0, 0, 0)
#define DIAG                ANY_OF("diag", DIAG, 0, 0, 0, 0)
#define N(name, at)         ANY_OF(#name, SIZE, TR_BLAS_##at, 0, 0, 0)
#define LEN(name)           ANY_OF(#name, SIZE, TR_BLAS_N, 1, 0, 0)
#define SC(name)            ANY_OF(#name, NUMBER, 0, 0, 0, 0)
#define RE(name)            ANY_OF(#name, REAL, 0, 0, 0, 0)
#define IO(name)            ANY_OF(#name, CHANGED, 0, 0, 0, 0)
#define GIVES(name)         ANY_OF(#name, GIVEN, 0, 0, 0, 0)
#define GIVES_RE(name)      ANY_OF(#name, GIVEN_REAL, 0, 0, 0, 0)
#define FIVE(name)          ANY_OF(#name, FIVE, 0, 0, 0, 0)
#define GIVES_FIVE(name)    ANY_OF(#name, GIVEN_FIVE, 0, 0, 0, 0)
#define MAT(name, ld, how, rows, cols, at)                                   \
    ANY_OF(#name, MATRIX, at, TR_BLAS_##how, TR_BLAS_##rows, TR_BLAS_##cols) \
    ANY_OF(#ld, LD, 0, 0, 0, 0)
#define VEC(name, inc, how, items, turned, at)                                  \
    ANY_OF(#name, VECTOR, at, TR_BLAS_##how, TR_BLAS_##items, TR_BLAS_##turned) \
    ANY_OF(#inc, INC, 0, 0, 0, 0)
#define AP(how)      ANY_OF("AP", PACKED, NONE, TR_BLAS_##how, TR_BLAS_N, TR_BLAS_N)
#define RESULT(what) ANY_OF("result", RESULT, 0, TR_BLAS_GIVES_##what, 0, 0)

#define R(name, variants, words, about) static const tr_blas_word words_of_##name[] = {words};
#include "libs/blas.def"

/* The first variant of each row, one after the other. */
#define V(type, name, rest) +1
#define W(type, name, rest) +1
#define U(type, name, rest) +1
enum {
#define R(name, variants, words, about) COUNT_##name = 0 variants,
#include "libs/blas.def"
};
#define V(type, name, rest) +1
#define W(type, name, rest) +1
#define U(type, name, rest) +1
enum {
#define R(name, variants, words, about) BEFORE_##name, LAST_##name = BEFORE_##name - 1 variants,
#include "libs/blas.def"
};

#define ONE(type_, name_, rest, real_, other_) \
    {.name = #name_,                           \
     .symbol = "cublas" #name_ #rest,          \
     .type = TR_BLAS_##type_,                  \
     .real = real_,                            \
     .other = other_},
const tr_blas_variant tr_blas_variants[TR_BLAS_VARIANTS] = {
#define V(type, name, rest)             ONE(type, name, rest, false, false)
#define W(type, name, rest)             ONE(type, name, rest, true, false)
#define U(type, name, rest)             ONE(type, name, rest, false, true)
#define R(name, variants, words, about) variants
#include "libs/blas.def"
};

const tr_blas_routine tr_blas_routines[TR_BLAS_ROUTINES] = {
#define R(name_, variants_, words_, about_) \
    {.name = #name_,                        \
     .about = about_,                       \
     .words = words_of_##name_,             \
     .variant = BEFORE_##name_,             \
     .nvariants = COUNT_##name_,            \
     .nwords = sizeof words_of_##name_ / sizeof(tr_blas_word)},
#include "libs/blas.def"
};

static const int64_t HUGE_SIDE = (int64_t)1 << 29;

static int64_t size_of(const tr_blas_call *c, tr_blas_size s) {
    switch (s) {
    case TR_BLAS_BAND: return c->size[TR_BLAS_KL] + c->size[TR_BLAS_KU] + 1;
    case TR_BLAS_K1: return c->size[TR_BLAS_K] + 1;
    case TR_BLAS_SIDED: return c->size[c->side ? TR_BLAS_N : TR_BLAS_M];
    default: return c->size[s];
    }
}

void tr_blas_extent(const tr_blas_call *c, int word, int64_t *rows, int64_t *cols) {
    const tr_blas_word *w = &c->routine->words[word];
    bool turned = c->op[w->slot] != 0;
    int64_t a = size_of(c, w->rows), b = size_of(c, w->cols);
    *rows = turned ? b : a;
    *cols = turned ? a : b;
    if (w->kind != TR_BLAS_MATRIX)
        *cols = 1;
    if (w->kind == TR_BLAS_PACKED) /* of a size that no array has, as many as none has */
        *rows = a > HUGE_SIDE ? HUGE_SIDE * (HUGE_SIDE / 2) : a % 2 ? (a + 1) / 2 * a : a / 2 * (a + 1);
}

void tr_blas_span_of(const tr_blas_call *c, int word, tr_blas_span *out) {
    int64_t rows, cols, item = tr_blas_item(c->variant);
    int kind = c->routine->words[word].kind;
    tr_blas_extent(c, word, &rows, &cols);
    *out = (tr_blas_span){
        .at = (uintptr_t)c->word[word], .bytes = rows * item, .pitch = rows * item, .count = cols};
    if (kind == TR_BLAS_MATRIX)
        out->pitch = c->word[word + 1] * item;
    if (kind == TR_BLAS_VECTOR && c->word[word + 1] != 1 && rows) {
        int64_t inc = c->word[word + 1];
        *out = (tr_blas_span){
            .at = out->at, .bytes = item, .pitch = (inc < 0 ? -inc : inc) * item, .count = rows};
    }
    if (!rows || !cols)
        out->count = 0;
}

static uintptr_t end_of(const tr_blas_span *a) {
    return a->at + (uintptr_t)((a->count - 1) * a->pitch + a->bytes);
}

/* A column of one at `at`, and those of the other: the last that begins before its end is looked at. */
static bool column_meets(uintptr_t at, int64_t bytes, const tr_blas_span *b) {
    if (at >= end_of(b) || at + (uintptr_t)bytes <= b->at)
        return false;
    int64_t k = (int64_t)(at + (uintptr_t)bytes - 1 - b->at) / (b->pitch ? b->pitch : 1);
    k = k < b->count ? k : b->count - 1;
    return b->at + (uintptr_t)(k * b->pitch + b->bytes) > at;
}

bool tr_blas_meets(const tr_blas_span *a, const tr_blas_span *b) {
    if (!a->count || !b->count || a->at >= end_of(b) || b->at >= end_of(a))
        return false;
    if (b->count < a->count) {
        const tr_blas_span *t = a;
        a = b;
        b = t;
    }
    bool found = false;
    for (int64_t k = 0; k < a->count && !found; k++)
        found = column_meets(a->at + (uintptr_t)(k * a->pitch), a->bytes, b);
    return found;
}
