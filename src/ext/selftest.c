/* Private functions of _core for the tests of the front end and the snapshot: what a function becomes, as
 * text.
 *
 *   _front(fn, stage="ssa", code=None, exctable=None, linetable=None) -> (kind, text)
 *       kind "ok": the text of the stage, "code" (normalised bytecode) or "ssa", of all functions reached;
 *       "refused": the row of nyi.def, the line, the message; "error": malformed bytecode; "invalid": SSA
 *       that the verifier rejects, a defect. The last three arguments replace those parts of the root
 *       function's code object, for tests that feed broken ones.
 *   _freeze_hash(fn) -> bytes, or None when the snapshot cannot be told by content
 *   _freeze_deps(fn) -> list for _freeze_current(list) -> bool */
#include "ext/compat.h"
#include "ext/freeze.h"
#include "ext/state.h"

#include "front/front.h"

#include "ext/selftest.h"

typedef struct session {
    tr_ctx ctx;
    tr_prog prog;
    tr_frozen frozen;
    bool frozen_ready;
} session;

static void end(session *s) {
    if (s->frozen_ready)
        tr_freeze_fini(&s->frozen);
    if (s->ctx.types)
        tr_tytab_free(s->ctx.types);
    tr_ctx_fini(&s->ctx);
    PyMem_Free(s);
}

static session *begin(PyObject *module) {
    session *s = PyMem_Calloc(1, sizeof *s);
    if (!s) {
        PyErr_NoMemory();
        return NULL;
    }
    tr_state *st = tr_ext_state(module);
    tr_ctx_init(&s->ctx);
    s->ctx.types = tr_tytab_new(st->types);
    if (s->ctx.types)
        tr_tytab_follow(s->ctx.types, &s->ctx.arena);
    else
        PyErr_NoMemory();
    s->frozen_ready = s->ctx.types && tr_freeze_init(&s->frozen, &s->ctx, &s->prog, &st->freeze);
    if (s->frozen_ready)
        return s;
    end(s);
    return NULL;
}

static PyObject *in_gate(session *s, PyObject *fn, PyObject *(*body)(session *, void *), void *arg) {
    s->ctx.arena.oom = &s->ctx.oom;
    if (setjmp(s->ctx.oom))
        return PyErr_NoMemory();
    tr_prog_init(&s->prog, &s->ctx);
    return tr_freeze(&s->frozen, fn) ? body(s, arg) : NULL;
}

/* Runs `body` with the arena's way out set up. */
static PyObject *guarded(PyObject *module, session *s, PyObject *fn, PyObject *(*body)(session *, void *),
                         void *arg) {
    tr_py_section gate;
    tr_py_section_begin(&gate, tr_ext_state(module)->gate);
    PyObject *r = in_gate(s, fn, body, arg);
    tr_py_section_end(&gate);
    return r;
}

/* --- _front --- */

typedef struct front_args {
    const char *stage;
    Py_buffer code, exctable, linetable;
} front_args;

static const uint8_t * override(session *s, const Py_buffer *b, const uint8_t *old, uint32_t *n) {
    if (!b->buf)
        return old;
    *n = (uint32_t)b->len;
    return tr_arena_copy(&s->ctx.arena, b->buf, (size_t)b->len);
}

/* What is said, and the text, in which constants may have lone surrogates. */
static PyObject *said(const char *kind, const tr_sb *b) {
    return Py_BuildValue("sN", kind,
                         PyUnicode_DecodeUTF8(b->d ? b->d : "", (Py_ssize_t)b->n, "surrogatepass"));
}

static PyObject *errors(session *s) {
    tr_sb b;
    tr_sb_init(&b);
    for (const tr_err *e = s->ctx.errs; e; e = e->next)
        tr_sb_printf(&b, "%s\n", e->text);
    PyObject *r = said("error", &b);
    tr_sb_fini(&b);
    return r;
}

static PyObject *code_text(session *s) {
    tr_sb b;
    tr_sb_init(&b);
    bool ok = true;
    for (uint32_t i = 0; i < s->prog.funcs.n && ok; i++) {
        const tr_func *f = &s->prog.funcs.d[i];
        tr_decoded d;
        tr_sb_printf(&b, "code %s\n", f->qualname);
        ok = tr_front_decode(&s->ctx, f->code, &d);
        if (ok)
            tr_front_print_code(&b, f->code, &d);
    }
    PyObject *r = ok ? said("ok", &b) : errors(s);
    tr_sb_fini(&b);
    return r;
}

