/* The emulated device's own parts: emu.c (the device), emu_mem.c (memory), emu_queue.c
 * (streams and events). */
#ifndef TR_DEV_EMU_H
#define TR_DEV_EMU_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "dev/dev.h"

/* --- memory --- */

typedef struct emu_block emu_block;
enum { EMU_BINS = 48 };
typedef struct emu_mem {
    uintptr_t lo, hi;    /* the addresses, set once */
    uint64_t used, left; /* bytes */
    uint64_t kept;       /* bytes of free blocks that were touched, about */
    uint64_t touched;    /* offset from which on nothing ever was */
    uint64_t turn;
    emu_block *first, *bins[EMU_BINS], *spare;
} emu_mem;

/* --- streams --- */

struct tr_dev_stream {
    struct tr_dev_stream *next, *prev; /* of the device's */
    tr_dev_job *head, *tail, *running;
    uint64_t last; /* number of the job that was put here last */
    uint64_t skip; /* jobs up to this number are not done */
    tr_dev_failure failure;
    uint64_t failed_at; /* its job's number: which failure is older */
    pthread_t thread;
    bool served, gone; /* has a thread; nobody has it any more */
    struct tr_emu *device;
    pthread_cond_t more;
};

struct tr_dev_event {
    uint64_t recorded, done; /* turns */
    bool timing, timed, gone;
    uint32_t users;          /* jobs that refer to it */
    const tr_dev_stream *of; /* what it was recorded on; may be gone */
    int64_t when;            /* ns */
    tr_dev_failure failure;
};

typedef struct tr_emu {
    tr_dev dev;
    pthread_mutex_t
        lock; /* of all below but the atomic ones; never held while waiting or while a job is at work */
    pthread_cond_t progress; /* a job has ended, the default stream is free */
    emu_mem mem;
    tr_dev_host host;
    tr_host launch_host;      /* of launches on streams */
    tr_dev_stream streams;    /* list head */
    uint64_t number;          /* of the latest job */
    uint64_t ahead;           /* while the default stream is used: jobs up to this one go first */
    _Atomic uint32_t threads; /* of streams */
    _Atomic uint32_t active;  /* jobs that have not ended, and failures that nobody took */
    _Atomic uintptr_t owner;  /* the thread that uses the default stream; 0: none */
    uint32_t depth;           /* how often it does */
    _Atomic uint32_t wanted;  /* threads that wait for the default stream */
    _Atomic bool stopping;
    bool left; /* by the host, which could not wait for its threads any longer */
} tr_emu;

/* emu_mem.c; with the lock, but for owns. */
bool emu_mem_open(emu_mem *m, char *msg, size_t room);
int32_t emu_alloc(emu_mem *m, uint64_t bytes, tr_dev_mem *out);
void emu_free(emu_mem *m, const tr_dev_mem *b);
bool emu_find(const emu_mem *m, const void *at, tr_dev_mem *out);
static inline bool emu_owns(const emu_mem *m, const void *at) {
    return (uintptr_t)at >= m->lo && (uintptr_t)at < m->hi;
}
const char *emu_mem_check(const emu_mem *m); /* for tests: what is wrong with it; NULL: nothing */

/* emu_queue.c: what of tr_dev_ops is about streams and events. */
void emu_queue_open(tr_emu *e);
void emu_queue_forked(tr_emu *e); /* in the child; the lock is new, and nobody has it */
#define X(result, name, params) result emu_##name params;
#include "dev/queue.def"
#undef X
/* emu.c: does a job, on the thread that calls. */
int32_t emu_do(tr_emu *e, tr_dev_job *j);

#endif
