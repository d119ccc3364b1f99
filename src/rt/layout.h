/* What generated code and C agree on, in one place. `lower/` takes every offset from here (`offsetof`) and
 * asserts the order of what it walks; `ext/` fills and reads the same structs.
 *
 * Entry of a compiled function, symbol "tr_entry":
 *     int32_t tr_entry(tr_frame *frame, const tr_slot *args, tr_slot *ret)
 * args: the parts (ty/ty.h) of all arguments, one slot each, in order; ret: room for the parts of the result.
 * Returns 0, or 1 + the number of the raise site; payload values are then in frame->payload; or, negative, a
 * reason of the runtime's own to end (TR_CODES), which code that calls passes on like a raise site. A part
 * narrower than 8 bytes lies in the slot's first bytes (little endian); a bool is a byte 0 or 1.
 *
 * Array parts: owner, data, shape[ndim], strides[ndim] in elements when the layout is "any". owner: NULL (a
 * frozen constant), a tr_mem *, or a PyObject * with bit 0 set: borrowed from the caller for the time of the
 * call; retain and release leave NULL and tagged owners alone.
 *
 * Exceptions and memory: every tr_mem allocated in a call is linked into the frame. When a call raises, none
 * of them can have escaped, so the caller frees the whole list (tr_rt_frame_fini). Only code that an
 * exception may leave on its way to a handler gives back what it holds (opt/own.c). */
#ifndef TR_RT_LAYOUT_H
#define TR_RT_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

typedef union tr_slot {
    int64_t i;
    uint64_t u;
    double f;
    float f32;
    _Float16 f16;
    void *p;
    uint8_t b;
} tr_slot;
_Static_assert(sizeof(tr_slot) == 8, "a slot is eight bytes");

enum { TR_FRAME_PAYLOAD = 8, TR_FRAME_TRACE = 32, TR_MEM_ALIGN = 64 };

/* A Mersenne Twister (rt/mt.h): a word of 32 bits says which of its numbers is the next one, TR_MT_WORDS that
 * all are used up; the numbers lie TR_MT_OUT bytes from its beginning. */
enum { TR_MT_WORDS = 624, TR_MT_OUT = 4 };

/* Header of a counted block; data starts TR_MEM_ALIGN bytes after it, an array's aligned to TR_MEM_ALIGN. */
typedef struct tr_mem {
    struct tr_mem *next, *prev; /* the frame's list while the call runs, self-linked after */
    int64_t refs;
    uint64_t size; /* bytes of data */
    void *raw;     /* what to free */
    union {
        struct tr_blocks *home; /* where a large block goes back to; NULL: to the system */
        void *of; /* with a count of TR_MEM_FOR_EVER, of a small one: whose it is, for the host */
    };
    struct tr_far *far; /* the data lie on a device; NULL: behind this header */
    union {
        void *at; /* with that: there */
        /* else: what the block holds is a list, or a table, of such items; NULL: numbers; tr_rt_room:
         * characters, and room for more (rt/str.c) */
        const struct tr_shape *shape;
    };
} tr_mem;
_Static_assert(sizeof(tr_mem) <= TR_MEM_ALIGN, "header fits before the data");
#define TR_MEM_FOR_EVER (INT64_MAX / 2) /* references that compiled code never comes to the end of */

static inline void *tr_mem_data(tr_mem *m) {
    return (char *)m + TR_MEM_ALIGN;
}

/* Bytes of an item of a container, and what is counted in it: n pointers, each of them NULL or as an array's
 * owner is, at these offsets. For ever, as blocks outlive code (rt/shape.c). */
#define TR_SHAPE_NAME "tr_shape" /* code's name for it: this, its size and each offset, '_' before each */
typedef struct tr_shape {
    uint32_t size, n;
    const uint32_t *at;
    uint32_t nparts; /* of a key that no class of its own is for: what is compared of it, in order */
    const struct tr_keypart *parts;
} tr_shape;

