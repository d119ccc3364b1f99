/* The cache: hashes, the directory's conditions, hits, and that everything else is a miss. */
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "code/priv.h"

static char root[] = "/tmp/tr-cache-XXXXXX";

/* --- hashes --- */

static void expect_hash(const char *text, size_t times, const char *want) {
    tr_hash h;
    char hex[65];
    tr_hasher *s = tr_hasher_new();
    for (size_t i = 0; i < times; i++)
        tr_hasher_add(s, text, strlen(text));
    tr_hasher_end(s, &h);
    for (int i = 0; i < 32; i++)
        sprintf(hex + 2 * i, "%02x", h.b[i]);
    assert(!strcmp(hex, want));
}

static void test_hash(void) {
    expect_hash("", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    expect_hash("abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    expect_hash("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    expect_hash("aaaaaaaaaa", 100000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    expect_hash("0123456789012345678901234567890123456789012345678901234567890123", 10,
                "b6e6353e827b1ca47fa939606549cf873eebddb4ff55fe55c94c2c36d8400e3c");
}

/* --- entries --- */

static tr_marg args[] = {
    {.kind = 'i'}, {.kind = 'I', .i = -5}, {.kind = 'D', .d = 2.5}, {.kind = 'S', .s = "text"}};
static tr_place places[] = {{"f.py", "f", {3, 4, 3, 9}}, {NULL, "g", {0, -1, 0, -1}}};
static tr_msite sites[] = {
    {.exc = 1, .text = "index {0}", .nargs = 4, .args = args, .nplaces = 2, .places = places}, {.exc = 2}};
static tr_mfunc funcs[] = {{"f.py", "f", 2, 5, 2}, {"f.py", "g", 7, 9, 7}};
static tr_mlate late[] = {{"fn @f.late1"}, {""}};
static const tr_meta meta = {.nsites = 2,
                             .sites = sites,
                             .narrays = 3,
                             .entry = "tr_entry",
                             .title = "f()",
                             .nlate = 2,
                             .late = late,
                             .nfuncs = 2,
                             .funcs = funcs,
                             .root = 1,
                             .opts = {.fastmath = 5, .opt_level = 2},
                             .atomic_counts = true};
static const uint8_t code[] = "not really code, but the cache does not look";

static tr_hash key_of(const char *s) {
    tr_hash k;
    tr_hasher *h = tr_hasher_new();
    tr_hasher_add(h, s, strlen(s));
    tr_hasher_end(h, &k);
    return k;
}

static bool get(const tr_hash *key) {
    tr_arena a;
    tr_arena_init(&a, NULL);
    uint8_t *elf = NULL;
    size_t n = 0;
    tr_meta m;
    bool ok = tr_cache_get(root, key, &a, &elf, &n, &m);
    if (ok) {
        assert(n == sizeof code && !memcmp(elf, code, n));
        assert(m.nsites == 2 && m.narrays == 3 && !strcmp(m.entry, "tr_entry") && !m.ret &&
               !strcmp(m.title, "f()"));
        assert(m.sites[0].exc == 1 && m.sites[0].nargs == 4 && m.sites[0].args[1].i == -5 &&
               m.sites[0].args[2].d == 2.5);
        assert(!strcmp(m.sites[0].args[3].s, "text") && !strcmp(m.sites[0].text, "index {0}"));
        assert(m.sites[0].places[0].span.end_col == 9 && !m.sites[0].places[1].file &&
               m.sites[1].nplaces == 0);
        assert(m.nlate == 2 && !strcmp(m.late[0].text, late[0].text) && !*m.late[1].text && m.atomic_counts &&
               !memcmp(&m.opts, &meta.opts, sizeof m.opts));
        assert(m.nfuncs == 2 && m.root == 1 && !m.says_lines && !strcmp(m.funcs[1].fn, "g") &&
               !strcmp(m.funcs[0].file, "f.py") && m.funcs[1].first == 7 && m.funcs[1].last == 9 &&
               m.funcs[1].now == 7);
        free(elf);
    }
    tr_arena_fini(&a);
    return ok;
}

static void path_of(const tr_hash *key, char out[256]) {
    int n = sprintf(out, "%s/", root);
    for (int i = 0; i < 32; i++)
        n += sprintf(out + n, "%02x", key->b[i]);
    strcpy(out + n, ".trc");
}

static size_t slurp(const char *path, uint8_t *to, size_t room) {
    FILE *f = fopen(path, "rb");
    assert(f);
    size_t n = fread(to, 1, room, f);
    fclose(f);
    return n;
}

static void spill(const char *path, const uint8_t *d, size_t n) {
    FILE *f = fopen(path, "wb");
    assert(f && fwrite(d, 1, n, f) == n);
    fclose(f);
    assert(chmod(path, 0600) == 0);
}

static void test_entries(void) {
    tr_hash k = key_of("one"), other = key_of("two"), none = {{0}};
    char path[256], path2[256];
    uint8_t file[4096], bad[4096];
    assert(!get(&k));
    assert(tr_cache_put(root, &k, code, sizeof code, &meta) && get(&k) && !get(&other));
    assert(!tr_cache_put(root, &none, code, sizeof code, &meta));
    snprintf(path, sizeof path, "%s/missing", root);
    assert(!tr_cache_put(path, &k, code, sizeof code, &meta));
    path_of(&k, path);
    path_of(&other, path2);
    size_t n = slurp(path, file, sizeof file);
    for (size_t cut = 0; cut < n; cut++) {
        spill(path, file, cut);
        assert(!get(&k));
    }
    for (size_t at = 0; at < n; at++) { /* every byte counts */
        memcpy(bad, file, n);
        bad[at] ^= (uint8_t)(1u << at % 8);
        spill(path, bad, n);
        assert(!get(&k));
    }
    spill(path, file, n);
    assert(get(&k));
    spill(path2, file, n); /* a whole entry under another's name */
    assert(!get(&other));
    assert(chmod(path, 0620) == 0 && !get(&k)); /* others may write it */
    assert(chmod(path, 0600) == 0 && get(&k));
    assert(unlink(path2) == 0 && symlink(path, path2) == 0 && !get(&other));
    assert(unlink(path2) == 0 && mkfifo(path2, 0600) == 0 && !get(&other));
    assert(unlink(path2) == 0 && mkdir(path2, 0700) == 0 && !get(&other));
    assert(!tr_cache_put(root, &other, code, sizeof code, &meta)); /* a directory is not replaced */
    assert(rmdir(path2) == 0);
}

/* --- files of the directory --- */

static tr_cachek about(const char *name, tr_meta *m) {
    tr_arena a;
    tr_arena_init(&a, NULL);
    tr_meta own;
    tr_cachek k = tr_cache_about(root, name, &a, &own);
    if (k == TR_CACHE_ENTRY) {
        assert(!strcmp(own.title, "f()") && own.funcs[own.root].first == 7);
        *m = own;
    }
    tr_arena_fini(&a);
    return k;
}

static void test_about(void) {
    tr_hash k = key_of("about"), other = key_of("another");
    tr_meta m;
    char path[256], path2[256];
    path_of(&k, path);
    path_of(&other, path2);
    const char *name = strrchr(path, '/') + 1, *name2 = strrchr(path2, '/') + 1;
    assert(about(name, &m) == TR_CACHE_NONE); /* there is no such file */
    assert(tr_cache_put(root, &k, code, sizeof code, &meta) && about(name, &m) == TR_CACHE_ENTRY);
    uint8_t file[4096];
    size_t n = slurp(path, file, sizeof file);
    spill(path2, file, n); /* of another name */
    assert(about(name2, &m) == TR_CACHE_OLD);
    spill(path2, file, 20); /* cut */
    assert(about(name2, &m) == TR_CACHE_OLD);
    file[8]++; /* the version */
    spill(path2, file, n);
    assert(about(name2, &m) == TR_CACHE_OLD);
    file[0]++; /* no entry at all, whatever its name */
    spill(path2, file, n);
    assert(about(name2, &m) == TR_CACHE_NONE);
    assert(unlink(path2) == 0 && symlink(path, path2) == 0 && about(name2, &m) == TR_CACHE_NONE);
    assert(unlink(path2) == 0 && mkfifo(path2, 0600) == 0 && about(name2, &m) == TR_CACHE_NONE);
    assert(unlink(path2) == 0);
    static const char *const others[] = {"notes.txt", ".new-", ".new-abcdefg", ".new-abcde", "", "."};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert(about(others[i], &m) == TR_CACHE_NONE);
    snprintf(path2, sizeof path2, "%s/.new-abcdef", root);
    spill(path2, file, n);
    assert(about(".new-abcdef", &m) == TR_CACHE_TEMP && unlink(path2) == 0);
    struct timespec old[2] = {{.tv_sec = 1000000}, {.tv_sec = 1000000}};
    struct stat st;
    assert(utimensat(AT_FDCWD, path, old, 0) == 0 && get(&k)); /* its age is since its last use */
    assert(stat(path, &st) == 0 && st.st_mtim.tv_sec > 1000000);
}

/* --- lines that move --- */

static tr_place moved(tr_mfunc *f, uint32_t n, int32_t line, const char *fn) {
    tr_place p = {"f.py", fn, {line, 0, line + 1, 0}};
    tr_mfunc as[4];
    tr_msite site = {.nplaces = 1, .places = &p};
    tr_meta m = {.nsites = 1, .sites = &site, .nfuncs = n, .funcs = f};
    memcpy(as, f, n * sizeof *f);
    if (!tr_meta_move(&m, as, n))
        p.span.line = -1;
    return p;
}

static void test_moved(void) {
    tr_mfunc f[] = {{"f.py", "f", 2, 5, 2}, {"f.py", "f", 7, 9, 17}, {"g.py", "f", 2, 5, 1}};
    assert(moved(f, 3, 4, "f").span.line == 4);
    tr_place p = moved(f, 3, 8, "f");
    assert(p.span.line == 18 && p.span.end_line == 19);
    assert(moved(f, 3, 0, "f").span.line == 0); /* one that nobody knows */
    assert(moved(f, 3, 6, "f").span.line == -1 && moved(f, 3, 8, "g").span.line == -1);
    f[1].first = 5; /* line 5 is of both, and they move apart */
    assert(moved(f, 3, 4, "f").span.line == -1);
    f[0].now = 14;
    assert(moved(f, 3, 4, "f").span.line == 16);
    tr_mfunc as[] = {f[0], f[1]};
    tr_meta m = {.nfuncs = 2, .funcs = f};
    assert(tr_meta_move(&m, as, 2) && !tr_meta_move(&m, as, 1)); /* another program */
    m.says_lines = true;
    assert(!tr_meta_move(&m, as, 2));
    as[0].now = f[0].first;
    as[1].now = f[1].first;
    assert(tr_meta_move(&m, as, 2)); /* nothing moves */
}

/* Mutated metadata under a right checksum: the reader itself must hold. */
static void test_mutated(void) {
    tr_sb b;
    tr_sb_init(&b);
    tr_meta_write(&b, &meta);
    uint64_t s = 99;
    unsigned read = 0;
    for (int round = 0; round < 100000; round++) {
        size_t n = round % 3 ? b.n : (size_t)(s >> 40) % (b.n + 1);
        uint8_t *d = malloc(n + 1);
        memcpy(d, b.d, n);
        for (int k = round % 4; k >= 0 && n; k--) {
            s = s * 6364136223846793005u + 1442695040888963407u;
            d[(s >> 33) % n] = (s >> 20) % 3 ? (uint8_t)(s >> 25) : (s >> 22) % 2 ? 0xff : 0;
        }
        uint8_t *tight = malloc(n ? n : 1), *room = malloc(tr_meta_room(n));
        memcpy(tight, d, n);
        tr_meta m;
        if (tr_meta_read(tight, n, room, &m)) {
            read++;
            tr_sb again; /* what was accepted can be walked */
            tr_sb_init(&again);
            tr_meta_write(&again, &m);
            tr_sb_fini(&again);
        }
        free(tight);
        free(room);
        free(d);
    }
    tr_sb_fini(&b);
    printf("mutated metadata: %u of 100000 were still well formed\n", read);
}

static void *writer(void *key) {
    for (int i = 0; i < 200; i++)
        assert(tr_cache_put(root, key, code, sizeof code, &meta));
    return NULL;
}

static void test_concurrent(void) {
    tr_hash k = key_of("shared");
    pthread_t t[2];
    assert(tr_cache_put(root, &k, code, sizeof code, &meta));
    for (int i = 0; i < 2; i++)
        assert(pthread_create(&t[i], NULL, writer, &k) == 0);
    for (int i = 0; i < 400; i++)
        assert(get(&k)); /* a reader sees a whole entry at any time */
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
}

static void test_dir(void) {
    char why[512], deep[256];
    snprintf(deep, sizeof deep, "%s/a/b/c", root);
    setenv("TREADLE_CACHE_DIR", deep, 1);
    struct stat st;
    char *d = tr_cache_path(why, sizeof why); /* makes nothing */
    assert(d && !strcmp(d, deep) && stat(d, &st) != 0);
    assert(!tr_cache_fits(d, why, sizeof why) && strstr(why, "cannot be looked at"));
    free(d);
    d = tr_cache_dir(why, sizeof why);
    assert(d && !strcmp(d, deep) && stat(d, &st) == 0 && (st.st_mode & 0777) == 0700);
    assert(tr_cache_fits(d, why, sizeof why));
    free(d);
    assert(chmod(deep, 0777) == 0);
    assert(!tr_cache_dir(why, sizeof why) && strstr(why, "written by others"));
    assert(rmdir(deep) == 0);
    spill(deep, code, sizeof code);
    assert(!tr_cache_dir(why, sizeof why) && strstr(why, "not a directory"));
    strcat(deep, "/x"); /* below a file */
    setenv("TREADLE_CACHE_DIR", deep, 1);
    assert(!tr_cache_dir(why, sizeof why) && strstr(why, "cannot be made"));
    unsetenv("TREADLE_CACHE_DIR");
    setenv("XDG_CACHE_HOME", root, 1);
    d = tr_cache_dir(why, sizeof why);
    assert(d && !strncmp(d, root, strlen(root)) && strstr(d, "/treadle"));
    free(d);
    unsetenv("XDG_CACHE_HOME");
    setenv("HOME", root, 1);
    d = tr_cache_dir(why, sizeof why);
    assert(d && strstr(d, "/.cache/treadle"));
    free(d);
    snprintf(deep, sizeof deep, "%s/theirs", root);
    assert(mkdir(deep, 0700) == 0);
    if (chown(deep, 12345, 12345) == 0) { /* only root can, and not everywhere */
        setenv("TREADLE_CACHE_DIR", deep, 1);
        assert(!tr_cache_dir(why, sizeof why) && strstr(why, "another user"));
    }
}

int main(void) {
    char cmd[64];
    assert(mkdtemp(root));
    test_hash();
    test_entries();
    test_about();
    test_moved();
    test_mutated();
    test_concurrent();
    test_dir();
    snprintf(cmd, sizeof cmd, "rm -rf %s", root);
    return system(cmd) != 0;
}
