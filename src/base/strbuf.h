/* Text builder on the heap (dumps, messages, object text). Owner calls tr_sb_fini. Always NUL-terminated;
 * without memory it stops growing and sets `oom`. */
#ifndef TR_BASE_STRBUF_H
#define TR_BASE_STRBUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tr_sb {
    char *d;
    size_t n, cap;
    bool oom;
} tr_sb;

void tr_sb_init(tr_sb *b);
void tr_sb_fini(tr_sb *b);
void tr_sb_reset(tr_sb *b);
void tr_sb_putc(tr_sb *b, char c);
void tr_sb_puts(tr_sb *b, const char *s);
void tr_sb_write(tr_sb *b, const void *s, size_t n);
/* In decimal digits, and blanks: what printing the IR is made of. The C library's printf is ten times as slow
 * where a library of the process has registered a conversion of its own, as libquadmath does below NumPy. */
void tr_sb_uint(tr_sb *b, uint64_t x);
void tr_sb_int(tr_sb *b, int64_t x);
void tr_sb_spaces(tr_sb *b, size_t n);
void tr_sb_printf(tr_sb *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void tr_sb_vprintf(tr_sb *b, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));
/* What was written since `from` has at most about `max` bytes from now on: more of its beginning than of its
 * end is left, "..." stands between. */
void tr_sb_cut_middle(tr_sb *b, size_t from, size_t max);
/* Shortest decimal text that reads back to the same value, always with a '.', 'e', 'inf' or 'nan'. */
void tr_sb_f64(tr_sb *b, double x);
void tr_sb_f16(tr_sb *b, _Float16 x);
void tr_sb_f32(tr_sb *b, float x);

#endif