/* One part of such a key. The name of a shape has them behind the offsets: '_', the letter, the number. */
typedef enum tr_keypart_is {
    TR_KEYPART_BYTE = 'b',
    TR_KEYPART_WORD = 'i',
    TR_KEYPART_FLOAT = 'f',
    TR_KEYPART_DATE = 'd', /* a word, of which NaT is equal to none */
    TR_KEYPART_STRING = 's',
    TR_KEYPART_GIVEN = 'o', /* a byte: a value follows, or None does */
    TR_KEYPART_VALUE = 'n'  /* comes behind that; its number: so many parts are the value's */
} tr_keypart_is;
typedef struct tr_keypart {
    uint32_t is, at;
} tr_keypart;

/* What a list's block holds. The items lie in memory of their own, which is freed with the block, or with the
 * frame that has it; no frame lists that. An item is beyond the length until it is stored, so that code that
 * is left at any instruction leaves a list that is whole. */
typedef struct tr_list {
    void *items;
    int64_t len, cap;
} tr_list;

/* What rows about strings are told to do (str.c, str_case.c, str_number.c). */
enum { TR_STR_FIND, TR_STR_RFIND, TR_STR_COUNT, TR_STR_STARTS, TR_STR_ENDS };
enum { TR_STR_AT_END = 1, TR_STR_SPACES = 2 };
enum {
    TR_STR_NEXT_WORD,
    TR_STR_NEXT_SPACE,
    TR_STR_LAST_WORD,
    TR_STR_LAST_SPACE,
    TR_STR_LINE_END,
    TR_STR_NEXT_LINE,
    TR_STR_WORDS, /* how many there are from there on */
    TR_STR_LINES,
    TR_STR_OF_BYTES = 8 /* with one of them: blanks and ends of lines are those of ASCII */
};
/* EXC_TEXT: str(), repr(), the name of the class, the one argument if that is a string; of an error of a
 * codec its encoding and its reason, and as numbers (EXC_NUMBER) its start and its end */
enum {
    TR_SAY_STR,
    TR_SAY_REPR,
    TR_SAY_NAME,
    TR_SAY_ARG,
    TR_SAY_ENCODING,
    TR_SAY_REASON,
    TR_SAY_START,
    TR_SAY_END,
    TR_SAY_NOTHING = -2
};
enum { TR_STR_LJUST, TR_STR_RJUST, TR_STR_CENTER, TR_STR_ZFILL };
enum { TR_STR_UPPER, TR_STR_LOWER, TR_STR_FOLD, TR_STR_CAPITALIZE, TR_STR_TITLE, TR_STR_SWAP };
enum {
    TR_STR_IS_ALPHA,
    TR_STR_IS_DECIMAL,
    TR_STR_IS_DIGIT,
    TR_STR_IS_NUMERIC,
    TR_STR_IS_ALNUM,
    TR_STR_IS_LOWER,
    TR_STR_IS_UPPER,
    TR_STR_IS_TITLE,
    TR_STR_IS_SPACE,
    TR_STR_IS_PRINTABLE,
    TR_STR_IS_ASCII,
    TR_STR_IS_IDENTIFIER
};
/* Values that a specification which is made at run time is for. */
enum { TR_SPEC_BOOL, TR_SPEC_INT, TR_SPEC_UINT, TR_SPEC_FLOAT, TR_SPEC_COMPLEX, TR_SPEC_STRING };
enum { TR_SPEC_GOOD, TR_SPEC_BAD, TR_SPEC_LEFT_OUT };
enum {
    TR_BYTES_UPPER,
    TR_BYTES_LOWER,
    TR_BYTES_SWAP,
    TR_BYTES_TITLE,
    TR_BYTES_CAPITALIZE,
    TR_BYTES_LOW, /* of each character the low eight bits */
    TR_BYTES_REPR,
    TR_BYTES_ASCII, /* of a string, with escapes for what is not ASCII */
    TR_BYTES_HEX,
    TR_BYTES_REPR_ARRAY /* as a bytearray has it, where each ' is escaped */
};
/* encode() and decode(): which codec, which handler of errors, and which of the two; what is wrong with what
 * cannot be, which stands in the low bits of its end (rt/codecs.c) */
