/*
 * The run-time cases in C: the loops of kernels.py, line for line, over plain
 * pointers.  No restrict, no builtins, no pragmas: what a C programmer writes
 * first.  Complex numbers are pairs with the textbook product, which is what
 * Python computes (C's own `double complex` adds a NaN repair).
 *
 * cells.h says how arguments come in.
 */
#include <math.h>

#include "cells.h"

typedef struct {
    double re, im;
} c128;

EXPORT void k_sum2d(const cell *in, cell *out) {
    const double *a = in[0].p;
    int64_t rows = in[1].i, cols = in[2].i;
    double s = 0.0;
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < cols; j++) {
            s += a[i * cols + j];
        }
    }
    out->d = s;
}

EXPORT void k_matmul_ijk(const cell *in, cell *out) {
    const double *a = in[0].p, *b = in[3].p;
    double *c = in[6].p;
    int64_t n = in[1].i, inner = in[2].i, m = in[5].i;
    (void)out;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < m; j++) {
            double s = 0.0;
            for (int64_t k = 0; k < inner; k++) {
                s += a[i * inner + k] * b[k * m + j];
            }
            c[i * m + j] = s;
        }
    }
}

EXPORT void k_matmul_ikj(const cell *in, cell *out) {
    const double *a = in[0].p, *b = in[3].p;
    double *c = in[6].p;
    int64_t n = in[1].i, inner = in[2].i, m = in[5].i;
    (void)out;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < m; j++) {
            c[i * m + j] = 0.0;
        }
        for (int64_t k = 0; k < inner; k++) {
            double x = a[i * inner + k];
            for (int64_t j = 0; j < m; j++) {
                c[i * m + j] += x * b[k * m + j];
            }
        }
    }
}

EXPORT void k_stencil(const cell *in, cell *out) {
    const double *u = in[0].p;
    double *v = in[3].p;
    int64_t rows = in[1].i, cols = in[2].i, reps = in[6].i;
    (void)out;
    for (int64_t r = 0; r < reps; r++) {
        for (int64_t i = 1; i < rows - 1; i++) {
            for (int64_t j = 1; j < cols - 1; j++) {
                v[i * cols + j] = 0.25 * (u[(i - 1) * cols + j] + u[(i + 1) * cols + j] +
                                          u[i * cols + j - 1] + u[i * cols + j + 1]);
            }
        }
    }
}

EXPORT void k_strided_rows(const cell *in, cell *out) {
    const double *a = in[0].p;
    int64_t rows = in[1].i, cols = in[2].i, s0 = in[3].i, s1 = in[4].i;
    double *b = in[5].p;
    int64_t reps = in[8].i;
    (void)out;
    for (int64_t r = 0; r < reps; r++) {
        for (int64_t i = 0; i < rows; i++) {
            for (int64_t j = 0; j < cols; j++) {
                b[i * cols + j] = a[i * s0 + j * s1] * 2.0 + 1.0;
            }
        }
    }
}

EXPORT void k_saxpy(const cell *in, cell *out) {
    float a = in[0].f;
    const float *x = in[1].p;
    float *y = in[3].p;
    int64_t n = in[2].i, reps = in[5].i;
    (void)out;
    for (int64_t r = 0; r < reps; r++) {
        for (int64_t i = 0; i < n; i++) {
            y[i] = a * x[i] + y[i];
        }
    }
}

EXPORT void k_reversed_copy(const cell *in, cell *out) {
    const double *a = in[0].p;
    double *b = in[2].p;
    int64_t n = in[1].i, reps = in[4].i;
    (void)out;
    for (int64_t r = 0; r < reps; r++) {
        for (int64_t i = 0; i < n; i++) {
            b[i] = a[n - 1 - i];
        }
    }
}

EXPORT void k_wrap_around(const cell *in, cell *out) {
    const double *a = in[0].p;
    double *b = in[2].p;
    int64_t n = in[1].i, reps = in[4].i;
    (void)out;
    for (int64_t r = 0; r < reps; r++) {
        for (int64_t i = 0; i < n; i++) {
            b[i] = a[i] + a[(i + 1) % n];
        }
    }
}

EXPORT void k_gather(const cell *in, cell *out) {
    const double *a = in[0].p;
    const int64_t *index = in[2].p;
    double *b = in[4].p;
    int64_t n = in[3].i, reps = in[6].i;
    (void)out;
    for (int64_t r = 0; r < reps; r++) {
        for (int64_t i = 0; i < n; i++) {
            b[i] = a[index[i]];
        }
    }
}

