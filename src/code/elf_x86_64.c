/* Loader of relocatable ELF objects for x86-64: what our back end emits (and gcc -c, in tests), nothing more.
 *
 * The input may come from a file, so every offset, count and index is checked before use: malformed input is
 * an error with a sentence, never a crash. Headers and symbols are copied to aligned memory first. Memory is
 * writable while it is filled and relocated; afterwards no page is writable and executable at once. Far
 * functions are reached through 8-byte stubs (jmp *slot) beside the code, far data through the same slots.
 * Unwind tables are not loaded: compiled code never unwinds.
 * Cost: one mmap, two mprotects, about 15 us for a
 * small kernel. */
#include <assert.h>
#include <elf.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "code/priv.h"

#ifndef R_X86_64_GOTPCRELX
#define R_X86_64_GOTPCRELX     41
#define R_X86_64_REX_GOTPCRELX 42
#endif
#ifndef SHT_X86_64_UNWIND
#define SHT_X86_64_UNWIND 0x70000001
#endif

/* 32-bit displacements must reach everywhere inside an image. */
enum { PAGE = 4096, STUB = 8, MAX_IMAGE = 1 << 30 };
typedef enum group { G_TEXT, G_RO, G_RW, G_COUNT, G_SKIP = G_COUNT } group;

typedef struct ld {
    const uint8_t *p;
    size_t n;
    const tr_elf_env *env;
    Elf64_Ehdr eh;
    Elf64_Shdr *sh;
    uint8_t *grp; /* group of each section */
    size_t *off;  /* its offset in the image */
    uint32_t symtab;
    Elf64_Sym *sym;
    uint32_t nsym;
    const char *str; /* names of symbols */
    size_t nstr;
    uint64_t *val;  /* address of each symbol, 0 = none; before they are resolved: 1 = referred to */
    uint32_t *slot; /* 1 + number of its slot and stub, 0 = none */
    uint32_t nslot;
    size_t stubs, slots, end[G_COUNT];
    uint8_t *base;
    char *err;
    size_t errn;
} ld;

__attribute__((format(printf, 2, 3))) static bool fail(ld *l, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(l->err, l->errn, fmt, ap);
    va_end(ap);
    return false;
}

static bool in_file(const ld *l, uint64_t off, uint64_t size) {
    return off <= l->n && size <= l->n - off;
}

/* A copy of `count` records at `off`, aligned; NULL with an error. */
static void *copy_records(ld *l, uint64_t off, uint64_t count, size_t each, const char *what) {
    assert(each > 0 && "records have a size");
    if (count > l->n / each || !in_file(l, off, count * each)) {
        fail(l, "object file: %s lie outside the file", what);
        return NULL;
    }
    void *m = malloc(count ? count * each : 1);
    if (!m) {
        fail(l, "out of memory while loading code");
        return NULL;
    }
    if (count)
        memcpy(m, l->p + off, count * each);
    return m;
}

/* Text at `off` of a string table; NULL unless it ends inside. */
static const char *text_at(const char *tab, size_t n, uint64_t off) {
    return off < n && memchr(tab + off, 0, n - off) ? tab + off : NULL;
}

static bool read_header(ld *l) {
    if (l->n < sizeof l->eh)
        return fail(l, "object file: shorter than an ELF header");
    memcpy(&l->eh, l->p, sizeof l->eh);
    const Elf64_Ehdr *e = &l->eh;
    if (memcmp(e->e_ident, ELFMAG, SELFMAG) != 0 || e->e_ident[EI_CLASS] != ELFCLASS64 ||
        e->e_ident[EI_DATA] != ELFDATA2LSB || e->e_type != ET_REL || e->e_machine != EM_X86_64)
        return fail(l, "object file: not a relocatable x86-64 ELF object");
    if (e->e_shentsize != sizeof(Elf64_Shdr) || e->e_shnum == 0 || e->e_shstrndx >= e->e_shnum)
        return fail(l, "object file: bad section table");
    l->sh = copy_records(l, e->e_shoff, e->e_shnum, sizeof *l->sh, "sections");
    return l->sh != NULL;
}