enum {
    TR_CODE_UTF8,
    TR_CODE_ASCII,
    TR_CODE_LATIN1,
    TR_CODE_KIND = 3,
    TR_CODE_DECODE = 4, /* not encode */
    TR_CODE_STRICT = 0,
    TR_CODE_REPLACE = 8,
    TR_CODE_IGNORE = 16,
    TR_CODE_BACKSLASH = 24,
    TR_CODE_XML = 32,
    TR_CODE_ESCAPE = 40,
    TR_CODE_PASS = 48,
    TR_CODE_HANDLER = 56
};
typedef enum tr_code_error {
    TR_CODE_GOOD,
    TR_CODE_BAD_START,
    TR_CODE_BAD_MIDDLE,
    TR_CODE_BAD_END
} tr_code_error;
enum { TR_CODE_WHY_BITS = 2 };
/* Of items of fixed-width strings (rt/chars.c): which comparison, in the order of the operators; that they
 * are of four bytes a character, and what is made of them or compared; that what is stored is bytes; that
 * what is copied is of four bytes a character. The bits of a string whose characters are none. */
enum {
    TR_CHARS_EQ,
    TR_CHARS_NE,
    TR_CHARS_LT,
    TR_CHARS_LE,
    TR_CHARS_GT,
    TR_CHARS_GE,
    TR_CHARS_OP = 7,
    TR_CHARS_WIDE = 8,
    TR_CHARS_BYTES = 16,
    TR_CHARS_FROM_WIDE = 32,
    TR_CHARS_WHOLE = 128, /* NULs at the end are a part of it */
    TR_CHARS_RANKS = 64,  /* of a sort: in the second array how many different ones are less than each */
    TR_CHARS_NONE = -16
};
enum { TR_STR_INT_GOOD, TR_STR_INT_BAD, TR_STR_INT_LARGE, TR_STR_INT_NO_ROOM };
static inline tr_list *tr_list_of(const void *mem) {
    return (tr_list *)((char *)(uintptr_t)mem + TR_MEM_ALIGN);
}

/* What a set's block holds, and that of a dict's keys (rt/dict.c): entries in the order in which they came,
 * and the index of them. A dict's values are a list beside it, entry by entry. */
typedef struct tr_table {
    tr_list keys;     /* those that have left among them */
    void *index;      /* NULL: no key was ever entered */
    uint64_t *gone;   /* a bit for each entry: it has left; behind the index */
    uint64_t *hashes; /* of strings: each entry's; behind those */
    uint64_t secret;  /* on which they depend */
    int64_t live;     /* entries that are there */
    int64_t taken;    /* slots of the index that are not empty */
    uint32_t lg;      /* there are 2^lg slots */
} tr_table;
_Static_assert(offsetof(tr_table, keys) == 0 && sizeof(tr_table) != sizeof(tr_list),
               "a table is a list of keys to who looks at items, and told from one by its size");

static inline tr_table *tr_table_of(const void *mem) {
    return (tr_table *)((char *)(uintptr_t)mem + TR_MEM_ALIGN);
}

/* A block of a device's memory as its host knows it: who has it, and how that gives it back, on any
 * thread. */
typedef struct tr_far {
    void *at;
    void (*drop)(struct tr_far *);
} tr_far;

/* Code that is compiled when it is first reached: a module has a row of these, which it calls through
 * tr_rt_late. */
typedef struct tr_late {
    /* NULL: not compiled yet. int32_t (tr_frame *, parts of the arguments ..., tr_slot
     * *ret), result as tr_entry's */
    _Atomic(void *) entry;
    const void *meta;             /* with it: describes its raise sites (code/meta.h) */
    const uint16_t *classes;      /* with it: the number of each one's exception */
    const struct tr_msite *sites; /* with it: rt/site.h */
    _Atomic(const char *)
        why;        /* it could not be compiled when it was first reached, and not for lack of memory */
    void *module;   /* whose code this is part of (code/code.h) */
    uint32_t index; /* in its row */
} tr_late;

