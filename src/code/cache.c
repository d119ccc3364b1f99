/* Object files on disk, addressed by the hash of everything that went into them.
 *
 * One file per entry, named for its key: a header, tr_meta as bytes, the object. The checksum covers all of
 * it but itself. Readers see a whole file or none: writers fill a temporary file and rename it. What a file
 * holds is executed, so it counts only when it belongs to the user and nobody else can write it, and only
 * after key and checksum agree. Anything unexpected is a miss. Cost of a hit: one open, one read, one hash of
 * the file. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "code/priv.h"

enum { CACHE_VERSION = 5, MAX_FILE = 1 << 28 };
#define TEMP ".new-" /* begins the names of files that are being written */

typedef struct header {
    char magic[8];
    uint32_t version, header_size;
    tr_hash key;
    uint64_t nmeta, nelf;
    tr_hash sum; /* of the fields before it, then the rest of the file */
} header;
_Static_assert(sizeof(header) == 96, "no padding goes to disk");

static const char magic[8] = "TREADLE";

/* --- the directory --- */

static char *join(const char *a, const char *b) {
    size_t n = strlen(a) + strlen(b) + 1;
    char *s = malloc(n);
    if (s)
        snprintf(s, n, "%s%s", a, b);
    return s;
}

static char *home_cache(void) {
    const char *home = secure_getenv("HOME");
    if (home && *home == '/')
        return join(home, "/.cache/treadle");
    struct passwd pw, *found = NULL;
    char buf[4096];
    if (getpwuid_r(geteuid(), &pw, buf, sizeof buf, &found) || !found || !found->pw_dir ||
        *found->pw_dir != '/')
        return NULL;
    return join(found->pw_dir, "/.cache/treadle");
}

static char *choose_dir(void) {
    const char *own = secure_getenv("TREADLE_CACHE_DIR"), *xdg = secure_getenv("XDG_CACHE_HOME");
    if (own && *own)
        return join(own, "");
    if (xdg && *xdg == '/')
        return join(xdg, "/treadle");
    return home_cache();
}

/* mkdir -p, new directories for the user alone. */
static bool make_dirs(char *path) {
    for (char *s = path + 1;; s++) {
        char c = *s;
        if (c != '/' && c)
            continue;
        *s = 0;
        bool ok = mkdir(path, 0700) == 0 || errno == EEXIST || (c && errno != ENOENT);
        *s = c;
        if (!ok || !c)
            return ok;
    }
}

char *tr_cache_path(char *why, size_t whyn) {
    char *dir = choose_dir();
    if (!dir)
        snprintf(why, whyn, "no home directory; set TREADLE_CACHE_DIR");
    return dir;
}

bool tr_cache_fits(const char *dir, char *why, size_t whyn) {
    struct stat st;
    if (stat(dir, &st) != 0)
        snprintf(why, whyn, "the cache directory %s cannot be looked at: %s", dir, strerror(errno));
    else if (!S_ISDIR(st.st_mode))
        snprintf(why, whyn, "the cache directory %s is not a directory", dir);
    else if (st.st_uid != geteuid())
        snprintf(why, whyn, "the cache directory %s belongs to another user", dir);
    else if (st.st_mode & 022)
        snprintf(why, whyn, "the cache directory %s can be written by others; chmod 700 it", dir);
    else
        return true;
    return false;
}

char *tr_cache_dir(char *why, size_t whyn) {
    char *dir = tr_cache_path(why, whyn);
    bool made = dir && make_dirs(dir);
    if (dir && !made)
        snprintf(why, whyn, "the cache directory %s cannot be made: %s", dir, strerror(errno));
    if (made && tr_cache_fits(dir, why, whyn))
        return dir;
    free(dir);
    return NULL;
}

/* --- entries --- */

static char *entry_path(const char *dir, const tr_hash *key) {
    static const tr_hash none;
    if (!memcmp(key, &none, sizeof none)) /* a key that could not be made, see tr_hasher_end */
        return NULL;
    char name[1 + 2 * sizeof key->b + 5], *s = name;
    *s++ = '/';
    for (size_t i = 0; i < sizeof key->b; i++)
        s += sprintf(s, "%02x", key->b[i]);
    memcpy(s, ".trc", 5);
    return join(dir, name);
}

/* The key of an entry of this name; false: no entry has it. */
static bool key_of(const char *name, tr_hash *key) {
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < 2 * sizeof key->b; i++) {
        const char *d = name[i] ? strchr(digits, name[i]) : NULL;
        if (!d)
            return false;
        key->b[i / 2] = (uint8_t)(key->b[i / 2] << 4 | (uint8_t)(d - digits));
    }
    return !strcmp(name + 2 * sizeof key->b, ".trc");
}

static void checksum(const header *h, const void *a, size_t na, const void *b, size_t nb, tr_hash *out) {
    tr_sha256 s;
    tr_sha256_init(&s);
    tr_sha256_add(&s, h, offsetof(header, sum));
    tr_sha256_add(&s, a, na);
    tr_sha256_add(&s, b, nb);
    tr_sha256_end(&s, out);
}

