/* What an exception says: str() and repr() of one that was caught, and the message that the host gives to
 * one that it makes (ext/pyerr.c). Its raise site has the pieces, its payload the values; all is as CPython
 * has it.
 *
 * A class with a __str__ or an __init__ of its own would have to be asked, which only the host could: what
 * such exceptions say is not known here. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digits.h"
#include "base/fspec.h"
#include "rt/fns.h"
#include "rt/rt.h"
#include "rt/site.h"
#include "rt/str.h"

/* The next argument of a site to be read: its number, and the payload's next slot. */
typedef struct reading {
    const tr_msite *site;
    const tr_slot *payload;
    uint32_t i, slot;
} reading;

static tr_str string_at(const tr_slot *p) {
    return (tr_str){(void *)(uintptr_t)p[0].u, (const void *)(uintptr_t)p[1].u, p[2].i};
}

static void put_int(int64_t x, tr_sb *b) {
    char d[TR_DIGITS_INT];
    tr_sb_write(b, d, tr_digits_int(x, d));
}

static void put_uint(uint64_t x, tr_sb *b) {
    char d[TR_DIGITS_INT];
    tr_sb_write(b, d, tr_digits_uint(x, d));
}

static void put_float(double x, int bits, tr_sb *b) {
    char d[TR_DIGITS_FLOAT];
    tr_sb_write(b, d, tr_digits_float(x, bits, true, d));
}

static void put_complex(double re, double im, int bits, tr_sb *b) {
    char d[TR_DIGITS_COMPLEX];
    tr_sb_write(b, d, tr_digits_complex(re, im, bits, d));
}

/* Of text in UTF-8, without its final NUL. */
static void put_repr_of_text(const char *s, size_t n, tr_sb *b) {
    const uint8_t *at = (const uint8_t *)s, *end = at + n;
    uint32_t *c = malloc((n + 1) * sizeof *c);
    int64_t k = 0;
    while (c && at < end)
        c[k++] = tr_utf8_next(&at);
    tr_str t = {NULL, c, k << TR_STR_LENGTH | 2};
    if (c)
        tr_str_repr(&t, b);
    b->oom = b->oom || !c;
    free(c);
}

static void put_next(reading *r, bool repr, tr_sb *b);

static void put_tuple(reading *r, uint32_t n, tr_sb *b) {
    tr_sb_putc(b, '(');
    for (uint32_t k = 0; k < n; k++) {
        tr_sb_puts(b, k ? ", " : "");
        put_next(r, true, b);
    }
    tr_sb_puts(b, n == 1 ? ",)" : ")");
}

/* What was given by name or by value shows as many digits as it has: a float32 constant became a double. */
static void put_arg(const tr_marg *a, const tr_slot *p, bool repr, tr_sb *b) {
    tr_str s;
    double im;
    switch (a->kind) {
    case 'i': put_int(p->i, b); break;
    case 'u': put_uint(p->u, b); break;
    case 'd': put_float(p->f, 64, b); break;
    case 'f': put_float((double)p->f32, 32, b); break;
    case 'h': put_float((double)p->f16, 16, b); break;
    case 'b': tr_sb_puts(b, p->b ? "True" : "False"); break;
    case 'C': put_complex(p[0].f, p[1].f, 64, b); break;
    case 'c': put_complex(p[0].f, p[1].f, 32, b); break;
    case 's':
        s = string_at(p);
        repr ? tr_str_repr(&s, b) : tr_str_text(&s, b);
        break;
    case 'y':
        s = string_at(p);
        tr_bytes_repr(&s, b);
        break;
    case 'I': put_int(a->i, b); break;
    case 'U': put_uint((uint64_t)a->i, b); break;
    case 'D': put_float(a->d, 64, b); break;
    case 'F': put_float(a->d, 32, b); break;
    case 'Z':
    case 'z':
        memcpy(&im, &a->i, sizeof im);
        put_complex(a->d, im, a->kind == 'z' ? 32 : 64, b);
        break;
    case 'B': tr_sb_puts(b, a->i ? "True" : "False"); break;
    case 'S': repr ? put_repr_of_text(a->s, strlen(a->s), b) : tr_sb_puts(b, a->s); break;
    default: tr_sb_puts(b, "None");
    }
}

