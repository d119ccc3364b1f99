/* The one place where errors become Python exceptions.
 *
 * Errors of a compilation: one exception whose text holds every independent error, each in at most ten lines:
 *     unsupported operand types for *: float64 and str
 *       --> kern.py:34:14 in bad_add(array(float64, 1d, C), str, int64)
 *        |
 *     34 | s += a[i] * name
 *        |      ~~~~^^^^^^
 *        = note: argument 'name' is str
 *        = help: ...
 * Columns of spans are UTF-8 byte offsets; they are shown as characters, from 1. Without source there is no
 * excerpt. Errors of a running function: the exception class and arguments of its raise site, with traceback
 * entries made of empty code objects that carry the user's file, function and line. */
#include "ext/pyerr.h"

#include <assert.h>
#include <string.h>

#include "ext/box.h"
#include "ext/compat.h"
#include "ext/left.h"
#include "rt/fns.h"
#include "rt/rt.h"

enum { MAX_LINES = 10, MAX_ERRORS = 8 };

PyObject *tr_pyerr_class(const char *name) {
    PyObject *errors = PyImport_ImportModule("treadle.errors");
    PyObject *cls = errors ? PyObject_GetAttrString(errors, name) : NULL;
    Py_XDECREF(errors);
    return cls;
}

/* --- source lines --- */

/* The line of source as UTF-8 (str in *hold), or NULL. Never fails aloud: no source is a normal state. */
static const char *source_line(const char *file, int line, PyObject *globals, PyObject **hold) {
    *hold = NULL;
    PyObject *mod = file && line > 0 ? PyImport_ImportModule("linecache") : NULL;
    if (mod)
        *hold = PyObject_CallMethod(mod, "getline", "siO", file, line, globals ? globals : Py_None);
    Py_XDECREF(mod);
    PyErr_Clear();
    if (!*hold || !PyUnicode_Check(*hold) || PyUnicode_GetLength(*hold) == 0)
        return NULL;
    const char *s = PyUnicode_AsUTF8(*hold);
    PyErr_Clear();
    return s;
}

/* Characters in the first n bytes. */
static int chars_in(const char *s, int n) {
    int c = 0;
    for (int i = 0; i < n && s[i]; i++)
        c += (s[i] & 0xc0) != 0x80;
    return c;
}

typedef struct excerpt {
    const char *text; /* without indentation and line end */
    int len, indent;
} excerpt;

static excerpt trim(const char *s) {
    excerpt e = {s, 0, 0};
    while (s[e.indent] == ' ' || s[e.indent] == '\t' || s[e.indent] == '\f')
        e.indent++;
    e.text = s + e.indent;
    e.len = (int)strcspn(e.text, "\r\n");
    return e;
}

/* [from, to) of a span on its first line, in bytes of the excerpt; false when it is not known. */
static bool span_range(const excerpt *e, tr_span sp, int *from, int *to) {
    if (sp.line <= 0 || sp.col < 0)
        return false;
    int end = sp.end_line > sp.line || sp.end_col < 0 ? e->len : sp.end_col - e->indent;
    *from = sp.col - e->indent;
    *to = end > e->len ? e->len : end;
    return *from >= 0 && *from < *to;
}

static void print_excerpt(tr_sb *b, const tr_err *e, const char *line, int width) {
    excerpt x = trim(line);
    int from, to, ofrom = 0, oto = 0;
    tr_sb_printf(b, "\n%*s |\n%*d | ", width, "", width, e->place.span.line);
    for (int i = 0; i < x.len; i++)
        tr_sb_putc(b, x.text[i] == '\t' ? ' ' : x.text[i]);
    if (!span_range(&x, e->place.span, &from, &to))
        return;
    bool op = e->op_span.line == e->place.span.line && span_range(&x, e->op_span, &ofrom, &oto);
    int c0 = chars_in(x.text, from), c1 = chars_in(x.text, to);
    int o0 = op ? chars_in(x.text, ofrom) : c0, o1 = op ? chars_in(x.text, oto) : c1;
    tr_sb_printf(b, "\n%*s | %*s", width, "", c0, "");
    for (int c = c0; c < c1; c++)
        tr_sb_putc(b, c >= o0 && c < o1 ? '^' : '~');
}

