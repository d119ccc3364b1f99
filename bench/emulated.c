/* The loops that kernels of emulated.py are, as somebody writes them in C; arrays do not overlap. An argument
 * is a pointer and its sizes (cells.h). */
#include <math.h>

#include "cells.h"

EXPORT void k_vector_add(const cell *in, cell *result) {
    (void)result;
    const float *restrict a = in[0].p, *restrict b = in[2].p;
    float *restrict out = in[4].p;
    for (int64_t i = 0, n = in[1].i; i < n; i++)
        out[i] = a[i] + b[i];
}

EXPORT void k_saxpy(const cell *in, cell *result) {
    (void)result;
    const float *restrict x = in[0].p;
    float *restrict y = in[2].p, a = 1.0F / 1024;
    for (int64_t i = 0, n = in[1].i; i < n; i++)
        y[i] = a * x[i] + y[i];
}

EXPORT void k_transpose(const cell *in, cell *result) {
    (void)result;
    const float *restrict a = in[0].p;
    float *restrict out = in[3].p;
    int64_t n = in[1].i;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            out[j * n + i] = a[i * n + j];
}

EXPORT void k_stencil(const cell *in, cell *result) {
    (void)result;
    const float *restrict a = in[0].p;
    float *restrict out = in[4].p;
    int64_t n = in[1].i;
    for (int64_t z = 1; z + 1 < n; z++)
        for (int64_t y = 1; y + 1 < n; y++)
            for (int64_t x = 1; x + 1 < n; x++) {
                int64_t i = (z * n + y) * n + x;
                out[i] = 0.4F * a[i] +
                         0.1F * (a[i - 1] + a[i + 1] + a[i - n] + a[i + n] + a[i - n * n] + a[i + n * n]);
            }
}

/* In order, as C has to. */
EXPORT void k_sum(const cell *in, cell *result) {
    (void)result;
    const float *a = in[0].p;
    float *out = in[2].p, s = 0;
    for (int64_t i = 0, n = in[1].i; i < n; i++)
        s += a[i];
    out[0] = s;
}

EXPORT void k_bodies(const cell *in, cell *result) {
    (void)result;
    const float *restrict pos = in[0].p;
    float *restrict out = in[3].p;
    for (int64_t i = 0, n = in[1].i; i < n; i++) {
        float ax = 0, ay = 0, az = 0, x = pos[4 * i], y = pos[4 * i + 1], z = pos[4 * i + 2];
        for (int64_t j = 0; j < n; j++) {
            float dx = pos[4 * j] - x, dy = pos[4 * j + 1] - y, dz = pos[4 * j + 2] - z;
            float r = 1 / sqrtf(dx * dx + dy * dy + dz * dz + 0.01F), f = pos[4 * j + 3] * r * r * r;
            ax += dx * f;
            ay += dy * f;
            az += dz * f;
        }
        out[3 * i] = ax;
        out[3 * i + 1] = ay;
        out[3 * i + 2] = az;
    }
}