static void put_next(reading *r, bool repr, tr_sb *b) {
    static const tr_marg none = {.kind = 'N'};
    const tr_marg *a = r->i < r->site->nargs ? &r->site->args[r->i] : &none;
    const tr_slot *p = &r->payload[r->slot < TR_FRAME_PAYLOAD ? r->slot : TR_FRAME_PAYLOAD - 1];
    assert(r->slot + tr_marg_slots(a->kind) <= TR_FRAME_PAYLOAD && "what is raised fits the frame");
    r->i++;
    r->slot += tr_marg_slots(a->kind);
    if (a->kind == 'T')
        put_tuple(r, (uint32_t)a->i, b);
    else
        put_arg(a, p, repr, b);
}

/* --- messages with places for values --- */

/* Argument i of a site without tuples, and where its value lies. */
static const tr_marg *arg_at(const reading *r, uint32_t i, const tr_slot **p) {
    uint32_t slot = 0;
    for (uint32_t k = 0; k < i; k++)
        slot += tr_marg_slots(r->site->args[k].kind);
    *p = &r->payload[slot];
    return &r->site->args[i];
}

/* Is "{0:spec}" at s? Then its end, past the brace. In a specification a brace can be the fill alone. */
static const char *spec_end(const tr_msite *site, const char *s) {
    if (s[0] != '{' || s[1] < '0' || s[1] > '9' || s[2] != ':' || (uint32_t)(s[1] - '0') >= site->nargs)
        return NULL;
    const char *end = strchr(s + 3 + (s[3] == '}' && s[4] && strchr("<>^=", s[4])), '}');
    return end ? end + 1 : NULL;
}

/* "!r" stands for repr(). */
static void put_string_by(const tr_str *s, const char *spec, tr_sb *b) {
    if (strcmp(spec, TR_SPEC_REPR) == 0)
        tr_str_repr(s, b);
    else
        tr_str_spec(s, spec, b);
}

static void put_text_by(const char *s, const char *spec, tr_sb *b) {
    tr_fspec how;
    if (strcmp(spec, TR_SPEC_REPR) == 0)
        put_repr_of_text(s, strlen(s), b);
    else if (tr_fspec_read(spec, 's', NULL, &how, NULL))
        tr_fspec_string(&how, s, b);
}

/* Writes what stands at s, whose number infer has made an int64, an uint64, a double or a complex. */
static void put_by_spec(const reading *r, const char *s, const char *end, tr_sb *b) {
    char spec[TR_FSPEC_LONG];
    const tr_slot *p;
    const tr_marg *a = arg_at(r, (uint32_t)(s[1] - '0'), &p);
    double im;
    tr_str t;
    snprintf(spec, sizeof spec, "%.*s", (int)(end - s - 4), s + 3);
    switch (a->kind) {
    case 's':
        t = string_at(p);
        put_string_by(&t, spec, b);
        break;
    case 'y':
        t = string_at(p);
        tr_bytes_repr(&t, b);
        break;
    case 'S': put_text_by(a->s, spec, b); break;
    case 'd': tr_rt_spec_float(spec, p->f, b); break;
    case 'D': tr_rt_spec_float(spec, a->d, b); break;
    case 'C': tr_rt_spec_complex(spec, p[0].f, p[1].f, b); break;
    case 'Z':
        memcpy(&im, &a->i, sizeof im);
        tr_rt_spec_complex(spec, a->d, im, b);
        break;
    case 'u': tr_rt_spec_uint(spec, p->u, b); break;
    case 'U': tr_rt_spec_uint(spec, (uint64_t)a->i, b); break;
    default: tr_rt_spec_int(spec, a->kind == 'i' ? p->i : a->i, b);
    }
}

/* "{w}": the index as the user wrote it. Payload 0 is the index after wrapping, payload 1 the size: a
 * negative one has had the size added. Unsigned: an index that was an uint64 may be any pattern of bits. */
static void put_written(const tr_slot *p, tr_sb *b) {
    put_int(p[0].i < 0 ? (int64_t)(p[0].u - p[1].u) : p[0].i, b);
}

void tr_rt_site_text(const struct tr_msite *site, const tr_slot *payload, tr_sb *b) {
    const reading r = {.site = site, .payload = payload};
    const tr_slot *p;
    for (const char *s = site->text; *s; s++) {
        const char *end = spec_end(site, s);
        if (end) {
            put_by_spec(&r, s, end, b);
            s = end - 1;
        } else if (strncmp(s, "{w}", 3) == 0 && site->nargs >= 2) {
            put_written(payload, b);
            s += 2;
        } else if (strncmp(s, "{u}", 3) == 0 && site->nargs >= 1) {
            put_uint(payload[0].u, b);
            s += 2;
        } else if (s[0] == '{' && s[1] >= '0' && s[1] <= '9' && s[2] == '}' &&
                   (uint32_t)(s[1] - '0') < site->nargs) {
            const tr_marg *a = arg_at(&r, (uint32_t)(s[1] - '0'), &p);
            put_arg(a, p, false, b);
            s += 2;
        } else {
            tr_sb_putc(b, *s);
        }
    }
}