static int64_t escape(double x, double y, int64_t limit) {
    c128 z = {0.0, 0.0};
    for (int64_t step = 0; step < limit; step++) {
        c128 square = {z.re * z.re - z.im * z.im, z.re * z.im + z.im * z.re};
        z.re = square.re + x;
        z.im = square.im + y;
        if (z.re * z.re + z.im * z.im >= 4.0) {
            return step;
        }
    }
    return limit;
}

EXPORT void k_mandelbrot(const cell *in, cell *out) {
    int32_t *image = in[0].p;
    int64_t height = in[1].i, width = in[2].i, limit = in[7].i;
    double x0 = in[3].d, x1 = in[4].d, y0 = in[5].d, y1 = in[6].d;
    double dx = (x1 - x0) / (double)width, dy = (y1 - y0) / (double)height;
    (void)out;
    for (int64_t row = 0; row < height; row++) {
        double y = y0 + (double)row * dy;
        for (int64_t col = 0; col < width; col++) {
            image[row * width + col] = (int32_t)escape(x0 + (double)col * dx, y, limit);
        }
    }
}

EXPORT void k_bubble_sort(const cell *in, cell *out) {
    const float *source = in[0].p;
    int64_t n = in[1].i;
    float *a = in[2].p;
    (void)out;
    for (int64_t i = 0; i < n; i++) {
        a[i] = source[i];
    }
    for (int64_t end = n; end > 1; end--) {
        for (int64_t i = 0; i < end - 1; i++) {
            float current = a[i];
            if (current > a[i + 1]) {
                a[i] = a[i + 1];
                a[i + 1] = current;
            }
        }
    }
}

static void sift(double *a, int64_t root, int64_t end) {
    double value = a[root];
    int64_t child = 2 * root + 1;
    while (child < end) {
        if (child + 1 < end && a[child + 1] > a[child]) {
            child++;
        }
        if (a[child] <= value) {
            break;
        }
        a[root] = a[child];
        root = child;
        child = 2 * root + 1;
    }
    a[root] = value;
}

EXPORT void k_heap_sort(const cell *in, cell *out) {
    const double *source = in[0].p;
    int64_t n = in[1].i;
    double *a = in[2].p;
    (void)out;
    for (int64_t i = 0; i < n; i++) {
        a[i] = source[i];
    }
    for (int64_t root = n / 2 - 1; root > -1; root--) {
        sift(a, root, n);
    }
    for (int64_t end = n - 1; end > 0; end--) {
        double top = a[0];
        a[0] = a[end];
        a[end] = top;
        sift(a, 0, end);
    }
}

EXPORT void k_collatz(const cell *in, cell *out) {
    int64_t limit = in[0].i, longest = 0;
    for (int64_t start = 1; start < limit; start++) {
        int64_t n = start, steps = 0;
        while (n != 1) {
            if (n % 2 == 0) {
                n = n / 2;
            } else {
                n = 3 * n + 1;
            }
            steps++;
        }
        if (steps > longest) {
            longest = steps;
        }
    }
    out->i = longest;
}

static int64_t min64(int64_t a, int64_t b) {
    return b < a ? b : a;
}

EXPORT void k_edit_distance(const cell *in, cell *out) {
    const uint8_t *s = in[0].p, *t = in[2].p;
    int64_t n = in[1].i, m = in[3].i;
    int64_t *row = in[4].p;
    for (int64_t j = 0; j < m + 1; j++) {
        row[j] = j;
    }
    for (int64_t i = 1; i < n + 1; i++) {
        int64_t diagonal = row[0];
        row[0] = i;
        for (int64_t j = 1; j < m + 1; j++) {
            int64_t above = row[j];
            int64_t cost = s[i - 1] == t[j - 1] ? 0 : 1;
            row[j] = min64(min64(above + 1, row[j - 1] + 1), diagonal + cost);
            diagonal = above;
        }
    }
    out->i = row[m];
}

EXPORT void k_nbody(const cell *in, cell *out) {
    const double *start = in[0].p, *speed = in[3].p, *mass = in[6].p;
    int64_t n = in[7].i, steps = in[14].i;
    double *pos = in[8].p, *vel = in[11].p, dt = in[15].d;
    (void)out;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t axis = 0; axis < 3; axis++) {
            pos[i * 3 + axis] = start[i * 3 + axis];
            vel[i * 3 + axis] = speed[i * 3 + axis];
        }
    }
    for (int64_t step = 0; step < steps; step++) {
        for (int64_t i = 0; i < n; i++) {
            for (int64_t j = i + 1; j < n; j++) {
                double dx = pos[i * 3 + 0] - pos[j * 3 + 0];
                double dy = pos[i * 3 + 1] - pos[j * 3 + 1];
                double dz = pos[i * 3 + 2] - pos[j * 3 + 2];
                double d2 = dx * dx + dy * dy + dz * dz;
                double pull = dt / (d2 * sqrt(d2));
                double mi = mass[i] * pull, mj = mass[j] * pull;
                vel[i * 3 + 0] -= dx * mj;
                vel[i * 3 + 1] -= dy * mj;
                vel[i * 3 + 2] -= dz * mj;
                vel[j * 3 + 0] += dx * mi;
                vel[j * 3 + 1] += dy * mi;
                vel[j * 3 + 2] += dz * mi;
            }
        }
        for (int64_t i = 0; i < n; i++) {
            for (int64_t axis = 0; axis < 3; axis++) {
                pos[i * 3 + axis] += dt * vel[i * 3 + axis];
            }
        }
    }
}