/* What the hash of a tuple begins with (rt/pyhash.c): xxHash's fifth prime. */
#define TR_HASH_TUPLE INT64_C(2870177450012600261)

/* What compiled code may ask of its host; filled by ext/ (or by treadlec). Called with or without the GIL:
 * the functions take it. write and poll are called by threads of the host's only, never by a worker of the
 * pool. */
typedef struct tr_host {
    void (*write)(void *self, const char *text, size_t n); /* print(): pieces of text, rt.h */
    void *self;
    struct tr_blocks *blocks; /* cache of large blocks (rt/blocks.h); NULL: none */
    bool (*poll)(void *self); /* true: end the call, the host has an exception to raise. May be NULL */
    /* Compiles late code, and returns its entry; NULL when that is not possible. The only one that workers
     * call; needs no GIL. */
    void *(*compile)(void *self, tr_late *l);
    /* Of bytes, as the host's strings are hashed; never -1. On any thread, without the GIL. May be NULL */
    int64_t (*hash)(const void *data, int64_t n);
    /* For programs whose arrays lie on a device (opt/offload.c), on the thread that called them. NULL: there
     * is no memory. */
    tr_far *(*far_alloc)(void *self, uint64_t bytes);
    /* The same: launches a kernel that is the device's own code, compiled when it is launched first; sizes
     * come before the arguments. Copies bytes of its memory when all before has been done. Codes as
     * tr_entry's. */
    int32_t (*far_launch)(void *self, tr_late *l, const tr_slot *slots, uint32_t n);
    int32_t (*far_fetch)(void *self, void *to, const void *from, uint64_t bytes);
} tr_host;

/* Reasons to end that are no raise site. X(id, code, text); a text is the RuntimeError of it. */
#define TR_CODES(X)                                                                                      \
    X(HOST, -1, NULL)   /* the host has the exception (Ctrl-C) */                                        \
    X(MEMORY, -2, NULL) /* MemoryError */                                                                \
    X(FORKED, -3, "the process was forked inside a parallel region, while other threads worked for it")  \
    X(STOPPED, -4,                                                                                       \
      "a parallel region ended without a reason") /* inside of a region only: it is coming to its end */ \
    X(LATE, -5, "a part that hardly ever runs could not be compiled") /* frame->late says more */        \
    X(CPU, -6,                                                                                           \
      "this is code for the processor that TREADLE_CPU names, and this machine lacks some of its "       \
      "instructions: it can be inspected, but not run")                                                  \
    X(LOST, -7, "the process was forked while a stream had work to do, which is not done in this child") \
    X(ENDED, -8, "streams take no more work: the interpreter is about to end")                           \
    X(THREAD, -9, "the system gives no more threads, and a stream needs one")                            \
    X(DEVICE, -10, "the device's driver refuses it")                                                     \
    X(GPU, -11, "a GPU that was used before a fork cannot be used after it: start processes by 'spawn'") \
    X(LIBRARY, -12, "a library of the GPU's refuses it")
enum {
#define X(id, code, text) TR_CODE_##id = code,
    TR_CODES(X)
#undef X
};

typedef struct tr_frame {
    tr_slot payload[TR_FRAME_PAYLOAD];
    tr_mem mems; /* list head: allocations of this call */
    const tr_host *host;
    void *leave,
        *base; /* where a call of it can be left to: the stack pointer and the register rbp there (enter.h) */
    uint32_t trace[TR_FRAME_TRACE]; /* call sites passed while an exception travelled up, innermost first */
    uint64_t context,
        cause; /* of the exception, where `linked` is not 0: numbers of links (rt/link.c), 0: none; a
                              * cause may be TR_FROM_NONE */
    /* From here on all is zero at the beginning. */
    uint32_t ntrace;
    /* An exception raised by code of another module than the entry's, which was called through the host: what
     * describes that module (code/meta.h), for the code and the first `ninner` of the trace. NULL: none. */
    uint16_t ninner, linked;
    const void *inner;
    const tr_late *late;    /* what raised, or could not be compiled. NULL: none */
    const tr_late *within;  /* whose code runs now, which has raise sites of its own. NULL: the module's */
    uintptr_t stack;        /* recursive functions raise when the stack grows below; 0: no limit */
    uint64_t nalloc, nfree; /* counts for treadle.stats() */
    char *out;              /* pending text of print(), and before it that of strings which are being made */
    size_t nout, capout;
    size_t nheld;           /* bytes of it that are not the innermost one's */
    uint32_t nmake;         /* strings that are being made */
    bool lost;              /* of their text some, for lack of memory */
    struct tr_links *links; /* NULL: none yet */
    uint64_t most;          /* bytes of the largest array that was made, from TR_LARGE on */
    struct tr_watch *watch; /* of a launch whose threads are watched (rt/watch.h); a block of this frame */
    tr_mem *spare;          /* a small block that was freed, for the next one of its size. NULL: none */
} tr_frame;

