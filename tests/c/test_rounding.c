/* gcc 12 at -O2 drops the rounding to float when it vectorises a pair of conditional ones:
 * the build must not let it. */
#include <assert.h>
#include <stdbool.h>

__attribute__((noinline)) static void narrow_pair(double *out, bool narrow, double re, double im) {
    out[0] = narrow ? (double)(float)re : re;
    out[1] = narrow ? (double)(float)im : im;
}

int main(void) {
    double out[2];
    narrow_pair(out, true, 0.1, 0.2);
    assert(out[0] == (double)0.1f && out[1] == (double)0.2f);
    narrow_pair(out, false, 0.1, 0.2);
    assert(out[0] == 0.1 && out[1] == 0.2);
    return 0;
}
