/* Function's way to a device's code: text for a processor that need not be here, and code
 * that a device has loaded. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ext/device.h"
#include "ext/job.h"
#include "ext/pyerr.h"
#include "ext/types.h"

/* `flags`: dict of small integers, fields of tr_device_opts and of the root's tr_opts. */
static bool read_flags(tr_job *j, PyObject *flags) {
    PyObject *key, *value;
    Py_ssize_t pos = 0;
    while (PyDict_Next(flags, &pos, &key, &value)) {
        const char *name = PyUnicode_AsUTF8(key);
        long v = PyLong_AsLong(value);
        if (!name || (v == -1 && PyErr_Occurred()))
            return false;
        if (!tr_function_flag(name, v, &j->ctx.opts, &j->rq.want.device)) {
            PyErr_Format(PyExc_TypeError, "unknown flag '%s'", name);
            return false;
        }
    }
    return true;
}

static bool set_stage(tr_job *j, const char *stage, tr_sb *out) {
    static const struct {
        const char *name;
        tr_stage upto;
    } rows[] = {{"infer", TR_STAGE_INFER},  {"opt", TR_STAGE_OPT},  {"llvm", TR_STAGE_TIME},
                {"llvmopt", TR_STAGE_TIME}, {"ptx", TR_STAGE_TIME}, {"report", TR_STAGE_OPT}};
    unsigned k = 0;
    while (k < sizeof rows / sizeof *rows && strcmp(rows[k].name, stage) != 0)
        k++;
    if (k == sizeof rows / sizeof *rows) {
        PyErr_Format(PyExc_ValueError, "no stage '%s'; there are infer, opt, llvm, llvmopt, ptx, report",
                     stage);
        return false;
    }
    j->rq.upto = rows[k].upto;
    j->rq.want.llvm = k == 2 ? out : NULL;
    j->rq.want.llvmopt = k == 3 ? out : NULL;
    j->rq.code = k == 4 ? out : NULL;
    if (k == 5) {
        j->ctx.dump.stages = 1u << TR_STAGE_REPORT;
        j->ctx.dump.keep = true;
    }
    return true;
}

/* List of (argument, part, type, size, offset), the argument -1 for the record of exceptions. */
static PyObject *layout_of(tr_job *j) {
    tr_params p;
    tr_target_params(&j->ctx.arena, j->n, j->args, &p);
    PyObject *l = PyList_New(0);
    for (uint32_t k = 0; l && k < p.n; k++) {
        const tr_param *q = &p.d[k];
        PyObject *row = Py_BuildValue("(iiii)", q->arg == TR_PARAM_ERROR ? -1 : (int)q->arg, q->part, q->size,
                                      (int)q->offset);
        if (!row || PyList_Append(l, row) < 0)
            Py_CLEAR(l);
        Py_XDECREF(row);
    }
    return l;
}

static PyObject *result(tr_job *j, tr_sb *text, bool kernel) {
    if (tr_remarks_wanted(&j->ctx) && j->ctx.dump.keep)
        tr_sb_write(text, j->ctx.dump_text.d, j->ctx.dump_text.n);
    else if (j->rq.upto != TR_STAGE_TIME)
        tr_prog_print(text, &j->prog, true);
    PyObject *s = PyUnicode_DecodeUTF8(text->d ? text->d : "", (Py_ssize_t)text->n, "replace");
    PyObject *ret =
        j->out.ret && !j->out.ret->local ? tr_types_object(j->st, j->out.ret) : Py_NewRef(Py_None);
    PyObject *layout = kernel ? layout_of(j) : PyList_New(0);
    PyObject *r = s && ret && layout ? PyTuple_Pack(3, s, ret, layout) : NULL;
    Py_XDECREF(s);
    Py_XDECREF(ret);
    Py_XDECREF(layout);
    return r;
}

PyObject *tr_function_device(PyObject *self, PyObject *args) {
    tr_function *f = (tr_function *)self;
    PyObject *sig, *flags, *r = NULL;
    const char *target, *stage;
    int kernel;
    tr_csig c;
    if (!PyArg_ParseTuple(args, "OsspO!:_device", &sig, &target, &stage, &kernel, &PyDict_Type, &flags) ||
        !tr_types_csig(f->st, sig, &c))
        return NULL;
    tr_job *j = NULL;
    tr_sb text;
    tr_sb_init(&text);
    if (c.n != f->nparams)
        PyErr_Format(PyExc_TypeError, "%U() has %u parameters, but its signature has %u argument types",
                     f->qualname, f->nparams, c.n);
    else
        j = tr_job_new(f, NULL, c.args, c.n, kernel ? NULL : c.ret);
    if (j) {
        j->rq.device = target;
        j->rq.text_only = true;
        j->rq.kind = kernel ? TR_FN_KERNEL : TR_FN_DEVICE;
        if (read_flags(j, flags) && set_stage(j, stage, &text) && tr_job_run(j))
            r = result(j, &text, kernel);
        tr_job_free(j);
    }
    tr_sb_fini(&text);
    tr_csig_clear(&c);
    return r;
}