/* An exception that was caught, or that is linked to another one: what a frame said of it. */
typedef struct tr_raised {
    int64_t code;
    uint64_t number; /* as a link; 0: it was none yet */
    tr_slot payload[TR_FRAME_PAYLOAD];
    uint32_t trace[TR_FRAME_TRACE];
    uint64_t context, cause;
    uint32_t ntrace;
    uint16_t ninner;
    bool made; /* and not raised, as by `raise A from B()`: its traceback has no place of the program's */
    const void *inner;
    const tr_late *late;
    const struct tr_msite *site; /* NULL: none that is known (tr_rt_exc_text) */
} tr_raised;
enum {
    TR_CAUGHT_BITS = 48
}; /* of a caught exception's number say where its tr_raised is, those above its class */

/* An exception that the host made while a call ran (a loop of others left it, rt/loop.c), for as long as
 * the call lives. Compiled code names it by a number, with that of its class above: the payload of a
 * site whose exception is TR_EXC_HOST. */
typedef struct tr_kept {
    struct tr_kept *next;
    uint64_t number;
    const char
        *text[TR_SAY_ARG]; /* by TR_SAY_STR ..., in UTF-8; NULL: there was no memory for it, or it has none */
    void (*drop)(struct tr_kept *);
} tr_kept;
enum { TR_FRAME_KEPT = 256 }; /* so many of the latest are there for sure */

/* Exceptions that others name as their context or cause: the latest of a call. */
enum { TR_FRAME_LINKS = 32 };
typedef struct tr_links {
    tr_kept *kept; /* latest first */
    uint64_t nkept;
    uint64_t
        last; /* numbers go from 1; number k is at k % TR_FRAME_LINKS until another one takes its place */
    tr_raised of[TR_FRAME_LINKS];
} tr_links;
#define TR_FROM_NONE UINT64_MAX /* a cause: `from None` */

/* What a kernel's first argument points to, in memory that the device writes: the first exception of a
 * launch. The host clears it before. A thread that raises claims `code` (0: nothing yet) by compare and
 * exchange; who gets it fills in the rest; then the thread leaves its kernel, as one does that came
 * second. The other threads go on. A device function has the same pointer and returns the code. */
typedef struct tr_dev_error {
    int32_t code; /* 1 + number of the raise site (code/meta.h) */
    uint32_t thread[3], block[3];
    uint32_t
        barrier; /* of the grid: who has come to it; the highest bit turns when all have (lower/device.c) */
    tr_slot payload[TR_FRAME_PAYLOAD];
} tr_dev_error;

/* What a compiled function is called by. */
typedef int32_t (*tr_entry_fn)(tr_frame *frame, const tr_slot *args, tr_slot *ret);

/* Body of a parallel region: does [lo, hi). `worker` is unique among the threads in it, 0 for the calling
 * one, and less than tr_rt_num_threads was there. `frame` is the calling thread's, or a worker's, whose
 * blocks go to the calling thread's frame when the region ends. Result as tr_entry's. Counts of blocks are
 * not atomic: a body borrows what it captures, and neither retains nor releases it. */
typedef int32_t tr_par_fn(tr_frame *frame, void *ctx, int64_t lo, int64_t hi, uint32_t worker);

