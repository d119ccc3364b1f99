/* Included before everything else (meson.build): functions that newer C libraries have in a new version are
 * taken in their old one, so that what is built here runs where glibc 2.34 is. What they compute is the same;
 * the old version says so in errno when a result is too large. */
#ifndef TR_BASE_GLIBC_H
#define TR_BASE_GLIBC_H

__asm__(".symver hypot,hypot@GLIBC_2.2.5"); /* 2.35 */

#endif
