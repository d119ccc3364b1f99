/* What sets and dicts share: a dict's keys are a set (kind_set.c). */
#ifndef TR_LIB_TABLE_H
#define TR_LIB_TABLE_H

#include "lib/fam.h"

/* tr_em.list: of what an operation gives, the keys and the values; of another operand. */
enum { TR_TABLE_KEYS = 1, TR_TABLE_VALUES, TR_TABLE_OTHER, TR_TABLE_OTHER_VALUES };

tr_tv tr_table_plain(tr_em *e, tr_tv x); /* what a class of collections has inside: the dict or the set */
/* Deques are gone through as tables are, by a WALK. */
bool tr_lib_next_in_deque(tr_em *e, tr_tv it, tr_tv i, tr_tv go, tr_tv *out);
bool tr_lib_at_in_deque(tr_em *e, tr_tv x, tr_tv place, tr_tv *out);
bool tr_table_gives_nothing(tr_em *e, tr_tv it);      /* and of no type */
bool tr_table_add_all(tr_em *e, tr_tv set, tr_tv it); /* what an iterable gives */
/* A new set of two, of which each may be a dict, for its keys. op: TR_BIN_OR, AND, SUB or XOR. */
bool tr_table_combined(tr_em *e, tr_binop op, tr_tv x, tr_tv y, tr_tv *out);
bool tr_table_compared(tr_em *e, tr_cmpop op, tr_tv x, tr_tv y, tr_tv *out);
bool tr_lib_dict_put_all(tr_em *e, tr_tv d, tr_tv x); /* another dict's items, or pairs */
tr_tv tr_table_set(tr_em *e, tr_tv x);    /* of a set, a dict, a view of one, or a walk over one: the set */
tr_tv tr_table_values(tr_em *e, tr_tv x); /* of a dict its list of values, else absent */
tr_tv tr_table_live(tr_em *e, tr_tv x);   /* how many keys there are */
/* A new set, into which keys flow. */
tr_tv tr_table_new_set(tr_em *e, uint32_t which);
/* x as a key that the set then takes; where an error: it is none, or of no type in common with the others. */
bool tr_table_as_key(tr_em *e, tr_tv set, tr_tv x, tr_tv *key);
/* The entry of a key of any type, -1: none is equal to it. */
bool tr_table_find(tr_em *e, tr_tv x, tr_tv key, tr_tv *entry);
/* The entry of a key as the set takes it, which is made where there is none; values: a dict's, or absent. */
bool tr_table_put(tr_em *e, tr_tv set, tr_tv key, tr_tv values, tr_tv *entry);
void tr_table_leave(tr_em *e, tr_tv x, tr_tv entry);
void tr_table_empty(tr_em *e, tr_tv x);
bool tr_table_key_at(tr_em *e, tr_tv x, tr_tv entry, tr_tv *out);
bool tr_table_value_at(tr_em *e, tr_tv x, tr_tv entry, tr_tv *out);
tr_tv tr_table_found(tr_em *e, tr_tv entry); /* it is one */
/* KeyError with the key unless cond holds. */
void tr_table_check_key(tr_em *e, tr_tv cond, tr_tv key);
/* Whoever asks for items has a number of them that stays (RuntimeError), one walk for each loop. */
/* The items of a deque, as a list. */
bool tr_lib_deque_items(tr_em *e, tr_tv x, tr_tv *out);
bool tr_lib_del_deque(tr_em *e, tr_tv x, tr_tv i);
tr_tv tr_table_walk(tr_em *e, tr_tv x);
/* The key and the value of the last entry go; `what`: the KeyError of a table that has none. */
bool tr_table_pop_last(tr_em *e, tr_tv x, const char *what, tr_tv *key, tr_tv *value);

#endif