/* Types of items of tr_rt_matmul, the unsigned ones among the signed. */
enum {
    TR_MAT_BOOL,
    TR_MAT_I8,
    TR_MAT_I16,
    TR_MAT_I32,
    TR_MAT_I64,
    TR_MAT_F32,
    TR_MAT_F64,
    TR_MAT_C64,
    TR_MAT_C128,
    TR_MAT__COUNT
};

/* Types of items of tr_rt_arg: X(name, id). Its `what` is twice such a number, and 1 more for the largest. */
#define TR_ARG_TYPES(X) \
    X(i8, I8)           \
    X(i16, I16)         \
    X(i32, I32)         \
    X(i64, I64)         \
    X(u8, U8)           \
    X(u16, U16)         \
    X(u32, U32)         \
    X(u64, U64)         \
    X(f32, F32)         \
    X(f64, F64)
enum {
#define X(name, id) TR_ARG_##id,
    TR_ARG_TYPES(X)
#undef X
        TR_ARG_BOOL
};
/* Types of items of tr_rt_sort and its kin, and how it sorts: NumPy's numbers. What they
 * return when they could not. */
enum {
    TR_SORT_BOOL,
    TR_SORT_I8,
    TR_SORT_U8,
    TR_SORT_I16,
    TR_SORT_U16,
    TR_SORT_I32,
    TR_SORT_U32,
    TR_SORT_I64,
    TR_SORT_U64,
    TR_SORT_F16,
    TR_SORT_F32,
    TR_SORT_F64,
    TR_SORT_C64,
    TR_SORT_C128,
    TR_SORT__TYPES
};
enum { TR_SORT_QUICK, TR_SORT_HEAP, TR_SORT_STABLE, TR_SORT__HOWS };
enum { TR_SORT_GOES_ON = 4 }; /* argsort, with a way to sort: from the places that are there */
enum { TR_SORT_NOMEM = -1 };
/* Distributions: of NumPy's floats and counts, and of Python's floats (random.c, gen.c, pyrandom.c). */
enum {
    TR_RANDOM_RANDOM,
    TR_RANDOM_BETA,
    TR_RANDOM_CAUCHY,
    TR_RANDOM_CHISQUARE,
    TR_RANDOM_EXPONENTIAL,
    TR_RANDOM_F,
    TR_RANDOM_GAMMA,
    TR_RANDOM_GAUSS,
    TR_RANDOM_GUMBEL,
    TR_RANDOM_LAPLACE,
    TR_RANDOM_LOGISTIC,
    TR_RANDOM_LOGNORMAL,
    TR_RANDOM_NONCENTRAL_CHISQUARE,
    TR_RANDOM_NONCENTRAL_F,
    TR_RANDOM_NORMAL,
    TR_RANDOM_PARETO,
    TR_RANDOM_POWER,
    TR_RANDOM_RAYLEIGH,
    TR_RANDOM_T,
    TR_RANDOM_TRIANGULAR,
    TR_RANDOM_UNIFORM,
    TR_RANDOM_VONMISES,
    TR_RANDOM_WALD,
    TR_RANDOM_WEIBULL,
    TR_RANDOM_BINOMIAL,
    TR_RANDOM_GEOMETRIC,
    TR_RANDOM_LOGSERIES,
    TR_RANDOM_NEGATIVE_BINOMIAL,
    TR_RANDOM_POISSON,
    TR_RANDOM_ZIPF,
    TR_RANDOM_INVERSE, /* Generators' alone (gen.c), as the next two: exponential numbers by the logarithm */
    TR_RANDOM_STANDARD_EXPONENTIAL,
    TR_RANDOM_STANDARD_GAMMA,
    TR_RANDOM_PY_BETA,
    TR_RANDOM_PY_EXPO,
    TR_RANDOM_PY_GAMMA,
    TR_RANDOM_PY_GAUSS,
    TR_RANDOM_PY_LOGNORM,
    TR_RANDOM_PY_NORMAL,
    TR_RANDOM_PY_PARETO,
    TR_RANDOM_PY_TRIANGULAR,
    TR_RANDOM_PY_TRIANGULAR_AT, /* with a mode */
    TR_RANDOM_PY_UNIFORM,
    TR_RANDOM_PY_VONMISES,
    TR_RANDOM_PY_WEIBULL
};
/* What is wrong with an array of probabilities: nothing, NaN, one out of range, their sum, fewer of them
 * above 0 than asked for; or there is no memory. */