static group group_of(const Elf64_Shdr *s, const char *name) {
    if (!(s->sh_flags & SHF_ALLOC) || !s->sh_size || s->sh_type == SHT_X86_64_UNWIND ||
        !strcmp(name, ".eh_frame"))
        return G_SKIP;
    if (s->sh_flags & SHF_EXECINSTR)
        return G_TEXT;
    /* Constants that hold addresses are written once, here. */
    return (s->sh_flags & SHF_WRITE) && strncmp(name, ".data.rel.ro", 12) != 0 ? G_RW : G_RO;
}

static bool check_section(ld *l, uint32_t i) {
    const Elf64_Shdr *s = &l->sh[i], *names = &l->sh[l->eh.e_shstrndx];
    if (s->sh_type != SHT_NOBITS && s->sh_type != SHT_NULL && !in_file(l, s->sh_offset, s->sh_size))
        return fail(l, "object file: section %u lies outside the file", i);
    const char *name = text_at((const char *)l->p + names->sh_offset, (size_t)names->sh_size, s->sh_name);
    if (!name)
        return fail(l, "object file: section %u has no name", i);
    if (s->sh_addralign & (s->sh_addralign - 1) || s->sh_addralign > PAGE)
        return fail(l, "object file: section %s has a bad alignment", name);
    if (s->sh_type == SHT_GROUP || s->sh_flags & SHF_TLS)
        return fail(l, "object file: section %s is of a kind that is not loaded", name);
    l->grp[i] = (uint8_t)group_of(s, name);
    if (l->grp[i] != G_SKIP && s->sh_type != SHT_PROGBITS && s->sh_type != SHT_NOBITS &&
        s->sh_type != SHT_NOTE)
        return fail(l, "object file: section %s is of a kind that is not loaded", name);
    if (s->sh_type == SHT_SYMTAB) {
        if (l->symtab)
            return fail(l, "object file: two symbol tables");
        l->symtab = i;
    }
    return true;
}

static bool read_sections(ld *l) {
    uint32_t n = l->eh.e_shnum;
    l->grp = malloc(n);
    l->off = calloc(n, sizeof *l->off);
    if (!l->grp || !l->off)
        return fail(l, "out of memory while loading code");
    l->grp[0] = G_SKIP;
    const Elf64_Shdr *names = &l->sh[l->eh.e_shstrndx];
    if (names->sh_type != SHT_STRTAB || !in_file(l, names->sh_offset, names->sh_size))
        return fail(l, "object file: bad table of section names");
    for (uint32_t i = 1; i < n; i++)
        if (!check_section(l, i))
            return false;
    return true;
}

static bool read_symbols(ld *l) {
    if (!l->symtab)
        return fail(l, "object file: no symbol table");
    const Elf64_Shdr *s = &l->sh[l->symtab];
    if (s->sh_entsize != sizeof(Elf64_Sym) || s->sh_link >= l->eh.e_shnum ||
        l->sh[s->sh_link].sh_type != SHT_STRTAB)
        return fail(l, "object file: bad symbol table");
    l->nsym = (uint32_t)(s->sh_size / sizeof(Elf64_Sym));
    l->sym = copy_records(l, s->sh_offset, l->nsym, sizeof *l->sym, "symbols");
    if (!l->sym)
        return false;
    l->str = (const char *)l->p + l->sh[s->sh_link].sh_offset;
    l->nstr = (size_t)l->sh[s->sh_link].sh_size;
    l->val = calloc(l->nsym + 1u, sizeof *l->val);
    l->slot = calloc(l->nsym + 1u, sizeof *l->slot);
    if (!l->val || !l->slot)
        return fail(l, "out of memory while loading code");
    for (uint32_t i = 1; i < l->nsym; i++)
        if (!text_at(l->str, l->nstr, l->sym[i].st_name))
            return fail(l, "object file: symbol %u has no name", i);
    return true;
}

static const char *sym_name(const ld *l, uint32_t i) {
    assert(i < l->nsym && "a symbol of the table");
    return l->str + l->sym[i].st_name;
}

