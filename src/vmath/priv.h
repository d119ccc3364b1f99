/* Between symbols.c and mend_x86_64.c. */
#ifndef TR_VMATH_PRIV_H
#define TR_VMATH_PRIV_H

/* A wrapper: its name, where it is, and where it keeps the address of the function it wraps. The name of that one
 * is the wrapper's with "Sleef_" for "tr_vm_". */
typedef struct tr_vmwrap {
    const char *name;
    void (*fn)(void);
    void **inner; /* written when the wrapper is first looked up, always with the same value */
} tr_vmwrap;

const tr_vmwrap *tr_vmath_wrapper(const char *name); /* NULL: there is none */

#endif