enum { TR_RANDOM_DONE, TR_RANDOM_NAN, TR_RANDOM_RANGE, TR_RANDOM_SUM, TR_RANDOM_FEW, TR_RANDOM_MEMORY };

/* The extreme of a sequence that comes in pieces (rt/arg.c): all 0 at first. */
typedef struct tr_extreme {
    int64_t seen, at; /* items so far; where the extreme is */
    tr_slot best;
} tr_extreme;

/* What a watched launch says of its threads (watch.c): of an access, and of an array: one that the kernel was
 * given, the block's, one that a thread made just now. */
enum {
    TR_TOUCH_READ,
    TR_TOUCH_WRITE,
    TR_TOUCH_ATOMIC,
    TR_TOUCH_EXCH,  /* an atomic that does not look */
    TR_TOUCH_UNSEEN /* somebody may have written there, who does not say where */
};
enum { TR_WATCHED_GIVEN, TR_WATCHED_SHARED, TR_WATCHED_MADE };

/* A function whose buffers take more of the stack looks whether there is room, as recursive ones do
 * (rt/stack.c). */
enum { TR_STACK_UNCHECKED = 8 << 10 };

/* Columns reduced side by side take so much memory each way, and their sums of floats: blocks of rows so far,
 * then partial sums (rt/tile.c). With twice as much all that is stored lies, but for multiples of 4 KiB,
 * where something is loaded next, and processors wait for it (twice the time). */
enum { TR_TILE_BYTES = 2048, TR_TILE_ROWS = 16, TR_TILE_LEVELS = 16 };
typedef struct tr_tile_f64 {
    uint64_t blocks;
    double level[TR_TILE_LEVELS][TR_TILE_BYTES / 8];
} tr_tile_f64;
typedef struct tr_tile_f32 {
    uint64_t blocks;
    float level[TR_TILE_LEVELS][TR_TILE_BYTES / 4];
} tr_tile_f32;

/* Elements that a scan of floats takes before it goes on from their total: as many as stay in a core's
 * cache. */
enum { TR_SCAN_BLOCK = 1 << 14 };
/* A sum's are added up so many at a time, in a tree (ir/scans.c). */
enum { TR_SCAN_GROUP = 8 };
/* Elements that a scan by a function takes before it goes on from their total: a range of one keeps what its
 * groups are, on the stack. */
enum { TR_JOIN_BLOCK = 1 << 12 };
/* What a function joins, so many: four numbers of 8 bytes are what loads and stores of a group shuffle
 * well. */
enum { TR_JOIN_GROUP = 4 };

/* A scatter that combines goes in blocks of rounds, each but the first with a table like the
 * target: blocks have at least so many rounds, and so many for each element of the target, and
 * there are no more than so many blocks. */
enum { TR_SCATTER_BLOCK = 1 << 15, TR_SCATTER_WORTH = 16, TR_SCATTER_BLOCKS = 64 };
/* A target that is too large for tables goes in parts, of which each thread takes one and looks at all rounds
 * for it: where there are so many rounds, and the target has so many bytes that a core waits for its places:
 * to read them, or only to write them. Parts end at multiples of so many elements. */
enum {
    TR_SCATTER_ROUNDS = 1 << 16,
    TR_SCATTER_LARGE = 1 << 24,
    TR_SCATTER_LARGE_PUT = 1 << 22,
    TR_SCATTER_STEP = 64
};

/* Bytes of an array that is written past the caches (opt/pattern/nontemporal.c): three quarters of the 32 MB
 * that processors of 2026 have for a few cores. */