/* A note's text; "$" at its start stands for the source its span covers. */
static void print_note(tr_sb *b, const tr_note *n, const char *file, PyObject *globals) {
    int from, to;
    PyObject *hold = NULL;
    const char *line = n->text[0] == '$' ? source_line(file, n->span.line, globals, &hold) : NULL;
    if (line) {
        excerpt x = trim(line);
        if (span_range(&x, n->span, &from, &to))
            tr_sb_printf(b, "'%.*s'%s", to - from, x.text + from, n->text + 1);
        else
            line = NULL;
    }
    if (!line)
        tr_sb_printf(b, "%s%s", n->text[0] == '$' ? "an operand" : "", n->text + (n->text[0] == '$'));
    Py_XDECREF(hold);
}

/* An operand that stands twice in an expression is explained once. */
static bool said_before(const tr_err *e, const tr_note *n) {
    for (const tr_note *m = e->notes; m != n; m = m->next)
        if (m->span.line == n->span.line && strcmp(m->text, n->text) == 0)
            return true;
    return false;
}

static void print_error(tr_sb *b, const tr_err *e, PyObject *globals) {
    PyObject *hold = NULL;
    const tr_span sp = e->place.span;
    const char *line = source_line(e->place.file, sp.line, globals, &hold);
    char number[16];
    int width = sp.line > 0 ? snprintf(number, sizeof number, "%d", sp.line) + 1 : 3;
    int lines = 1;
    tr_sb_puts(b, e->text);
    if (e->place.file && sp.line > 0) {
        tr_sb_printf(b, "\n%*s--> %s:%d", width, "", e->place.file, sp.line);
        if (sp.col >= 0 && line)
            tr_sb_printf(b, ":%d", chars_in(line, sp.col) + 1);
        else if (sp.col >= 0)
            tr_sb_printf(b, ":%d", sp.col + 1);
        lines++;
    }
    if (e->where || e->place.fn)
        tr_sb_printf(b, "%s in %s", lines == 1 ? "\n   -->" : "", e->where ? e->where : e->place.fn);
    if (line) {
        print_excerpt(b, e, line, width);
        lines += 3;
    }
    for (const tr_note *n = e->notes; n && lines + (e->hint != NULL) < MAX_LINES; n = n->next) {
        if (said_before(e, n))
            continue;
        lines++;
        tr_sb_printf(b, "\n%*s = note: ", width, "");
        print_note(b, n, e->place.file, globals);
        if (n->span.line > 0 && n->span.line != sp.line)
            tr_sb_printf(b, " (line %d)", n->span.line);
    }
    if (e->hint)
        tr_sb_printf(b, "\n%*s = help: %s", width, "", e->hint);
    Py_XDECREF(hold);
}

/* One slip may be met on several paths: it is told once. */
static bool told_before(const tr_ctx *ctx, const tr_err *e) {
    const tr_span *sp = &e->place.span;
    for (const tr_err *o = ctx->errs; o != e; o = o->next) {
        const tr_span *so = &o->place.span;
        if (so->line == sp->line && so->col == sp->col && strcmp(o->text, e->text) == 0 &&
            strcmp(o->where ? o->where : "", e->where ? e->where : "") == 0)
            return true;
    }
    return false;
}

/* New reference; NULL with an exception. */
static PyObject *class_of(tr_errkind kind) {
    static const char *const names[TR_ERR__COUNT] = {
#define X(id, cls) cls,
        TR_ERRKINDS(X)
#undef X
    };
    switch (kind) {
    case TR_ERR_SIGNATURE: return Py_NewRef(PyExc_TypeError);
    case TR_ERR_VALUE: return Py_NewRef(PyExc_ValueError);
    case TR_ERR_MEMORY: return Py_NewRef(PyExc_MemoryError);
    default: return tr_pyerr_class(names[kind]);
    }
}

