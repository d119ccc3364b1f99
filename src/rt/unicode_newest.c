/* The Python whose characters strings have where the runtime is in none: the newest that the tables know.
 * In a file of its own, which the linker takes from the library only where nobody else says it. */
#include "rt/unicode.h"

const int tr_unicode_python =
#define PYTHONS(first, count) first + count - 1;
#include "rt/unicode.def"
