/* print.c - a kernel as text. What it prints, parse.c reads back to the same
 * kernel. A value's type is written where it first appears. */
#include "ir.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct printer {
    const struct kn_fn *f;
    struct kn_buf *out;
    bool *seen;              /* value index -> its type was printed */
    int depth;
};

static void
print_type(struct kn_buf *out, struct kn_type t)
{
    if (kn_elems[t.elem].kind == KN_E_REF && t.elem != KN_T_ptr) {
        kn_put(out, kn_elems[t.elem].text);
        return;
    }
    kn_putf(out, "%s.%s", t.lane ? "v" : "s", kn_elems[t.elem].text);
    if (t.n > 1)
        kn_putf(out, "x%d", t.n);
}

static void
print_const(struct kn_buf *out, const struct kn_const *k)
{
    char text[40];

    if (!k->is_float) {
        kn_putf(out, "%lld", (long long)k->i);
        return;
    }
    snprintf(text, sizeof text, "%.17g", k->f);
    kn_put(out, text);
    if (!strpbrk(text, ".en"))
        kn_put(out, ".0");
}

static void
print_ref(struct printer *p, kn_ref r)
{
    switch (KN_REF_TAG(r)) {
    case KN_R_VAL:
        kn_putf(p->out, "%%%s", kn_val(p->f, r)->name);
        break;
    case KN_R_CONST:
        print_const(p->out, &p->f->konst[KN_REF_INDEX(r)]);
        break;
    case KN_R_LDS:
        kn_putf(p->out, "%%%s", p->f->lds[KN_REF_LDS(r)].name);
        if (KN_REF_SLOT(r) != KN_ALL_SLOTS)
            kn_putf(p->out, "[%u]", KN_REF_SLOT(r));
        break;
    }
}

static void
print_attrs(struct printer *p, const struct kn_ins *i)
{
    for (int a = 0; a < KN_NATTR; a++) {
        if (i->attr[a] == kn_attrs[a].def || !kn_op_takes(i->op, a))
            continue;
        kn_putf(p->out, " %s=", kn_attrs[a].text);
        if (kn_attrs[a].kind == KN_TYPE)
            kn_put(p->out, kn_elems[i->attr[a]].text);
        else if (kn_attrs[a].kind == KN_MFMA)
            kn_put(p->out, kn_mfmas[i->attr[a]].text);
        else
            kn_putf(p->out, "%d", i->attr[a]);
    }
}

static void
print_ins(struct printer *p, const struct kn_ins *i)
{
    if (i->op == KN_OP_end || i->op == KN_OP_else)
        p->depth--;
    kn_putf(p->out, "%*s", 2 * p->depth, "");
    if (i->dst) {
        print_ref(p, i->dst);
        if (!p->seen[KN_REF_INDEX(i->dst)]) {
            kn_put(p->out, ":");
            print_type(p->out, kn_val(p->f, i->dst)->type);
            p->seen[KN_REF_INDEX(i->dst)] = true;
        }
        kn_put(p->out, " = ");
    }
    kn_put(p->out, kn_op_info(i->op).text);
    for (int a = 0; a < KN_MAXARG && i->arg[a]; a++) {
        kn_put(p->out, a ? ", " : " ");
        print_ref(p, i->arg[a]);
    }
    print_attrs(p, i);
    kn_put(p->out, "\n");
    if (i->op == KN_OP_loop || i->op == KN_OP_if || i->op == KN_OP_else)
        p->depth++;
}

static void
print_lds(struct kn_buf *out, const struct kn_lds *l)
{
    kn_putf(out, "lds %%%s side=%c elem=%s rows=%u cols=%u slots=%u gk=%u "
            "lk=%u unit=%u", l->name, l->side, kn_elems[l->elem].text,
            l->rows, l->cols, l->slots, l->gk, l->lk, l->unit);
    if (l->mem)
        kn_putf(out, " mem=%s", kn_elems[l->mem].text);
    if (l->shift)
        kn_putf(out, " shift=%u", l->shift);
    if (l->kdiv != 1)
        kn_putf(out, " kdiv=%u", l->kdiv);
    if (l->panel)
        kn_put(out, " panel=1");
    if (l->words)
        kn_putf(out, " words=%u", l->words);
    if (l->unaligned)
        kn_putf(out, " unaligned=%u", l->unaligned);
    if (l->run)
        kn_putf(out, " run=%u", l->run);
    if (l->shuf)
        kn_put(out, " shuf=1");
    if (l->share)
        kn_putf(out, " share=%u", l->share);
    if (l->line)
        kn_put(out, " line=1");
    if (l->lag)
        kn_put(out, " lag=1");
    if (l->swz_n)
        kn_putf(out, " swz=%u.%u.%u", l->swz_s, l->swz_n, l->swz_t);
    if (l->flip)
        kn_putf(out, " flip=%u", l->flip);
    kn_put(out, "\n");
}

void
kn_print(const struct kn_fn *f, struct kn_buf *out)
{
    struct printer p = { f, out, KN_NEW(f->c, bool, f->nval), 1 };
    const struct kn_shape *s = &f->shape;

    kn_putf(out, "kernel @%s %s %s\n", f->name,
            f->level == KN_TILE ? "tile" : "wave", kiln_target_name(f->target));
    kn_putf(out, "shape bm=%u bn=%u bk=%u wm=%u wn=%u", s->bm, s->bn, s->bk,
            s->wm, s->wn);
    if (s->mfma >= 0)
        kn_putf(out, " mfma=%s", kn_mfmas[s->mfma].text);
    if (s->ta)
        kn_putf(out, " ta=%s", kn_elems[s->ta].text);
    if (s->tb)
        kn_putf(out, " tb=%s", kn_elems[s->tb].text);
    if (s->block)
        kn_putf(out, " block=%u", s->block);
    if (s->simd)
        kn_putf(out, " simd=%u", s->simd);
    kn_put(out, "\n");
    if (f->expr)
        kn_putf(out, "expr %s\n", f->expr);
    for (size_t i = 1; i < f->nval; i++)
        if (f->val[i].arg) {
            kn_putf(out, "arg %%%s ", f->val[i].name);
            kn_put(out, kn_elems[f->val[i].type.elem].text);
            if (f->val[i].max)
                kn_putf(out, " max=%lld", (long long)f->val[i].max);
            kn_put(out, "\n");
            p.seen[i] = true;
        }
    for (size_t i = 0; i < f->nlds; i++)
        print_lds(out, &f->lds[i]);
    for (size_t i = 0; i < f->nins; i++)
        print_ins(&p, &f->ins[i]);
}
