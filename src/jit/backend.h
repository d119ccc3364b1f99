/* The door between the LLVM-free core and libtreadle_llvm.so, which is loaded at the first compile.
 * The library exports one function, tr_backend_get. Context, program and types are handed over as data; the
 * library has its own copy of base/, ty/ and ir/ code, which keep no state. */
#ifndef TR_JIT_BACKEND_H
#define TR_JIT_BACKEND_H

#include "code/meta.h"
#include "ir/prog.h"
#include "target/target.h"

enum { TR_BACKEND_ABI = 6 };

typedef struct tr_object {
    uint8_t *elf; /* malloc'ed relocatable object, or PTX as text; the caller frees it */
    size_t size;
    bool foreign; /* made for a processor of which this machine lacks something: not to be run */
    tr_meta meta; /* raise sites, constants; in the context's arena */
} tr_object;

typedef struct tr_want {
    tr_sb *llvm, *llvmopt, *assembly; /* NULL: not wanted */
    /* Where the code is to run; NULL: here. The rest is for others than the host. */
    const tr_target *target;
    const tr_processor *processor;
    const bool *functions; /* per instance: is it wanted? NULL: all are */
    /* NVIDIA's library of mathematics; NULL: calls of it are an error, "": they stay as they are. */
    const char *libdevice;
    tr_device_opts device;
} tr_want;

typedef struct tr_backend {
    uint32_t abi;
    const char *version; /* "llvm 19.1.7, rec 1": part of the cache key */
    /* Typed program to object. False with errors in p->ctx. Thread-safe: state is per thread or per call. */
    bool (*compile)(tr_prog *p, const tr_want *want, tr_object *out);
    /* CPU name and features of this machine, as used for code generation: part of the cache key. */
    const char *(*target)(void);
} tr_backend;

__attribute__((visibility("default"))) const tr_backend *tr_backend_get(uint32_t abi);

#endif
