/* What the stages of a compile know of the program's lines, for TREADLE_DUMP=report and treadle.report():
 * rows {file, line, kind, text} that they add while they work, and that the driver prints at the end, a line
 * each.
 * Nothing is added unless that dump is asked for, so a compile costs nothing more.
 * Memory: in the context's arena. */
#ifndef TR_BASE_REMARKS_H
#define TR_BASE_REMARKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "base/vec.h"

struct tr_ctx;

/* X(ID, "word", "what rows of this kind say"). ORDER REMARK: as they are shown beside a line. */
#define TR_REMARKS(X)                                                              \
    X(FUNCTION, "function", "a function that is in the code, for these types")     \
    X(TYPE, "type", "types of what is assigned")                                   \
    X(LOOP, "loop", "array expressions, and what became one loop")                 \
    X(APART, "apart", "loops that stay apart, and why")                            \
    X(VECTOR, "vector", "numbers that one instruction takes, by their type")       \
    X(CORES, "cores", "what runs on all cores, and what does not")                 \
    X(THREADS, "threads", "how the emulated device runs a kernel's threads")       \
    X(CHECK, "check", "checks that are left when the code runs")                   \
    X(MEMORY, "memory", "arrays that are made")                                    \
    X(CALL, "call", "functions that are called, and that stand in place of calls") \
    X(LATE, "late", "code that is compiled when it is first reached")              \
    X(TIME, "time", "what the stages of the compiler took")

typedef enum tr_remarkk {
#define X(id, word, what) TR_REMARK_##id,
    TR_REMARKS(X)
#undef X
        TR_REMARK__COUNT
} tr_remarkk;

typedef struct tr_remark {
    const char *file; /* NULL: unknown */
    int32_t line;     /* 0: of the function as a whole */
    uint8_t kind;     /* tr_remarkk */
    uint32_t order;   /* in which it was added */
    const char *text; /* one line */
} tr_remark;
typedef TR_VEC(tr_remark) tr_remarks;

bool tr_remarks_wanted(const struct tr_ctx *c);
/* Nothing happens unless they are wanted. The place is that of the innermost function. */
void tr_remark_add(struct tr_ctx *c, tr_remarkk kind, tr_place place, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* Is there a row of this kind for the line? */
bool tr_remarks_have(const struct tr_ctx *c, tr_remarkk kind, tr_place place);
/* A head of "kind<TAB>what" lines, an empty line, then "file<TAB>line<TAB>kind<TAB>text", in order of files,
 * lines and kinds, each once. Tabs and line ends within a part are blanks. */
void tr_remarks_print(const struct tr_ctx *c, tr_sb *out);

#endif