PyObject *tr_pyerr_raise_ctx(tr_ctx *ctx, PyObject *globals) {
    if (PyErr_Occurred())
        return NULL; /* the snapshot met an exception of the user's own */
    if (!ctx->errs) {
        PyErr_SetString(PyExc_SystemError, "a compilation failed without saying why");
        return NULL;
    }
    PyObject *cls = class_of(ctx->errs->kind);
    if (!cls)
        return NULL;
    tr_sb b;
    tr_sb_init(&b);
    uint32_t shown = 0, more = 0;
    for (const tr_err *e = ctx->errs; e; e = e->next) {
        if (told_before(ctx, e))
            continue;
        if (shown == MAX_ERRORS) {
            more++;
            continue;
        }
        tr_sb_puts(&b, shown++ ? "\n\n" : "");
        print_error(&b, e, globals);
    }
    if (more)
        tr_sb_printf(&b, "\n\n(and %u more)", more);
    PyObject *text = b.oom ? NULL : PyUnicode_DecodeUTF8(b.d, (Py_ssize_t)b.n, "replace");
    tr_sb_fini(&b);
    if (text)
        PyErr_SetObject(cls, text);
    else if (!PyErr_Occurred())
        PyErr_NoMemory();
    Py_XDECREF(text);
    Py_DECREF(cls);
    assert(PyErr_Occurred() && "a compilation that failed is an exception");
    return NULL;
}

/* --- exceptions of running code --- */

/* The next argument of a site to be read: its number, and the payload's next slot. Complex takes two. */
typedef struct sitepos {
    uint32_t i, slot;
} sitepos;

static PyObject *next_arg(const tr_msite *site, const tr_frame *frame, sitepos *at);

static PyObject *next_tuple(const tr_msite *site, const tr_frame *frame, uint32_t n, sitepos *at) {
    PyObject *t = PyTuple_New(n);
    for (uint32_t k = 0; t && k < n; k++) {
        PyObject *v = next_arg(site, frame, at);
        if (!v)
            Py_CLEAR(t);
        else
            PyTuple_SET_ITEM(t, k, v);
    }
    return t;
}

static PyObject *constant_complex(const tr_marg *a) {
    double im;
    memcpy(&im, &a->i, sizeof im);
    return PyComplex_FromDoubles(a->d, im);
}

static PyObject *next_arg(const tr_msite *site, const tr_frame *frame, sitepos *at) {
    static const tr_marg none = {.kind = 'N'};
    const tr_marg *a = at->i < site->nargs ? &site->args[at->i] : &none;
    const tr_slot *p = &frame->payload[at->slot < TR_FRAME_PAYLOAD ? at->slot : TR_FRAME_PAYLOAD - 1];
    assert(at->slot + tr_marg_slots(a->kind) <= TR_FRAME_PAYLOAD && "what is raised fits the frame");
    at->i++;
    at->slot += tr_marg_slots(a->kind);
    switch (a->kind) {
    case 'i': return PyLong_FromLongLong(p->i);
    case 'u': return PyLong_FromUnsignedLongLong(p->u);
    case 'd': return PyFloat_FromDouble(p->f);
    case 'f': return PyFloat_FromDouble((double)p->f32);
    case 'h': return PyFloat_FromDouble((double)p->f16);
    case 'b': return PyBool_FromLong(p->b != 0);
    case 'C':
    case 'c': return PyComplex_FromDoubles(p[0].f, p[1].f);
    case 's': return tr_box_string(p);
    case 'y': return tr_box_bytes(p);
    case 'I': return PyLong_FromLongLong(a->i);
    case 'U': return PyLong_FromUnsignedLongLong((uint64_t)a->i);
    case 'Z':
    case 'z': return constant_complex(a);
    case 'D':
    case 'F': return PyFloat_FromDouble(a->d);
    case 'B': return PyBool_FromLong(a->i != 0);
    case 'S': return PyUnicode_DecodeUTF8(a->s, (Py_ssize_t)strlen(a->s), "surrogatepass");
    case 'T': return next_tuple(site, frame, (uint32_t)a->i, at);
    default: Py_RETURN_NONE;
    }
}

