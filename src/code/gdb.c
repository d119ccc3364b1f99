/* GDB's interface for code made at run time: a list of object files as loaded, and a function the debugger
 * breaks on. Names and layouts are GDB's (its manual, "JIT Compilation Interface"). The list is the process's
 * by nature. */
#include <assert.h>
#include <elf.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "code/priv.h"

/* ORDER: GDB's numbers. */
enum { JIT_NOACTION, JIT_REGISTER_FN, JIT_UNREGISTER_FN };

struct jit_code_entry {
    struct jit_code_entry *next_entry, *prev_entry;
    const char *symfile_addr;
    uint64_t symfile_size;
};

struct jit_descriptor {
    uint32_t version, action_flag;
    struct jit_code_entry *relevant_entry, *first_entry;
};

struct tr_gdb {
    struct jit_code_entry entry; /* first: the debugger sees these */
    uint8_t object[];
};

/* GDB finds the two by name in the library that is installed, so they are what it has left of its symbols.
 * Nobody else's take their place: LLVM has such, too, and another lock. */
#define SEEN __attribute__((visibility("protected")))
SEEN void __jit_debug_register_code(void);
extern SEEN struct jit_descriptor __jit_debug_descriptor;

__attribute__((noinline)) void __jit_debug_register_code(void) {
    __asm__ volatile("" ::: "memory");
}

struct jit_descriptor __jit_debug_descriptor = {.version = 1};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void tell(uint32_t action, struct jit_code_entry *e) {
    __jit_debug_descriptor.action_flag = action;
    __jit_debug_descriptor.relevant_entry = e;
    __jit_debug_register_code();
    __jit_debug_descriptor.action_flag = JIT_NOACTION;
}

tr_gdb *tr_gdb_add(const void *elf, size_t size, const tr_image *im) {
    tr_gdb *g = malloc(sizeof *g + size);
    if (!g)
        return NULL;
    /* The debugger takes addresses from the section headers; the loader has checked that they lie inside. */
    Elf64_Ehdr eh;
    memcpy(g->object, elf, size);
    memcpy(&eh, elf, sizeof eh);
    for (uint32_t i = 0; i < im->nsec; i++)
        memcpy(g->object + eh.e_shoff + i * sizeof(Elf64_Shdr) + offsetof(Elf64_Shdr, sh_addr),
               &im->sec_addr[i], sizeof im->sec_addr[i]);
    pthread_mutex_lock(&lock);
    struct jit_code_entry *first = __jit_debug_descriptor.first_entry;
    g->entry = (struct jit_code_entry){first, NULL, (const char *)g->object, size};
    if (first)
        first->prev_entry = &g->entry;
    __jit_debug_descriptor.first_entry = &g->entry;
    tell(JIT_REGISTER_FN, &g->entry);
    pthread_mutex_unlock(&lock);
    return g;
}

void tr_gdb_remove(tr_gdb *g) {
    struct jit_code_entry *e = &g->entry;
    pthread_mutex_lock(&lock);
    assert((e->prev_entry ? e->prev_entry->next_entry : __jit_debug_descriptor.first_entry) == e &&
           "what the debugger forgets it was told of");
    if (e->prev_entry)
        e->prev_entry->next_entry = e->next_entry;
    else
        __jit_debug_descriptor.first_entry = e->next_entry;
    if (e->next_entry)
        e->next_entry->prev_entry = e->prev_entry;
    tell(JIT_UNREGISTER_FN, e);
    pthread_mutex_unlock(&lock);
    free(g);
}
