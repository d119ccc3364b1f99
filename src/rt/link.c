/* What exceptions have to do with each other: __context__ and __cause__.
 *
 * An exception names others by number. They lie in a ring, made with the first link of a call, so links need
 * no owner, and a loop that raises for ever takes no more memory: of more than TR_FRAME_LINKS exceptions of
 * a call that others were raised from the oldest are forgotten, as are the outermost entries of a long
 * trace. Without memory for the ring there are no links. Beside the ring lie exceptions that the host made,
 * of which only the latest are kept, too. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "rt/fns.h"
#include "rt/rt.h"
#include "rt/site.h"

static void set_links(tr_frame *f, uint64_t context, uint64_t cause) {
    f->context = context;
    f->cause = cause;
    f->linked = context || cause;
}

/* Late code has raise sites of its own. */
static const tr_msite *site_of(const tr_frame *f, int64_t code, const tr_msite *sites) {
    if (f->late)
        sites = f->late->sites;
    return code > 0 && sites && !f->inner ? sites + code - 1 : NULL;
}

void tr_rt_catch(const tr_frame *f, void *to, const void *sites) {
    tr_raised *r = to;
    r->site = sites ? site_of(f, r->code, sites) : NULL;
    r->number = 0;
    r->made = false;
    memcpy(r->payload, f->payload, sizeof r->payload);
    r->context = f->linked ? f->context : 0;
    r->cause = f->linked ? f->cause : 0;
    r->ntrace = f->ntrace;
    r->ninner = f->ninner;
    r->inner = f->inner;
    r->late =
        f->late || f->inner ? f->late : f->within; /* what late code catches of its own has not left it */
    memcpy(r->trace, f->trace, (f->ntrace < TR_FRAME_TRACE ? f->ntrace : TR_FRAME_TRACE) * sizeof *r->trace);
}

void tr_rt_again(tr_frame *f, const void *from) {
    const tr_raised *r = from;
    memcpy(f->payload, r->payload, sizeof r->payload);
    set_links(f, r->context, r->cause);
    f->ntrace = r->ntrace;
    f->ninner = r->ninner;
    f->inner = r->inner;
    f->late = r->late;
    memcpy(f->trace, r->trace, (r->ntrace < TR_FRAME_TRACE ? r->ntrace : TR_FRAME_TRACE) * sizeof *r->trace);
}

const tr_raised *tr_rt_linked(const tr_frame *f, uint64_t number) {
    const tr_raised *r = number && f->links ? &f->links->of[number % TR_FRAME_LINKS] : NULL;
    return r && r->number == number ? r : NULL;
}

static bool has_links(tr_frame *f) {
    return f->links || (f->links = calloc(1, sizeof *f->links)) != NULL;
}

static uint64_t add(tr_frame *f, const tr_raised *r) {
    if (!has_links(f))
        return 0;
    uint64_t number = ++f->links->last;
    tr_raised *to = &f->links->of[number % TR_FRAME_LINKS];
    *to = *r;
    to->number = number;
    assert(tr_rt_linked(f, number) == to && to->number > 0 && "a link is found by its number");
    return number;
}

static tr_raised *caught(int64_t exc) {
    return (tr_raised *)(uintptr_t)((uint64_t)exc & ((UINT64_C(1) << TR_CAUGHT_BITS) - 1));
}

/* What was linked before is the same exception still. */
static uint64_t number_of(tr_frame *f, int64_t exc) {
    tr_raised *r = caught(exc);
    if (r && !tr_rt_linked(f, r->number))
        r->number = add(f, r);
    return r ? r->number : 0;
}

void tr_rt_context(tr_frame *f, int64_t exc) {
    set_links(f, number_of(f, exc), f->linked ? f->cause : 0);
}

void tr_rt_cause(tr_frame *f, int64_t exc) {
    set_links(f, f->linked ? f->context : 0, exc ? number_of(f, exc) : TR_FROM_NONE);
}

void tr_rt_made(tr_frame *f, int64_t exc) {
    (void)f;
    caught(exc)->made = true;
}