/* --- of one that was caught --- */

static void put_message(const tr_msite *site, const tr_slot *payload, bool repr, tr_sb *b) {
    tr_sb t;
    if (!repr) {
        tr_rt_site_text(site, payload, b);
        return;
    }
    tr_sb_init(&t);
    tr_rt_site_text(site, payload, &t);
    put_repr_of_text(t.d ? t.d : "", t.n, b);
    b->oom = b->oom || t.oom;
    tr_sb_fini(&t);
}

/* Arguments of the outermost level: a tuple counts with its items. */
static uint32_t count_args(const tr_msite *site) {
    uint32_t n = 0, open = 0;
    for (uint32_t i = 0; i < site->nargs; i++) {
        n += !open;
        open -= open != 0;
        open += site->args[i].kind == 'T' ? (uint32_t)site->args[i].i : 0;
    }
    return n;
}

/* --- errors of codecs --- */

enum { CODEC_ENCODING, CODEC_OBJECT, CODEC_START, CODEC_END, CODEC_REASON, CODEC_ARGS };

/* Argument i as text. */
static void put_codec_text(const tr_msite *site, const tr_slot *payload, uint32_t i, tr_sb *b) {
    const reading r = {.site = site, .payload = payload};
    const tr_slot *p;
    const tr_marg *a = arg_at(&r, i, &p);
    assert(site->nargs == CODEC_ARGS && "an error of a codec has five arguments");
    put_arg(a, p, false, b);
}

static int64_t codec_number(const tr_msite *site, const tr_slot *payload, uint32_t i) {
    const reading r = {.site = site, .payload = payload};
    const tr_slot *p;
    const tr_marg *a = arg_at(&r, i, &p);
    assert(site->nargs == CODEC_ARGS && "an error of a codec has five arguments");
    return strchr("iu", a->kind) ? p->i : a->i;
}

/* What stands at that place of its object; false when nothing does. */
static bool codec_char(const tr_msite *site, const tr_slot *payload, int64_t at, uint32_t *c) {
    const reading r = {.site = site, .payload = payload};
    const tr_slot *p;
    const tr_marg *a = arg_at(&r, CODEC_OBJECT, &p);
    if (at < 0)
        return false;
    if (strchr("sy", a->kind)) {
        tr_str s = string_at(p);
        *c = at < tr_str_len(&s) ? tr_str_at(&s, at) : 0;
        return at < tr_str_len(&s);
    }
    const uint8_t *text = (const uint8_t *)a->s;
    for (*c = 0; *text; at--) {
        *c = tr_utf8_next(&text);
        if (!at)
            return true;
    }
    return false;
}

/* As CPython has it: of one character or byte which one it is, of several where they stand. */
static void put_codec(const tr_msite *site, const tr_slot *payload, tr_sb *b) {
    int64_t start = codec_number(site, payload, CODEC_START), end = codec_number(site, payload, CODEC_END);
    bool decode = strcmp(site->name, "UnicodeDecodeError") == 0;
    const char *verb = decode ? "decode" : "encode", *what = decode ? "byte" : "character";
    uint32_t c;
    tr_sb_putc(b, '\'');
    put_codec_text(site, payload, CODEC_ENCODING, b);
    if ((uint64_t)end - (uint64_t)start == 1 && codec_char(site, payload, start, &c)) {
        tr_sb_printf(b, "' codec can't %s %s ", verb, what);
        tr_sb_printf(b,
                     decode        ? "0x%02x"
                     : c < 0x100   ? "'\\x%02x'"
                     : c < 0x10000 ? "'\\u%04x'"
                                   : "'\\U%08x'",
                     c);
        tr_sb_puts(b, " in position ");
    } else {
        tr_sb_printf(b, "' codec can't %s %ss in position ", verb, what);
        put_int(start, b);
        tr_sb_putc(b, '-');
        start = (int64_t)((uint64_t)end - 1);
    }
    put_int(start, b);
    tr_sb_puts(b, ": ");
    put_codec_text(site, payload, CODEC_REASON, b);
}

