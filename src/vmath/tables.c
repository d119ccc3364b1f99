/* tables.def, laid out. */
#include "vmath/tables.h"

#define X8(x) \
    { x, x, x, x, x, x, x, x }
#define X16(x) \
    { x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x }

/* A polynomial's terms, each spread. */
#define FOR1(f, a)       f(a)
#define FOR2(f, a, ...)  f(a), FOR1(f, __VA_ARGS__)
#define FOR3(f, a, ...)  f(a), FOR2(f, __VA_ARGS__)
#define FOR4(f, a, ...)  f(a), FOR3(f, __VA_ARGS__)
#define FOR5(f, a, ...)  f(a), FOR4(f, __VA_ARGS__)
#define FOR6(f, a, ...)  f(a), FOR5(f, __VA_ARGS__)
#define FOR7(f, a, ...)  f(a), FOR6(f, __VA_ARGS__)
#define FOR8(f, a, ...)  f(a), FOR7(f, __VA_ARGS__)
#define FOR9(f, a, ...)  f(a), FOR8(f, __VA_ARGS__)
#define FOR10(f, a, ...) f(a), FOR9(f, __VA_ARGS__)
#define FOR11(f, a, ...) f(a), FOR10(f, __VA_ARGS__)
#define FOR12(f, a, ...) f(a), FOR11(f, __VA_ARGS__)

const tr_vktables tr_vk = {
#define VK_D(name, value)              .name = X8(value),
#define VK_F(name, value)              .name = X16(value),
#define VK_U(name, value)              .name = X8(value),
#define VK_V(name, value)              .name = X16(value),
#define VK_D_POLY(name, n, ...)        .name = {FOR##n(X8, __VA_ARGS__)},
#define VK_F_POLY(name, n, ...)        .name = {FOR##n(X16, __VA_ARGS__)},
#define VK_D_WIDE(name, terms, n, ...) .wide_##name = {__VA_ARGS__},
#define VK_F_WIDE(name, terms, n, ...) .wide_##name = {__VA_ARGS__},
#define VK_D_ROWS(name, n, room, ...)  .rows_##name = {__VA_ARGS__},
#define VK_F_ROWS(name, n, room, ...)  .rows_##name = {__VA_ARGS__},
#include "vmath/tables.def"
};
