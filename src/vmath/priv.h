/* Between the files of this folder. */
#ifndef TR_VMATH_PRIV_H
#define TR_VMATH_PRIV_H

/* A wrapper: its name, where it is, and where it keeps the address of the function it wraps. The name of that
 * one is the wrapper's with "Sleef_" for "tr_vm_". */
typedef struct tr_vmwrap {
    const char *name;
    void (*fn)(void);
    void **inner; /* written when the wrapper is first looked up, always with the same value */
} tr_vmwrap;

const tr_vmwrap *tr_vmath_wrapper(const char *name); /* NULL: there is none */

/* A kernel of ours at one level: "tr_vk_expd8_u10avx512f". */
typedef struct tr_vmkernel {
    const char *name;
    void (*fn)(void);
} tr_vmkernel;

/* Those of each level (kern.h), ended by a NULL. */
extern const tr_vmkernel tr_vmath_kernels_avx512f[], tr_vmath_kernels_avx2[], tr_vmath_kernels_avx2128[],
    tr_vmath_kernels_purecfma[];

#endif