/* --- code that is launched --- */

static void drop(void *loaded) {
    tr_devcode *k = loaded;
    k->d->ops->unload(k->d, k->code);
    free(k);
}

/* What is loaded: a kernel's module, with the types of its arguments. */
typedef struct loading {
    tr_ctx *ctx;
    tr_module *module;
    const tr_ty *const *args;
    uint32_t n;
    const char *cache_dir; /* NULL: nothing is kept */
} loading;

/* Parameters as slots of a launch, behind the first one. NULL without memory. */
static tr_dev_part *parts_of(const loading *j, const tr_params *p) {
    tr_dev_part *parts = PyMem_Calloc(p->n, sizeof *parts);
    uint32_t first = 0, arg = 0;
    for (uint32_t k = 1; parts && k < p->n; k++) {
        for (; arg < p->d[k].arg; arg++)
            first += tr_ty_nparts(j->args[arg]);
        assert(first + p->d[k].part < UINT16_MAX && "a part's slot has a number of 16 bits");
        parts[k - 1] = (tr_dev_part){(uint16_t)(first + p->d[k].part), p->d[k].size, p->d[k].offset};
    }
    return parts;
}

/* What the driver has made of a text before, or makes now, and is kept. malloc'ed; NULL:
 * the text itself is loaded. */
static void *cached_code(const loading *j, tr_dev *d, const tr_meta *meta, const char *text) {
    tr_hash key;
    tr_dev_about about;
    tr_meta kept;
    uint8_t *code = NULL;
    size_t size;
    tr_hasher *h = j->cache_dir && d->ops->assemble ? tr_hasher_new() : NULL;
    if (!h)
        return NULL;
    d->ops->describe(d, TR_DEV_HERE, &about);
    int64_t cc[] = {d->ops->attribute(d, TR_DEV_HERE, TR_DEV_COMPUTE_CAPABILITY_MAJOR),
                    d->ops->attribute(d, TR_DEV_HERE, TR_DEV_COMPUTE_CAPABILITY_MINOR), about.driver};
    tr_hasher_add(h, "code of a device", sizeof "code of a device");
    tr_hasher_add(h, cc, sizeof cc);
    tr_hasher_add(h, text, strlen(text));
    tr_hasher_end(h, &key);
    if (tr_cache_get(j->cache_dir, &key, &j->ctx->arena, &code, &size, &kept))
        return code;
    if ((code = d->ops->assemble(d, text, &size)))
        tr_cache_put(j->cache_dir, &key, code, size, meta);
    return code;
}

static tr_dev_code *load(const loading *j, tr_dev *d, void *owner, char *msg, size_t room) {
    const tr_meta *meta = tr_module_meta(j->module);
    tr_params p;
    tr_target_params(&j->ctx->arena, j->n, j->args, &p);
    tr_dev_part *parts = parts_of(j, &p);
    const char *text = tr_module_text(j->module);
    void *made = cached_code(j, d, meta, text);
    tr_dev_image im = {.text = made ? made : text,
                       .source = text,
                       .name = meta->entry,
                       .parts = parts,
                       .nparts = p.n - 1,
                       .bytes = p.bytes,
                       .raises = meta->nsites > 0 || meta->cooperative,
                       .cooperative = meta->cooperative,
                       .owner = owner};
    snprintf(msg, room, "no memory for the code of kernel %s", meta->entry);
    tr_dev_code *code = parts ? d->ops->load(d, &im, msg, room) : NULL;
    PyMem_Free(parts);
    free(made);
    return code;
}

static bool load_on(const loading *l, tr_dev *d, tr_function *f) {
    char msg[1400];
    tr_devcode *k = malloc(sizeof *k);
    if (!k) {
        PyErr_NoMemory();
        return false;
    }
    *k = (tr_devcode){.d = d, .f = f, .module = l->module};
    k->code = load(l, d, k, msg, sizeof msg);
    if (k->code) {
        tr_module_hold(l->module, k, drop);
        return true;
    }
    PyErr_SetString(PyExc_RuntimeError, msg);
    free(k);
    return false;
}

bool tr_devcode_load_far(tr_ctx *c, const tr_prog *p, tr_module *m, tr_dev *d, tr_function *f) {
    const tr_inst *root = &p->insts.d[p->root];
    loading l = {c, m, root->args, root->nargs, tr_module_cache(m)};
    return load_on(&l, d, f);
}

bool tr_devcode_load(tr_job *j) {
    assert(j->out.module && !tr_module_held(j->out.module) && "code is loaded on a device once");
    tr_dev *d = tr_device_get(j->st);
    loading l = {&j->ctx, j->out.module, j->args, j->n, j->cache_dir};
    if (d && !d->ops->load)
        PyErr_SetString(PyExc_RuntimeError, "kernels of a GPU do not run on the emulated device");
    else if (d && load_on(&l, d, j->f))
        return true;
    assert(PyErr_Occurred() && "why it was not loaded is raised");
    tr_module_unref(j->out.module);
    j->out.module = NULL;
    return false;
}