EXPORT void k_fft(const cell *in, cell *out) {
    const c128 *x = in[0].p, *roots = in[4].p;
    c128 *y = in[2].p;
    int64_t n = in[1].i, j = 0;
    (void)out;
    y[0] = x[0];
    for (int64_t i = 1; i < n; i++) {
        int64_t bit = n >> 1;
        while ((j & bit) != 0) {
            j ^= bit;
            bit >>= 1;
        }
        j |= bit;
        y[i] = x[j];
    }
    for (int64_t half = 1; half < n; half *= 2) {
        int64_t stride = n / (2 * half);
        for (int64_t base = 0; base < n; base += 2 * half) {
            for (int64_t k = 0; k < half; k++) {
                c128 even = y[base + k], z = y[base + k + half], w = roots[k * stride];
                c128 odd = {z.re * w.re - z.im * w.im, z.re * w.im + z.im * w.re};
                y[base + k] = (c128){even.re + odd.re, even.im + odd.im};
                y[base + k + half] = (c128){even.re - odd.re, even.im - odd.im};
            }
        }
    }
}

static int64_t within(int64_t i, int64_t n) {
    return i < 0 ? 0 : i < n ? i : n - 1;
}

EXPORT void k_bilateral(const cell *in, cell *out) {
    const double *img = in[0].p;
    double *smooth = in[3].p, space = in[7].d, tone = in[8].d;
    int64_t height = in[1].i, width = in[2].i, radius = in[6].i;
    (void)out;
    for (int64_t y = 0; y < height; y++) {
        for (int64_t x = 0; x < width; x++) {
            double here = img[y * width + x], total = 0.0, weights = 0.0;
            for (int64_t dy = -radius; dy <= radius; dy++) {
                for (int64_t dx = -radius; dx <= radius; dx++) {
                    double near = img[within(y + dy, height) * width + within(x + dx, width)];
                    double d = near - here;
                    double weight = exp((double)-(dx * dx + dy * dy) * space - d * d * tone);
                    total += weight * near;
                    weights += weight;
                }
            }
            smooth[y * width + x] = total / weights;
        }
    }
}

EXPORT void k_distances(const cell *in, cell *out) {
    const double *a = in[0].p, *b = in[3].p;
    double *d = in[6].p;
    int64_t n = in[1].i, size = in[2].i, m = in[4].i;
    (void)out;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < m; j++) {
            double s = 0.0;
            for (int64_t k = 0; k < size; k++) {
                double x = a[i * size + k] - b[j * size + k];
                s += x * x;
            }
            d[i * m + j] = sqrt(s);
        }
    }
}

EXPORT void k_life(const cell *in, cell *out) {
    const uint8_t *a = in[0].p;
    uint8_t *b = in[3].p;
    int64_t height = in[1].i, width = in[2].i, reps = in[6].i;
    (void)out;
    for (int64_t r = 0; r < reps; r++) {
        for (int64_t y = 1; y < height - 1; y++) {
            for (int64_t x = 1; x < width - 1; x++) {
                const uint8_t *up = a + (y - 1) * width + x, *at = up + width, *down = at + width;
                int64_t n = up[-1] + up[0] + up[1] + at[-1] + at[1] + down[-1] + down[0] + down[1];
                if (at[0] == 1 && (n == 2 || n == 3)) {
                    b[y * width + x] = 1;
                } else if (at[0] == 0 && n == 3) {
                    b[y * width + x] = 1;
                } else {
                    b[y * width + x] = 0;
                }
            }
        }
    }
}

EXPORT void k_waiting_times(const cell *in, cell *out) {
    int64_t n = in[0].i, seed = in[1].i, *counts = in[2].p;
    double total = 0.0;
    for (int64_t i = 0; i < n; i++) {
        seed = (seed * 1103515245 + 12345) % 2147483648;
        double wait = -log((double)(seed + 1) / 2147483649.0);
        counts[(int64_t)(wait * 4.0) & 63] += 1;
        total += wait;
    }
    out->d = total;
}
