/* The rows of nyi.def as data. */
#include "ir/nyi.h"

#include <stddef.h>
#include <string.h>

const tr_nyi tr_nyi_rows[] = {
#define X(id, name, title, text) {name, title, text},
#include "ir/nyi.def"
#undef X
};
const unsigned tr_nyi_count = TR_NYI__COUNT;

const tr_nyi *tr_nyi_find(const char *id) {
    for (unsigned i = 0; i < tr_nyi_count; i++)
        if (!strcmp(tr_nyi_rows[i].id, id))
            return &tr_nyi_rows[i];
    return NULL;
}