/* BaseException's way: of no argument nothing, of one what it says, of several their tuple. */
static void put_said(const tr_msite *site, const tr_slot *payload, bool repr, tr_sb *b) {
    reading r = {.site = site, .payload = payload};
    bool arg_repr = repr || site->says == TR_SAYS_REPR;
    uint32_t n = site->text ? 1 : count_args(site);
    if (repr) {
        tr_sb_puts(b, site->name);
        tr_sb_puts(b, n == 1 ? "(" : "");
    }
    if (site->text)
        put_message(site, payload, arg_repr, b);
    else if (n == 1)
        put_next(&r, arg_repr, b);
    else if (n || repr)
        put_tuple(&r, n, b);
    tr_sb_puts(b, repr && n == 1 ? ")" : "");
}

/* Its one argument, if that is a string. */
static bool put_string_arg(const tr_msite *site, const tr_slot *payload, tr_sb *b) {
    reading r = {.site = site, .payload = payload};
    bool one = site->text || (count_args(site) == 1 && strchr("sS", site->args[0].kind));
    if (one && site->text)
        tr_rt_site_text(site, payload, b);
    else if (one)
        put_next(&r, false, b);
    return one;
}

/* One that the host keeps: false where it is forgotten. */
static bool put_kept(const tr_frame *f, const tr_raised *r, int64_t how, tr_sb *b) {
    const uint64_t which = r->payload[0].u & ((UINT64_C(1) << TR_CAUGHT_BITS) - 1);
    const tr_kept *k = which && how < TR_SAY_ARG ? tr_rt_kept(f, which) : NULL;
    if (k && k->text[how])
        tr_sb_puts(b, k->text[how]);
    return k && k->text[how];
}

static bool put_site(const tr_msite *site, const tr_slot *payload, int64_t how, tr_sb *b) {
    if (how == TR_SAY_NAME) {
        tr_sb_puts(b, site->name ? site->name : "");
        return site->name;
    }
    bool codec = site->says == TR_SAYS_CODEC, of_codec = how == TR_SAY_ENCODING || how == TR_SAY_REASON;
    if (site->says == TR_SAYS_ITSELF || (of_codec && !codec))
        return false;
    if (how == TR_SAY_ARG)
        return put_string_arg(site, payload, b);
    if (of_codec) {
        put_codec_text(site, payload, how == TR_SAY_REASON ? CODEC_REASON : CODEC_ENCODING, b);
        return true;
    }
    if (codec && how == TR_SAY_STR) {
        put_codec(site, payload, b);
        return true;
    }
    put_said(site, payload, how == TR_SAY_REPR, b);
    return true;
}

/* There was no memory, which has no raise site. */
static bool put_memory(int64_t how, tr_sb *b) {
    tr_sb_puts(b, how == TR_SAY_REPR ? "MemoryError()" : how == TR_SAY_NAME ? "MemoryError" : "");
    return how < TR_SAY_ARG;
}

static const tr_raised *raised_of(int64_t exc) {
    return (const void *)(uintptr_t)((uint64_t)exc & ((UINT64_C(1) << TR_CAUGHT_BITS) - 1));
}

int64_t tr_rt_exc_number(int64_t how, int64_t exc) {
    const tr_raised *r = raised_of(exc);
    assert((how == TR_SAY_START || how == TR_SAY_END) && "a number of an error of a codec");
    if (!r->site || r->site->says != TR_SAYS_CODEC)
        return INT64_MIN;
    return codec_number(r->site, r->payload, how == TR_SAY_START ? CODEC_START : CODEC_END);
}

void tr_rt_exc_text(tr_frame *f, int64_t how, int64_t exc, tr_str *out) {
    const tr_raised *r = raised_of(exc);
    const tr_msite *site = r->site;
    tr_sb b;
    tr_sb_init(&b);
    bool told =
        site ? site->says == TR_SAYS_KEPT ? put_kept(f, r, how, &b) : put_site(site, r->payload, how, &b)
        : r->code == TR_CODE_MEMORY ? put_memory(how, &b)
                                    : false;
    if (b.oom || !told)
        *out = (tr_str){NULL, NULL, (int64_t)((uint64_t)(b.oom ? -1 : TR_SAY_NOTHING) << TR_STR_LENGTH)};
    else
        *out = tr_str_of_text(f, b.d ? b.d : "", b.n);
    tr_sb_fini(&b);
}
