/* Numbers as decimal digits, and floats as Python's repr() and NumPy's str() write them: to the letter,
 * and with '.' whatever the locale. */
#ifndef TR_BASE_DIGITS_H
#define TR_BASE_DIGITS_H

#include <stdbool.h>
#include <stdint.h>

/* Bytes that are written at most, without a NUL. */
enum { TR_DIGITS_INT = 20, TR_DIGITS_FLOAT = 26, TR_DIGITS_COMPLEX = 2 * TR_DIGITS_FLOAT + 4 };

/* Write the digits at `out`; give how many bytes. */
unsigned tr_digits_uint(uint64_t x, char *out);
unsigned tr_digits_int(int64_t x, char *out);
/* The last n digits of x, with zeros before them. */
void tr_digits_padded(uint64_t x, unsigned n, char *out);

/* digits * 10**exp */
typedef struct tr_decimal {
    uint64_t digits;
    int exp;
} tr_decimal;

/* Of the decimals that read back to x, a finite number > 0 of `bits` (16, 32 or 64): those of the fewest
 * digits, of these the nearest. It has no zeros at its end. */
tr_decimal tr_digits_shortest(double x, int bits);

/* x * 10**places, rounded once, halves to even; x finite and >= 0. False: it has more than 64 bits, or is so
 * near to a half that more digits have to say which it is; ask the C library. */
bool tr_digits_scaled(double x, int places, uint64_t *out);
/* x rounded to n digits, 1 to 17, all of which it has (of zero, all are zeros); else as above. */
bool tr_digits_rounded(double x, int n, tr_decimal *out);

/* An exponent as Python writes it: "e-07", at most 5 bytes. */
unsigned tr_digits_exp(int exp, char *out);

/* repr(); a nan has no sign. `dot`: "1.0" rather than "1", as repr(float) has it and repr(complex) has
 * not. */
unsigned tr_digits_float(double x, int bits, bool dot, char *out);
unsigned tr_digits_complex(double re, double im, int bits, char *out); /* bits of each part */

#endif