/* An exception cannot be its own context: who has it as one of those that lead to it has
 * none then, as in Python. */
void tr_rt_context_of(tr_frame *f, int64_t exc, int64_t context) {
    tr_raised *r = caught(exc), *at = NULL;
    uint64_t number = r == caught(context) ? 0 : number_of(f, context);
    if (!number)
        return;
    assert(r && "what was caught gets a context");
    r->context = number;
    while ((at = (tr_raised *)tr_rt_linked(f, number)) && at->context) {
        number = at->context;
        at->context = number == r->number ? 0 : number;
    }
    r->number = 0; /* a link made of it before knows nothing of that */
}

void tr_rt_cause_of(tr_frame *f, int64_t exc, int64_t cause) {
    tr_raised *r = caught(exc);
    if (cause && caught(cause) == r)
        return;
    assert(r && "what was caught gets a cause");
    r->cause = cause ? number_of(f, cause) : TR_FROM_NONE;
    r->number = 0;
}

void tr_rt_links_of(tr_frame *f, const void *module) {
    for (unsigned k = 0; f->links && k < TR_FRAME_LINKS; k++)
        if (!f->links->of[k].inner) {
            f->links->of[k].inner = module;
            f->links->of[k].ninner = (uint16_t)f->links->of[k].ntrace;
        }
}

/* Link `number` of `from` as one of `to`; what it names first. Each becomes one. */
static uint64_t move(tr_frame *to, const tr_frame *from, uint64_t number, uint64_t *moved) {
    const tr_raised *r = tr_rt_linked(from, number);
    if (!r)
        return number == TR_FROM_NONE ? number : 0;
    uint64_t *as = &moved[number % TR_FRAME_LINKS];
    assert(to != from && "links go from one frame to another");
    if (!*as) {
        tr_raised copy = *r;
        copy.context = move(to, from, r->context, moved);
        copy.cause = move(to, from, r->cause, moved);
        *as = add(to, &copy);
    }
    return *as;
}

/* --- exceptions of the host's --- */

static void drop_all(tr_kept *k) {
    for (tr_kept *next; k; k = next) {
        next = k->next;
        k->drop(k);
    }
}

uint64_t tr_rt_keep(tr_frame *f, tr_kept *k) {
    if (!has_links(f)) {
        k->drop(k);
        return 0;
    }
    tr_links *l = f->links;
    assert(k->drop && (!l->kept == !l->nkept) && "what is kept is counted, and can be given back");
    k->next = l->kept;
    l->kept = k;
    if (++l->nkept >= 2 * TR_FRAME_KEPT) { /* half of them are forgotten at once */
        for (l->nkept = 1; l->nkept < TR_FRAME_KEPT; l->nkept++)
            k = k->next;
        drop_all(k->next);
        k->next = NULL;
    }
    return l->kept->number;
}

tr_kept *tr_rt_kept(const tr_frame *f, uint64_t number) {
    tr_kept *k = f->links ? f->links->kept : NULL;
    while (k && k->number != number)
        k = k->next;
    return k;
}

/* Without memory they stay, and are none of `to`. */
static void move_kept(tr_frame *to, const tr_frame *from) {
    tr_kept **last = from->links ? &from->links->kept : NULL;
    if (!last || !*last || !has_links(to))
        return;
    while (*last)
        last = &(*last)->next;
    *last = to->links->kept;
    to->links->kept = from->links->kept;
    to->links->nkept += from->links->nkept;
    from->links->kept = NULL;
    from->links->nkept = 0;
}

void tr_rt_copy_exception(tr_frame *to, const tr_frame *from) {
    uint64_t moved[TR_FRAME_LINKS] = {0};
    tr_raised r;
    move_kept(to, from);
    tr_rt_catch(from, &r, NULL);
    r.context = move(to, from, r.context, moved);
    r.cause = move(to, from, r.cause, moved);
    tr_rt_again(to, &r);
}

void tr_rt_links_fini(tr_frame *f) {
    drop_all(f->links ? f->links->kept : NULL);
    free(f->links);
    f->links = NULL;
}
