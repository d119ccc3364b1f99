/* What the fuzz targets on text IR share: the corpus, mutations, and the loop over them.
 *
 * A target defines `one`, which looks at one text. As a normal test it replays tests/ir and mutates it with a
 * fixed seed (TREADLE_FUZZ_N mutations, if set). For libFuzzer: clang -fsanitize=fuzzer,address
 * -DTR_LIBFUZZER -Isrc tests/c/fuzz_ir_parse.c and the folders of src/ that it needs. */
#ifndef TR_FUZZ_IR_H
#define TR_FUZZ_IR_H

#include <assert.h>
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/prog.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* One text; aborts on a fault. */
static void one(tr_ctx *ctx, const char *text);

static tr_tytab *shared;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (memchr(data, 0, size))
        return 0;
    if (!shared)
        shared = tr_tytab_new(NULL);
    char *text = malloc(size + 1);
    tr_ctx ctx;
    tr_ctx_init(&ctx);
    ctx.types = tr_tytab_new(shared);
    assert(text && ctx.types);
    memcpy(text, data, size);
    text[size] = 0;
    one(&ctx, text);
    tr_tytab_free(ctx.types);
    tr_ctx_fini(&ctx);
    free(text);
    return 0;
}

#ifndef TR_LIBFUZZER

enum { MAX_FILES = 256, MAX_TEXT = 1 << 16 };

static uint64_t state = 1;

static uint32_t below(uint32_t n) {
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return n ? (uint32_t)(state >> 33) % n : 0;
}

static const char *const words[] = {
#define X(id, name, nargs, result, effects, cost, lanes, words, owns, stages) name,
#include "ir/op.def"
#undef X
    "i1",
    "i8",
    "i64",
    "u64",
    "f32",
    "f64",
    "c64",
    "c128",
    "f64[1c]",
    "f64[2a,ro]",
    "none",
    "()",
    "(i64, f64)",
    "b0",
    "b1",
    "b2",
    "b7",
    "%0",
    "%a",
    "%x",
    "%i",
    "0",
    "1",
    "-1",
    "2.5",
    "true",
    "nan",
    "undef",
    "@f",
    "@3:4",
    "< @1",
    "! ValueError",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    ":",
    "=",
    "\"x\"",
    "None",
    "lit(",
    "lt",
    "sqrt",
    "fn",
    "front",
    "lambda",
    "->",
    "in",
    "out(",
    "red(add",
    "cap(",
    ".nsw",
    "1:i8",
    "complex(1.0, 2.0)",
    "99999999999999999999",
    "array(0, f64[1c,ro], 4:1)",
    "#1",
    "GCD",
    ";",
};

static char mutant[MAX_TEXT * 2];
static size_t length;

/* Replaces `cut` bytes at `at` with n bytes of s. */
static void splice(size_t at, size_t cut, const char *s, size_t n) {
    if (at + cut > length || length - cut + n >= MAX_TEXT)
        return;
    memmove(mutant + at + n, mutant + at + cut, length - at - cut + 1);
    memcpy(mutant + at, s, n);
    length += n - cut;
}

static size_t line_start(void) {
    size_t at = below((uint32_t)length + 1);
    while (at && mutant[at - 1] != '\n')
        at--;
    return at;
}

static void mutate(void) {
    char copy[4096];
    size_t at = line_start(), n = strcspn(mutant + at, "\n") + 1, other;
    if (at + n > length)
        n = length - at;
    const char *word = words[below(sizeof words / sizeof *words)];
    size_t spot = at + below((uint32_t)n), token = strcspn(mutant + spot, " ,()[]:\n");
    switch (below(8)) {
    case 0: splice(at, n, "", 0); break; /* a line goes */
    case 1:
    case 2: /* a line is doubled, or moves */
        if (n > sizeof copy)
            break;
        memcpy(copy, mutant + at, n);
        if (below(2))
            splice(at, n, "", 0);
        other = line_start();
        splice(other, 0, copy, n);
        break;
    case 3:
    case 4:
    case 5: splice(spot, token, word, strlen(word)); break; /* a word becomes another */
    case 6: splice(spot, below(3), (const char[]){(char)(1 + below(255))}, 1); break;
    default: splice(spot, 0, word, strlen(word));
    }
}

static unsigned load_corpus(char **out) {
    const char *dir = TR_SOURCE_ROOT "/tests/ir";
    DIR *d = opendir(dir);
    struct dirent *e;
    unsigned n = 0;
    char path[4096];
    assert(d);
    while ((e = readdir(d)) && n < MAX_FILES) {
        size_t len = strlen(e->d_name);
        if (len < 4 || strcmp(e->d_name + len - 3, ".ir") != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        FILE *f = fopen(path, "rb");
        assert(f);
        out[n] = calloc(1, MAX_TEXT);
        assert(out[n] && fread(out[n], 1, MAX_TEXT - 1, f) > 0);
        fclose(f);
        n++;
    }
    closedir(d);
    return n;
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int run(long rounds) {
    char *corpus[MAX_FILES];
    unsigned n = load_corpus(corpus);
    const char *want = getenv("TREADLE_FUZZ_N");
    if (want)
        rounds = strtol(want, NULL, 10);
    assert(n > 10);
    qsort(corpus, n, sizeof *corpus, by_text); /* directories have no order; the seed wants one */
    for (unsigned i = 0; i < n; i++)
        LLVMFuzzerTestOneInput((const uint8_t *)corpus[i], strlen(corpus[i]));
    for (long round = 0; round < rounds; round++) {
        strcpy(mutant, corpus[below(n)]);
        length = strlen(mutant);
        for (uint32_t k = 1 + below(4); k > 0; k--)
            mutate();
        LLVMFuzzerTestOneInput((const uint8_t *)mutant, length);
    }
    for (unsigned i = 0; i < n; i++)
        free(corpus[i]);
    tr_tytab_free(shared);
    return 0;
}

#endif

#endif
