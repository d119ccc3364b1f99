/*
 * The C++ side of the cases of dicts and sets (containers.py): the same work by Abseil's flat_hash_map and flat_hash_set,
 * open-addressed tables in groups of 16 ("Swiss tables"), which C++ programmers take where std::unordered_map is too slow.
 * They keep no order, and their hash of an integer is a multiplication; a dict keeps its order.
 *
 * Kernels take what creference.py says; the last array is the result.  A round finds each key that was entered.
 */
#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>

#include <utility>

extern "C" {
#include "cells.h"
}

namespace {

constexpr int64_t rounds = 3; /* ROUNDS of containers.py */

struct Keys {
    const int64_t *at;
    int64_t count;
    explicit Keys(const cell *in) : at(static_cast<const int64_t *>(in[0].p)), count(in[1].i) {}
};

int64_t *result(const cell &c) { return static_cast<int64_t *>(c.p); }

absl::flat_hash_map<int64_t, int64_t> enter(const Keys &keys) {
    absl::flat_hash_map<int64_t, int64_t> d;
    for (int64_t i = 0; i < keys.count; i++) {
        d[keys.at[i]] = i;
    }
    return d;
}

/* Times out of line, so that what is found is not known where it was entered. */
int64_t find(const absl::flat_hash_map<int64_t, int64_t> &d, const Keys &keys, int64_t times) {
    int64_t s = 0;
    for (int64_t r = 0; r < times; r++) {
        for (int64_t i = 0; i < keys.count; i++) {
            s += d.find(keys.at[i])->second;
        }
    }
    return s;
}

} // namespace

extern "C" {

EXPORT void k_entered(const cell *in, cell *out) {
    out->i = 0;
    result(in[2])[0] = static_cast<int64_t>(enter(Keys(in)).size());
}

EXPORT void k_entered_and_found(const cell *in, cell *out) {
    Keys keys(in);
    out->i = 0;
    result(in[2])[0] = find(enter(keys), keys, rounds);
}

EXPORT void k_small_found(const cell *in, cell *out) {
    Keys keys(in);
    out->i = 0;
    result(in[3])[0] = find(enter(keys), keys, in[2].i);
}

EXPORT void k_pairs_entered_and_found(const cell *in, cell *out) {
    Keys keys(in);
    absl::flat_hash_map<std::pair<int64_t, int64_t>, int64_t> d;
    int64_t s = 0;
    for (int64_t i = 0; i < keys.count; i++) {
        d[{keys.at[i], keys.at[i] >> 20}] = i;
    }
    for (int64_t r = 0; r < rounds; r++) {
        for (int64_t i = 0; i < keys.count; i++) {
            s += d.find({keys.at[i], keys.at[i] >> 20})->second;
        }
    }
    out->i = 0;
    result(in[2])[0] = s;
}

EXPORT void k_added_and_asked(const cell *in, cell *out) {
    Keys keys(in);
    absl::flat_hash_set<int64_t> s;
    int64_t n = 0;
    for (int64_t i = 0; i < keys.count; i++) {
        s.insert(keys.at[i]);
    }
    for (int64_t i = 0; i < keys.count; i++) {
        n += s.contains(keys.at[i] + 1);
    }
    out->i = 0;
    result(in[2])[0] = n;
}
}