static PyObject *site_text(const tr_msite *site, const tr_frame *frame) {
    tr_sb b;
    tr_sb_init(&b);
    tr_rt_site_text(site, frame->payload, &b);
    PyObject *r =
        b.oom ? PyErr_NoMemory() : PyUnicode_DecodeUTF8(b.d ? b.d : "", (Py_ssize_t)b.n, "surrogatepass");
    tr_sb_fini(&b);
    return r;
}

static PyObject *site_args(const tr_msite *site, const tr_frame *frame) {
    PyObject *t;
    if (site->text) {
        PyObject *s = site_text(site, frame);
        t = s ? PyTuple_Pack(1, s) : NULL;
        Py_XDECREF(s);
        return t;
    }
    sitepos at = {0, 0};
    PyObject *l = PyList_New(0);
    while (l && at.i < site->nargs) {
        PyObject *v = next_arg(site, frame, &at);
        if (!v || PyList_Append(l, v) < 0)
            Py_CLEAR(l);
        Py_XDECREF(v);
    }
    t = l ? PyList_AsTuple(l) : NULL;
    Py_XDECREF(l);
    return t;
}

static bool text_is(PyObject *text, const char *s) {
    const char *own = PyUnicode_AsUTF8(text);
    return own && strcmp(own, s) == 0;
}

/* The code object of a place. Those that were told of last are kept, each where its place's address says, and
 * known by what they say: to make one takes longer than all else of an entry. NULL without memory. */
static PyCodeObject *code_of(tr_state *st, const tr_place *p) {
    const char *file = p->file ? p->file : "<unknown>", *fn = p->fn ? p->fn : "<unknown>";
    int line = p->span.line > 0 ? p->span.line : 1;
    PyObject **slot = &st->told[(uintptr_t)p / sizeof *p % TR_TOLD], *old;
    tr_py_section section;
    tr_py_section_begin(&section, st->gate);
    PyCodeObject *code = (PyCodeObject *)Py_XNewRef(*slot);
    tr_py_section_end(&section);
    if (code && code->co_firstlineno == line && text_is(code->co_name, fn) &&
        text_is(code->co_filename, file))
        return code;
    Py_XDECREF(code);
    PyErr_Clear();
    code = PyCode_NewEmpty(file, fn, line);
    if (!code)
        return NULL;
    tr_py_section_begin(&section, st->gate);
    old = *slot;
    *slot = Py_NewRef((PyObject *)code);
    tr_py_section_end(&section);
    Py_XDECREF(old);
    return code;
}

/* Adds a traceback entry to the current exception. Without memory the entry is left out. */
static void add_entry(tr_state *st, const tr_place *p, PyObject *globals) {
    PyObject *type, *value, *tb;
    PyErr_Fetch(&type, &value, &tb);
    PyCodeObject *code = code_of(st, p);
    PyFrameObject *fr = code ? PyFrame_New(PyThreadState_Get(), code, globals, NULL) : NULL;
    PyErr_Clear();
    PyErr_Restore(type, value, tb);
    if (fr)
        PyTraceBack_Here(fr);
    Py_XDECREF(code);
    Py_XDECREF(fr);
}

static void add_places(tr_state *st, const tr_msite *site, PyObject *globals) {
    for (uint32_t i = 0; i < site->nplaces; i++)
        add_entry(st, &site->places[i], globals);
}

