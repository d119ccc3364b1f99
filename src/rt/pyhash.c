/* hash(), as CPython's: of numbers by the rule that it publishes, a number modulo the prime 2**61 - 1, so
 * that equal numbers of all types have one hash; of tuples its form of xxHash; of characters the host's own
 * function, which depends on a secret of the process (tr_host.hash). No hash is -1. Tables have hashes of
 * their own (hash.h). */
#include <math.h>
#include <stdlib.h>

#include "rt/enter.h"
#include "rt/fns.h"
#include "rt/hash.h"
#include "rt/layout.h"
#include "rt/str.h"

static const uint64_t prime = (UINT64_C(1) << 61) - 1;

static int64_t signed_hash(uint64_t h, bool negative) {
    int64_t r = negative ? -(int64_t)h : (int64_t)h;
    return r == -1 ? -2 : r;
}

int64_t tr_rt_hash_i64(int64_t x) {
    return signed_hash((x < 0 ? -(uint64_t)x : (uint64_t)x) % prime, x < 0);
}

int64_t tr_rt_hash_u64(uint64_t x) {
    return signed_hash(x % prime, false);
}

/* m * 2**e for a double: a multiplication by a power of two is a rotation of 61 bits. NaN: as objects they
 * differ from each other and have any hash; here it is sys.hash_info.nan. */
int64_t tr_rt_hash_f64(double x) {
    enum { BITS = 61 };
    int e;
    if (isnan(x))
        return 0;
    if (isinf(x))
        return x > 0 ? 314159 : -314159;
    uint64_t h = (uint64_t)ldexp(frexp(fabs(x), &e), 53);
    e = ((e - 53) % BITS + BITS) % BITS;
    h = ((h << e) & prime) | h >> (BITS - e);
    return signed_hash(h == prime ? 0 : h, x < 0);
}

int64_t tr_rt_hash_complex(double re, double im) {
    int64_t r = (int64_t)((uint64_t)tr_rt_hash_f64(re) + 1000003 * (uint64_t)tr_rt_hash_f64(im));
    return r == -1 ? -2 : r;
}

uint64_t tr_rt_hash_item(uint64_t all, int64_t item) {
    all += (uint64_t)item * UINT64_C(14029467366897019727);
    return (all << 31 | all >> 33) * UINT64_C(11400714785074694791);
}

int64_t tr_rt_hash_tuple(uint64_t all, int64_t n) {
    all += (uint64_t)n ^ (TR_HASH_TUPLE ^ UINT64_C(3527539));
    return all == UINT64_MAX ? 1546275796 : (int64_t)all;
}

/* Without a host that has one, any will do. */
static int64_t of_bytes(const tr_host *host, const void *data, int64_t n) {
    if (host && host->hash)
        return host->hash(data, n);
    uint64_t h = (uint64_t)n;
    for (int64_t i = 0; i < n; i++)
        h = tr_hash_mix(h, ((const uint8_t *)data)[i]);
    return signed_hash(h >> 1, false);
}

/* As wide as its characters need, which a view need not be. -1: there is no memory for that. */
int64_t tr_rt_hash_str(tr_frame *f, STR_PARTS(s)) {
    tr_rt_look();
    tr_str s = STR_OF(s);
    int64_t n = tr_str_len(&s), r = -1;
    uint32_t most = 0;
    if (n <= 0) /* of nothing it is 0; one that there was no memory to make has none */
        return n ? -1 : 0;
    for (int64_t i = 0; tr_str_width(&s) && i < n; i++)
        most |= tr_str_at(&s, i);
    unsigned width = most > 0xffff ? 2 : most > 0xff ? 1 : 0;
    if (width == tr_str_width(&s))
        return of_bytes(f->host, s.data, n << width);
    tr_str narrow = {NULL, malloc((size_t)n << width), n << TR_STR_LENGTH | width};
    for (int64_t i = 0; narrow.data && i < n; i++)
        tr_str_set(&narrow, i, tr_str_at(&s, i));
    if (narrow.data)
        r = of_bytes(f->host, narrow.data, n << width);
    free((void *)(uintptr_t)narrow.data);
    return r;
}