#define TR_LARGE (UINT64_C(24) << 20)
/* Bytes of freed arrays that are kept at most (rt/blocks.c): room for a few results of 10^7 numbers. */
#define TR_BLOCKS_MOST (UINT64_C(256) << 20)

/* Ranges at most of a pattern that runs on all cores; operations that a range should have: some 20
 * microseconds, of which an operation takes about a quarter of a nanosecond. */
enum { TR_PAR_RANGES = 256, TR_PAR_WORK = 80000 };
#define TR_RT_FIXED "tr_rt_fixed" /* an int64: how long ranges are, for tests; 0: as the runtime chooses */
/* Of each array that a test of shared memory takes: size of an element, axes << 8, TR_MEET_GIVEN where
 * strides follow the sizes (else they are those of layout C). */
enum { TR_MEET_AXES = 8, TR_MEET_GIVEN = 1 << 16 };

/* Ranges of a scan: whose turn it is to read the values that follow, and to hand them on; a slot for each
 * part of a value. */
typedef struct tr_chain {
    _Atomic int64_t turn;
    tr_slot value[];
} tr_chain;

/* Accumulators of rt/sum.c: the number of blocks so far, then one partial sum per bit of it. Empty when count
 * is 0. */
/* What is chosen by (topk.c): keys of a type, of which the largest are the best, or the smallest; where NaN
 * comes. */
enum { TR_TOP_F32, TR_TOP_F64, TR_TOP_I32, TR_TOP_I64, TR_TOP_U32, TR_TOP_U64 };
enum { TR_TOP_KIND = 7, TR_TOP_DOWN = 8, TR_TOP_NAN_LAST = 16 };

enum { TR_SUM_BLOCK = 256, TR_SUM_LANES = 16, TR_SUM_LEVELS = 56 };
typedef struct tr_sum_f64 {
    uint64_t count;
    double level[TR_SUM_LEVELS];
} tr_sum_f64;
typedef struct tr_sum_f32 {
    uint64_t count;
    float level[TR_SUM_LEVELS];
} tr_sum_f32;

/* The C loops of a foreign ufunc (rt/loop.c), as NumPy has them: `args` point to the first items, dims[0] is
 * how often the loop goes, then the sizes of its core axes; steps, in bytes, are each operand's from one
 * round to the next, then those along core axes, operand by operand. The snapshot makes a table for each such
 * ufunc, an array of the program's, so that machine code names it by a symbol and holds no address. */
enum { TR_LOOP_OPERANDS = 7, TR_LOOP_CORE = 2, TR_LOOP_SIZES = 8 };
typedef void tr_cloop_fn(char **args, const int64_t *dims, const int64_t *steps, void *data);
/* A loop of our own that may take its place where the first core size is small (rt/small.c), for one round:
 * it says whether it did, and failed. */
typedef enum tr_small_result { TR_SMALL_DONE, TR_SMALL_FAILED, TR_SMALL_NOT } tr_small_result;
typedef tr_small_result tr_small_fn(char *const *args, const int64_t *dims, const int64_t *steps);
enum { TR_SMALL_MOST = 8 };
typedef struct tr_cloop {
    tr_cloop_fn *fn;
    void *data;
    tr_small_fn *small;             /* or NULL */
    int64_t size[TR_LOOP_OPERANDS]; /* bytes of an item of each operand */
} tr_cloop;
typedef struct tr_cloops {
    /* The host's: a thread is about to run a loop for the first time; what a loop has left in this thread,
     * which is taken away: 0: nothing, else an exception as payloads name it, kept for the frame. */
    void (*ready)(void);
    int64_t (*raised)(const struct tr_cloops *t, tr_frame *f);
    void *host;
    const void *classes;                           /* of the program, by number, */
    int64_t nclasses;                              /* and how many */
    int64_t nop, nsizes;                           /* operands; different sizes of core axes */
    int64_t ncore[TR_LOOP_OPERANDS];               /* core axes of each operand, */
    int64_t which[TR_LOOP_OPERANDS][TR_LOOP_CORE]; /* and which size each of these has */
    tr_cloop loop[];
} tr_cloops;

#endif