/* Calls `each` for every relocation of every section that is loaded. */
static bool each_reloc(ld *l, bool (*each)(ld *, uint32_t sec, const Elf64_Rela *)) {
    for (uint32_t i = 1; i < l->eh.e_shnum; i++) {
        const Elf64_Shdr *s = &l->sh[i];
        if (s->sh_type != SHT_RELA && s->sh_type != SHT_REL)
            continue;
        if (s->sh_info >= l->eh.e_shnum || s->sh_link != l->symtab)
            return fail(l, "object file: bad relocation section");
        if (l->grp[s->sh_info] == G_SKIP)
            continue;
        if (s->sh_type == SHT_REL || s->sh_entsize != sizeof(Elf64_Rela))
            return fail(l, "object file: bad relocation section");
        for (uint64_t k = 0; k < s->sh_size / sizeof(Elf64_Rela); k++) {
            Elf64_Rela r;
            memcpy(&r, l->p + s->sh_offset + k * sizeof r, sizeof r);
            if (ELF64_R_SYM(r.r_info) >= l->nsym)
                return fail(l, "object file: a relocation names no symbol");
            if (!each(l, s->sh_info, &r))
                return false;
        }
    }
    return true;
}

/* Marks the symbol, and gives it a slot when it is reached through one. */
static bool note_use(ld *l, uint32_t sec, const Elf64_Rela *r) {
    (void)sec;
    uint32_t s = (uint32_t)ELF64_R_SYM(r->r_info), t = (uint32_t)ELF64_R_TYPE(r->r_info);
    l->val[s] = s != 0;
    bool got = t == R_X86_64_GOTPCREL || t == R_X86_64_GOTPCRELX || t == R_X86_64_REX_GOTPCRELX;
    bool far = t == R_X86_64_PLT32 && l->sym[s].st_shndx == SHN_UNDEF;
    if ((got || far) && !l->slot[s])
        l->slot[s] = ++l->nslot;
    return true;
}

static bool grow(ld *l, size_t *at, uint64_t align, uint64_t size) {
    assert(!(align & (align - 1)) && "an alignment is a power of two");
    uint64_t a = align ? align : 1, start = (*at + a - 1) & ~(a - 1);
    if (size > MAX_IMAGE || start + size > MAX_IMAGE)
        return fail(l, "object file: too large to load");
    *at = (size_t)(start + size);
    return true;
}

static bool lay_out(ld *l) {
    size_t at = 0;
    for (uint32_t g = 0; g < G_COUNT; g++) {
        for (uint32_t i = 1; i < l->eh.e_shnum; i++) {
            if (l->grp[i] != g)
                continue;
            if (!grow(l, &at, l->sh[i].sh_addralign, l->sh[i].sh_size))
                return false;
            l->off[i] = at - (size_t)l->sh[i].sh_size;
        }
        size_t tail =
            g == G_RW ? 0
                      : (size_t)l->nslot * STUB; /* stubs after code, slots after constants: 8 bytes each */
        if (!grow(l, &at, STUB, tail))
            return false;
        if (g == G_TEXT)
            l->stubs = at - tail;
        if (g == G_RO)
            l->slots = at - tail;
        if (!grow(l, &at, PAGE, 0))
            return false;
        l->end[g] = at;
    }
    return at > 0 || fail(l, "object file: holds no code");
}

