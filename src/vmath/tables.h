/* The constants and tables of tables.def in memory, for vectors to be read from: a constant stands there once
 * for each lane of the widest, because a load that spreads one number takes a port that look-ups need (Zen
 * 4). Tables stand twice: `wide` has a term of all places side by side, for machines that look up within a
 * register, `rows` place by place, for the others. */
#ifndef TR_VMATH_TABLES_H
#define TR_VMATH_TABLES_H

#include <stdint.h>

enum {
#define VK_NUMBER(name, value) name = value,
#include "vmath/tables.def"
};

typedef struct tr_vktables {
#define VK_D(name, value)                   double name[8];
#define VK_F(name, value)                   float name[16];
#define VK_U(name, value)                   uint64_t name[8];
#define VK_V(name, value)                   uint32_t name[16];
#define VK_D_POLY(name, terms, ...)         double name[terms][8];
#define VK_F_POLY(name, terms, ...)         float name[terms][16];
#define VK_D_WIDE(name, terms, places, ...) double wide_##name[terms][places];
#define VK_F_WIDE(name, terms, places, ...) float wide_##name[terms][places];
#define VK_D_ROWS(name, places, room, ...)  double rows_##name[places][room];
#define VK_F_ROWS(name, places, room, ...)  float rows_##name[places][room];
#include "vmath/tables.def"
} tr_vktables;

/* Hidden, so that it is addressed directly. */
extern const tr_vktables tr_vk __attribute__((aligned(64), visibility("hidden")));

#endif
