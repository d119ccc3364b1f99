/* The table of what Treadle does not compile (ir/nyi.def). It stands here so that front, lib and infer can
 * all use it. */
#ifndef TR_IR_NYI_H
#define TR_IR_NYI_H

typedef enum tr_nyi_id {
#define X(id, name, title, text) TR_NYI_##id,
#include "ir/nyi.def"
#undef X
    TR_NYI__COUNT
} tr_nyi_id;

/* What a row of nyi.def says. */
typedef struct tr_nyi {
    const char *id, *title, *text;
} tr_nyi;
extern const tr_nyi tr_nyi_rows[];
extern const unsigned tr_nyi_count;

/* Row by its stable id, or NULL. */
const tr_nyi *tr_nyi_find(const char *id);

#endif