static bool read_all(int fd, void *to, size_t n) {
    for (char *p = to; n;) {
        ssize_t got = read(fd, p, n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        p += got;
        n -= (size_t)got;
    }
    return true;
}

static bool write_all(int fd, const void *from, size_t n) {
    for (const char *p = from; n;) {
        ssize_t put = write(fd, p, n);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return false;
        p += put;
        n -= (size_t)put;
    }
    return true;
}

/* A regular file, and the user's own. */
static bool is_own(int fd, struct stat *st) {
    return fstat(fd, st) == 0 && S_ISREG(st->st_mode) && st->st_uid == geteuid() && !(st->st_mode & 022);
}

/* Header and sizes of an open entry. */
static bool read_header(int fd, const tr_hash *key, header *h) {
    struct stat st;
    if (!is_own(fd, &st) || st.st_size < (off_t)sizeof *h || st.st_size > MAX_FILE ||
        !read_all(fd, h, sizeof *h))
        return false;
    uint64_t rest = (uint64_t)st.st_size - sizeof *h;
    return !memcmp(h->magic, magic, sizeof magic) && h->version == CACHE_VERSION &&
           h->header_size == sizeof *h && !memcmp(&h->key, key, sizeof *key) && h->nmeta <= rest &&
           h->nelf == rest - h->nmeta;
}

/* The arena jumps when memory is short; here that is a miss like any other. */
static void *arena_try(tr_arena *a, size_t n) {
    jmp_buf here, *const old = a->oom;
    void *volatile p = NULL;
    a->oom = &here;
    if (!setjmp(here))
        p = tr_arena_alloc(a, n);
    a->oom = old;
    return p;
}

static bool read_entry(int fd, const tr_hash *key, tr_arena *a, uint8_t **elf, size_t *size, tr_meta *meta) {
    header h;
    tr_hash sum;
    if (!read_header(fd, key, &h))
        return false;
    uint8_t *text = malloc(h.nmeta + 1), *code = malloc(h.nelf + 1);
    bool ok = text && code && read_all(fd, text, h.nmeta) && read_all(fd, code, h.nelf);
    if (ok) {
        checksum(&h, text, h.nmeta, code, h.nelf, &sum);
        ok = !memcmp(&sum, &h.sum, sizeof sum);
    }
    void *room = ok ? arena_try(a, tr_meta_room(h.nmeta)) : NULL;
    ok = room && tr_meta_read(text, h.nmeta, room, meta);
    if (ok) {
        *elf = code;
        *size = h.nelf;
    } else {
        free(code);
    }
    free(text);
    return ok;
}

/* An entry's age is counted from its last use, give or take a day. That it cannot be written is no fault. */
static void note_use(int fd) {
    struct stat st;
    if (fstat(fd, &st) == 0 && st.st_mtim.tv_sec < time(NULL) - 24 * 60 * 60 && futimens(fd, NULL) != 0)
        errno = 0;
}

bool tr_cache_get(const char *dir, const tr_hash *key, tr_arena *a, uint8_t **elf, size_t *size,
                  tr_meta *meta) {
    char *path = entry_path(dir, key);
    if (!path)
        return false;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK); /* never wait for a FIFO */
    free(path);
    if (fd < 0)
        return false;
    bool ok = read_entry(fd, key, a, elf, size, meta);
    if (ok)
        note_use(fd);
    close(fd);
    return ok;
}

/* What lies there as an entry: its header, and what is said of its code. */
static tr_cachek look_at(int fd, const tr_hash *key, tr_arena *a, tr_meta *meta) {
    header h = {0};
    struct stat st;
    if (!is_own(fd, &st) || !read_all(fd, h.magic, sizeof h.magic) ||
        memcmp(h.magic, magic, sizeof magic) != 0)
        return TR_CACHE_NONE;
    bool ok = lseek(fd, 0, SEEK_SET) == 0 && read_header(fd, key, &h);
    uint8_t *text = ok ? malloc(h.nmeta + 1) : NULL;
    ok = text && read_all(fd, text, h.nmeta);
    void *room = ok ? arena_try(a, tr_meta_room(h.nmeta)) : NULL;
    ok = room && tr_meta_read(text, h.nmeta, room, meta);
    free(text);
    return ok ? TR_CACHE_ENTRY : TR_CACHE_OLD;
}

tr_cachek tr_cache_about(const char *dir, const char *name, tr_arena *a, tr_meta *meta) {
    tr_hash key = {{0}};
    bool temp = !strncmp(name, TEMP, sizeof TEMP - 1) && strlen(name) == sizeof TEMP + 5;
    char *file = temp || key_of(name, &key) ? join("/", name) : NULL, *path = file ? join(dir, file) : NULL;
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) : -1;
    free(file);
    free(path);
    if (fd < 0)
        return TR_CACHE_NONE;
    struct stat st;
    tr_cachek k = !temp ? look_at(fd, &key, a, meta) : is_own(fd, &st) ? TR_CACHE_TEMP : TR_CACHE_NONE;
    close(fd);
    return k;
}

static bool write_entry(int fd, const header *h, const tr_sb *text, const uint8_t *elf) {
    return write_all(fd, h, sizeof *h) && write_all(fd, text->d, text->n) && write_all(fd, elf, h->nelf);
}

bool tr_cache_put(const char *dir, const tr_hash *key, const uint8_t *elf, size_t size, const tr_meta *meta) {
    assert(elf && size > 0 && "an entry holds code");
    char *path = entry_path(dir, key), *temp = join(dir, "/" TEMP "XXXXXX");
    tr_sb text;
    tr_sb_init(&text);
    tr_meta_write(&text, meta);
    int fd = path && temp && !text.oom && size + text.n < MAX_FILE ? mkostemp(temp, O_CLOEXEC) : -1;
    bool ok = fd >= 0;
    if (ok) {
        header h = {
            .version = CACHE_VERSION, .header_size = sizeof h, .key = *key, .nmeta = text.n, .nelf = size};
        memcpy(h.magic, magic, sizeof magic);
        checksum(&h, text.d, text.n, elf, size, &h.sum);
        ok = write_entry(fd, &h, &text, elf);
        ok = close(fd) == 0 && ok && rename(temp, path) == 0;
        if (!ok)
            unlink(temp);
    }
    tr_sb_fini(&text);
    free(path);
    free(temp);
    return ok;
}