static PyObject *ssa_text(session *s) {
    for (uint32_t i = 0; i < s->prog.funcs.n; i++)
        if (!tr_front_build(&s->prog, i))
            return errors(s);
    const tr_err *refused = s->prog.funcs.d[s->prog.root_func].refused;
    if (refused)
        return Py_BuildValue(
            "sN", "refused",
            PyUnicode_FromFormat("%s:%d: %s", refused->nyi, refused->place.span.line, refused->text));
    tr_sb b;
    tr_sb_init(&b);
    const char *kind = "ok";
    for (uint32_t i = 0; i < s->prog.funcs.n; i++) {
        const tr_func *f = &s->prog.funcs.d[i];
        if (f->refused)
            tr_sb_printf(&b, "fn @%s is refused: %s\n", f->name, f->refused->nyi);
        else if (!f->ssa ||
                 f->packaged) /* a generator expression, whose loops are functions; the library's */
            continue;
        else if (tr_ir_verify(f->ssa, &b))
            tr_ir_print(&b, f->ssa);
        else
            kind = "invalid";
    }
    PyObject *r = said(kind, &b);
    tr_sb_fini(&b);
    return r;
}

static PyObject *front_body(session *s, void *arg) {
    front_args *a = arg;
    const tr_code *old = s->prog.funcs.d[s->prog.root_func].code;
    tr_code *c = tr_arena_copy(&s->ctx.arena, old, sizeof *old);
    c->code = override(s, &a->code, c->code, &c->ncode);
    c->exctab = override(s, &a->exctable, c->exctab, &c->nexctab);
    c->linetab = override(s, &a->linetable, c->linetab, &c->nlinetab);
    s->prog.funcs.d[s->prog.root_func].code = c;
    return strcmp(a->stage, "code") ? ssa_text(s) : code_text(s);
}

static PyObject *selftest_front(PyObject *module, PyObject *args, PyObject *kw) {
    static const char *const names[] = {"fn", "stage", "code", "exctable", "linetable", NULL};
    PyObject *fn;
    front_args a = {.stage = "ssa"};
    if (!PyArg_ParseTupleAndKeywords(args, kw, "O|sz*z*z*", (char **)(uintptr_t)names, &fn, &a.stage, &a.code,
                                     &a.exctable, &a.linetable))
        return NULL;
    session *s = begin(module);
    PyObject *r = s ? guarded(module, s, fn, front_body, &a) : NULL;
    if (s)
        end(s);
    PyBuffer_Release(&a.code);
    PyBuffer_Release(&a.exctable);
    PyBuffer_Release(&a.linetable);
    return r;
}

/* --- the snapshot --- */

static PyObject *hash_body(session *s, void *arg) {
    (void)arg;
    tr_hasher *h = tr_hasher_new();
    if (!h)
        return PyErr_NoMemory();
    tr_hash out;
    bool ok = tr_freeze_hash(&s->frozen, h);
    tr_hasher_end(h, &out);
    return ok ? PyBytes_FromStringAndSize((const char *)out.b, sizeof out.b) : Py_NewRef(Py_None);
}
static PyObject *deps_body(session *s, void *arg) {
    (void)arg;
    return Py_NewRef(s->frozen.deps);
}

static PyObject *run(PyObject *module, PyObject *fn, PyObject *(*body)(session *, void *)) {
    session *s = begin(module);
    PyObject *r = s ? guarded(module, s, fn, body, NULL) : NULL;
    if (s)
        end(s);
    return r;
}
static PyObject *selftest_hash(PyObject *module, PyObject *fn) {
    return run(module, fn, hash_body);
}
static PyObject *selftest_deps(PyObject *module, PyObject *fn) {
    return run(module, fn, deps_body);
}
static PyObject *selftest_current(PyObject *module, PyObject *deps) {
    (void)module;
    if (!PyList_Check(deps)) {
        PyErr_SetString(PyExc_TypeError, "a list from _freeze_deps is needed");
        return NULL;
    }
    int r = tr_freeze_current(deps);
    return r < 0 ? NULL : PyBool_FromLong(r);
}

/* Whether this build looks at what the code relies on. */
static PyObject *selftest_asserts(PyObject *module, PyObject *unused) {
    (void)module, (void)unused;
#ifdef NDEBUG
    Py_RETURN_FALSE;
#else
    Py_RETURN_TRUE;
#endif
}

bool tr_selftest_add(PyObject *module) {
    static PyMethodDef methods[] = {
        {"_front", (PyCFunction)(void (*)(void))selftest_front, METH_VARARGS | METH_KEYWORDS, NULL},
        {"_freeze_hash", selftest_hash, METH_O, NULL},
        {"_freeze_deps", selftest_deps, METH_O, NULL},
        {"_freeze_current", selftest_current, METH_O, NULL},
        {"_asserts", selftest_asserts, METH_NOARGS, NULL},
        {NULL, NULL, 0, NULL},
    };
    return PyModule_AddFunctions(module, methods) == 0;
}