static bool map_sections(ld *l) {
    void *m = mmap(NULL, l->end[G_RW], PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (m == MAP_FAILED)
        return fail(l, "out of memory while loading code");
    l->base = m;
    assert(l->end[G_TEXT] <= l->end[G_RO] && l->end[G_RO] <= l->end[G_RW] &&
           "parts of an image follow each other");
    for (uint32_t i = 1; i < l->eh.e_shnum; i++)
        if (l->grp[i] != G_SKIP && l->sh[i].sh_type != SHT_NOBITS)
            memcpy(l->base + l->off[i], l->p + l->sh[i].sh_offset, (size_t)l->sh[i].sh_size);
    return true;
}

static bool missing(ld *l, const char *name) {
    bool sleef = !strncmp(name, "Sleef_", 6) || !strncmp(name, "tr_vm_", 6);
    return fail(l, "code refers to `%s`, which %s does not have", name,
                sleef ? "libsleef.so.3 (not found, or another version)" : "the runtime");
}

static bool resolve_symbols(ld *l) {
    for (uint32_t i = 1; i < l->nsym; i++) {
        const Elf64_Sym *y = &l->sym[i];
        uint32_t x = y->st_shndx;
        bool used = l->val[i] != 0;
        l->val[i] = 0;
        if (x == SHN_UNDEF && used) {
            l->val[i] = (uint64_t)(uintptr_t)l->env->resolve(l->env->self, sym_name(l, i));
            if (!l->val[i])
                return missing(l, sym_name(l, i));
        } else if (x == SHN_COMMON || x == SHN_XINDEX || ELF64_ST_TYPE(y->st_info) == STT_GNU_IFUNC) {
            return fail(l, "object file: symbol `%s` is of a kind that is not loaded", sym_name(l, i));
        } else if (x < l->eh.e_shnum && l->grp[x] != G_SKIP) {
            if (y->st_value > l->sh[x].sh_size)
                return fail(l, "object file: symbol `%s` lies outside its section", sym_name(l, i));
            l->val[i] = (uint64_t)(uintptr_t)(l->base + l->off[x]) + y->st_value;
        }
    }
    return true;
}

/* A stub jumps through its slot: ff 25 disp32, then int3 as padding. */
static void fill_slots(ld *l) {
    for (uint32_t i = 1; i < l->nsym; i++) {
        if (!l->slot[i])
            continue;
        size_t k = (size_t)(l->slot[i] - 1u) * STUB;
        assert(l->slot[i] <= l->nslot && "a slot was laid out");
        uint8_t *stub = l->base + l->stubs + k, *slot = l->base + l->slots + k;
        int32_t disp = (int32_t)(slot - (stub + 6));
        memcpy(slot, &l->val[i], sizeof l->val[i]);
        memcpy(stub, (uint8_t[STUB]){0xff, 0x25, 0, 0, 0, 0, 0xcc, 0xcc}, STUB);
        memcpy(stub + 2, &disp, sizeof disp);
    }
}

static bool put32(ld *l, uint8_t *at, uint64_t v, bool is_signed, uint32_t s) {
    bool fits = is_signed ? (int64_t)v == (int32_t)v : v == (uint32_t)v;
    if (!fits)
        return fail(l, "object file: `%s` is too far away for its relocation", sym_name(l, s));
    uint32_t w = (uint32_t)v;
    memcpy(at, &w, sizeof w);
    return true;
}

static bool relocate(ld *l, uint32_t sec, const Elf64_Rela *r) {
    uint32_t s = (uint32_t)ELF64_R_SYM(r->r_info), t = (uint32_t)ELF64_R_TYPE(r->r_info);
    const Elf64_Shdr *h = &l->sh[sec];
    uint64_t width = t == R_X86_64_64 || t == R_X86_64_PC64 ? 8 : 4;
    if (t == R_X86_64_NONE)
        return true;
    if (h->sh_type == SHT_NOBITS || r->r_offset > h->sh_size || h->sh_size - r->r_offset < width)
        return fail(l, "object file: a relocation lies outside its section");
    if (s && !l->val[s] && l->sym[s].st_shndx != SHN_ABS)
        return fail(l, "object file: a relocation refers to `%s`, which is not loaded", sym_name(l, s));
    uint8_t *at = l->base + l->off[sec] + r->r_offset;
    assert(at + width <= l->base + l->end[G_RW] && "what is relocated lies in the image");
    uint64_t here = (uint64_t)(uintptr_t)at, add = (uint64_t)r->r_addend;
    uint64_t v = (l->sym[s].st_shndx == SHN_ABS ? l->sym[s].st_value : l->val[s]) + add;
    uint64_t k = l->slot[s] ? (uint64_t)(l->slot[s] - 1u) * STUB : 0;
    switch (t) {
    case R_X86_64_PC64: v -= here; __attribute__((fallthrough));
    case R_X86_64_64: memcpy(at, &v, sizeof v); return true;
    case R_X86_64_32: return put32(l, at, v, false, s);
    case R_X86_64_32S: return put32(l, at, v, true, s);
    case R_X86_64_PLT32:
        if (l->slot[s] && l->sym[s].st_shndx == SHN_UNDEF)
            v = (uint64_t)(uintptr_t)(l->base + l->stubs) + k + add;
        __attribute__((fallthrough));
    case R_X86_64_PC32: return put32(l, at, v - here, true, s);
    case R_X86_64_GOTPCREL:
    case R_X86_64_GOTPCRELX:
    case R_X86_64_REX_GOTPCRELX:
        return put32(l, at, (uint64_t)(uintptr_t)(l->base + l->slots) + k + add - here, true, s);
    default: return fail(l, "object file: relocation type %u is not known", t);
    }
}

static bool protect(ld *l) {
    size_t text = l->end[G_TEXT], ro = l->end[G_RO] - text;
    if ((text && mprotect(l->base, text, PROT_READ | PROT_EXEC)) ||
        (ro && mprotect(l->base + text, ro, PROT_READ)))
        return fail(l, "the system does not let this process make memory executable");
    return true;
}

static bool find_entry(ld *l, tr_image *out) {
    for (uint32_t i = 1; i < l->nsym; i++) {
        uint32_t x = l->sym[i].st_shndx;
        if (x == SHN_UNDEF || x >= l->eh.e_shnum || l->grp[x] != G_TEXT ||
            l->sym[i].st_value >= l->sh[x].sh_size)
            continue;
        uint8_t *addr = l->base + l->off[x] + l->sym[i].st_value;
        if (ELF64_ST_TYPE(l->sym[i].st_info) == STT_FUNC && l->env->on_fn)
            l->env->on_fn(l->env->self, sym_name(l, i), addr, (size_t)l->sym[i].st_size);
        if (!strcmp(sym_name(l, i), l->env->entry))
            out->entry = addr;
    }
    return out->entry || fail(l, "object file: has no `%s`", l->env->entry);
}

static bool note_sections(ld *l, tr_image *out) {
    out->nsec = l->eh.e_shnum;
    out->sec_addr = calloc(out->nsec, sizeof *out->sec_addr);
    if (!out->sec_addr)
        return fail(l, "out of memory while loading code");
    for (uint32_t i = 1; i < out->nsec; i++)
        if (l->grp[i] != G_SKIP)
            out->sec_addr[i] = (uint64_t)(uintptr_t)(l->base + l->off[i]);
    return true;
}

static bool load(ld *l, tr_image *out) {
    if (!read_header(l) || !read_sections(l) || !read_symbols(l) || !each_reloc(l, note_use) || !lay_out(l) ||
        !map_sections(l) || !resolve_symbols(l))
        return false;
    fill_slots(l);
    return each_reloc(l, relocate) && protect(l) && find_entry(l, out) && note_sections(l, out);
}

bool tr_elf_load(const void *elf, size_t size, const tr_elf_env *env, tr_image *out, char *err, size_t errn) {
    assert(env->resolve && env->entry && "who loads says what symbols are");
    ld l = {.p = elf, .n = size, .env = env, .err = err, .errn = errn};
    *out = (tr_image){0};
    bool ok = load(&l, out);
    if (ok) {
        out->base = l.base;
        out->size = l.end[G_RW];
        out->text = l.end[G_TEXT];
    } else if (l.base) {
        munmap(l.base, l.end[G_RW]);
    }
    free(l.sh);
    free(l.grp);
    free(l.off);
    free(l.sym);
    free(l.val);
    free(l.slot);
    return ok;
}

void tr_elf_unload(tr_image *im) {
    if (im->base)
        munmap(im->base, im->size);
    free(im->sec_addr);
    *im = (tr_image){0};
}