void tr_pyerr_raise_reason(int32_t code) {
    static const struct {
        int32_t code;
        const char *text;
    } reasons[] = {
#define X(id, code, text) {code, text},
        TR_CODES(X)
#undef X
    };
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (reasons[i].code == code && reasons[i].text) {
            PyErr_SetString(PyExc_RuntimeError, reasons[i].text);
            return;
        }
    if (code == TR_CODE_MEMORY)
        PyErr_NoMemory();
    else if (!PyErr_Occurred())
        PyErr_Format(PyExc_SystemError, "compiled code ended with the unknown code %d", (int)code);
    assert(PyErr_Occurred() && "a reason is an exception");
}

/* The class of that name. NULL with an exception. */
static PyObject *exc_class(tr_exc exc) {
    if (exc == TR_EXC_UNSUPPORTED)
        return tr_pyerr_class(tr_exc_name[exc]);
    PyObject *own = tr_py_dict_get_text(PyEval_GetBuiltins(), tr_exc_name[exc]);
    PyObject *numpy = own ? NULL : PyImport_ImportModule("numpy.exceptions");
    PyObject *cls = own ? own : numpy ? PyObject_GetAttrString(numpy, tr_exc_name[exc]) : NULL;
    Py_XDECREF(numpy);
    return cls;
}

/* The class of a site, or the exception itself, as Python knows it. */
static PyObject *site_exc(const tr_msite *s) {
    return s->own ? Py_NewRef((PyObject *)(uintptr_t)s->obj)
                  : exc_class(s->exc < TR_EXC__COUNT ? (tr_exc)s->exc : TR_EXC_RUNTIME);
}

/* The exception, as `raise` makes it. */
static PyObject *make_exc(const tr_msite *s, const tr_frame *frame) {
    if (s->cls == TR_EXC_HOST)
        return tr_left_exception(frame, frame->payload[0].i);
    PyObject *of = site_exc(s);
    if (!of || !PyType_Check(of))
        return of;
    PyObject *args = site_args(s, frame);
    PyObject *exc = args ? PyObject_Call(of, args, NULL) : NULL;
    Py_DECREF(of);
    Py_XDECREF(args);
    if (exc && !PyExceptionInstance_Check(exc)) {
        PyErr_SetString(PyExc_TypeError, "exceptions must derive from BaseException");
        Py_CLEAR(exc);
    }
    return exc;
}

/* Raises what the site says, or what its class raises instead; false when there is an exception already. */
static bool raise_site(const tr_msite *s, const tr_frame *frame) {
    if (PyErr_Occurred())
        return false; /* print() met one before */
    PyObject *exc = make_exc(s, frame);
    if (exc)
        PyErr_SetObject((PyObject *)Py_TYPE(exc), exc);
    Py_XDECREF(exc);
    return true;
}

/* What was left out of the function could not be compiled when it was needed. */
static void raise_late(tr_function *f, const tr_late *l) {
    const char *why = l ? atomic_load_explicit(&l->why, memory_order_acquire) : NULL;
    PyObject *cls = why ? class_of(TR_ERR_LOWERING) : NULL;
    if (cls)
        PyErr_Format(cls, "%U(): a part that hardly ever runs could not be compiled when it was needed: %s",
                     f->qualname, why);
    else if (!why)
        PyErr_NoMemory();
    Py_XDECREF(cls);
}

/* It was left in the middle, and nobody wrote down where. */
static void add_function(tr_function *f, PyObject *globals) {
    PyCodeObject *code = (PyCodeObject *)PyFunction_GetCode(f->py_func);
    const tr_place p = {
        PyUnicode_AsUTF8(code->co_filename), PyUnicode_AsUTF8(code->co_name), {.line = code->co_firstlineno}};
    add_entry(tr_ext_state_of((PyObject *)f), &p, globals);
}

/* An exception that is being made: where it is from, and what was made of the links of its frame so far. */
typedef struct making {
    tr_function *f;
    const tr_meta *meta;
    PyObject *made[TR_FRAME_LINKS];
} making;

static void raise_frame(making *k, int32_t code, const tr_frame *frame);

/* The exception that link `number` stands for, or what making it raised: borrowed. NULL
 * when there is none. */
static PyObject *linked(making *k, const tr_frame *frame, uint64_t number) {
    const tr_raised *r = tr_rt_linked(frame, number);
    PyObject **made = &k->made[number % TR_FRAME_LINKS];
    if (r && !*made) {
        tr_frame of;
        tr_rt_frame_init(&of, NULL);
        tr_rt_again(&of, r);
        of.links = frame->links;
        raise_frame(k, (int32_t)r->code, &of);
        *made = tr_py_fetch();
        if (r->made && *made)
            PyException_SetTraceback(*made, Py_None);
        assert(*made && "a link that is made is an exception");
    }
    return r ? *made : NULL;
}

/* An exception cannot be its own context: whoever has it as one, of those that `context` leads to, has none
 * then, as when Python raises it. The user's own may lead round in a circle already. */
static void cut(PyObject *exc, PyObject *context) {
    PyObject *o = context, *slow = context, *next;
    for (bool step = false; (next = PyException_GetContext(o)) != NULL; step = !step) {
        Py_DECREF(next); /* o has it */
        if (next == exc)
            PyException_SetContext(o, NULL);
        if (next == exc || next == slow)
            return;
        o = next;
        if (step) {
            slow = PyException_GetContext(slow);
            Py_XDECREF(slow);
        }
    }
}

/* Raises what the site says, from what its frame has linked to it. */
static bool raise_linked(making *k, const tr_msite *s, const tr_frame *frame) {
    if (!frame->linked)
        return raise_site(s, frame);
    if (PyErr_Occurred())
        return false;
    PyObject *context = linked(k, frame, frame->context), *cause = linked(k, frame, frame->cause);
    bool ok = raise_site(s, frame);
    PyObject *exc = tr_py_fetch();
    if (exc && context && exc != context) {
        cut(exc, context);
        PyException_SetContext(exc, Py_NewRef(context));
    }
    if (exc && exc != cause && (cause || frame->cause == TR_FROM_NONE))
        PyException_SetCause(exc, Py_XNewRef(cause));
    tr_py_restore(exc);
    return ok;
}

static void raise_frame(making *k, int32_t code, const tr_frame *frame) {
    const tr_meta *inner = frame->inner ? frame->inner : k->meta,
                  *own = frame->late ? frame->late->meta : inner;
    const tr_msite *s = code > 0 && (uint32_t)code <= own->nsites ? &own->sites[code - 1] : NULL;
    if (code == TR_CODE_LATE)
        raise_late(k->f, frame->late);
    else if (!s)
        tr_pyerr_raise_reason(code);
    else if (!raise_linked(k, s, frame))
        return;
    PyObject *globals = PyFunction_GetGlobals(k->f->py_func);
    tr_state *st = tr_ext_state_of((PyObject *)k->f);
    if (s)
        add_places(st, s, globals);
    else if (code == TR_CODE_HOST)
        add_function(k->f, globals);
    uint32_t n = frame->ntrace < TR_FRAME_TRACE ? frame->ntrace : TR_FRAME_TRACE;
    for (uint32_t i = 0; i < n; i++) {
        const tr_meta *of = i < frame->ninner ? inner : k->meta;
        if (frame->trace[i] < of->nsites)
            add_places(st, &of->sites[frame->trace[i]], globals);
    }
}

void tr_pyerr_raise_code(tr_function *f, const tr_meta *meta, int32_t code, const tr_frame *frame) {
    making k = {.f = f, .meta = meta};
    assert(code != 0 && tr_py_is_held() && "there is something to raise");
    raise_frame(&k, code, frame);
    assert(PyErr_Occurred() && "a code is an exception");
    for (unsigned i = 0; i < TR_FRAME_LINKS; i++)
        Py_XDECREF(k.made[i]);
    if (frame->watch)
        tr_pyerr_watched(frame);
}
