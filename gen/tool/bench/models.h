/* models.h - layers of published models as problems. */
#ifndef KN_MODELS_H
#define KN_MODELS_H

#include "../cli.h"

struct kn_model {
    const char *name;
    int64_t experts, inter, hidden, topk;
};

/* A pass of one layer over all experts of a device: the sizes of grouped (n,
 * k) or wgrad (m, n).
 *
 *   gateup   N = 2 inter, K = hidden      down   N = hidden, K = inter
 *   fwd      grouped nt   n = N, k = K    A[rows,K]  B[G,N,K]
 *   dgrad    grouped nn   n = K, k = N    A[rows,N]  B[G,N,K], the same bytes
 *   wgrad    wgrad        m = N, n = K    A[rows,N]  B[rows,K] */
struct kn_layer {
    kiln_family family;
    kiln_layout layout;
    int64_t m, n, k;         /* 0: ragged */
};

/* The model of a name or of its unambiguous beginning; NULL: none. */
const struct kn_model *kn_model_find(const char *name);

/* "gateup.fwd", "down.wgrad", ...; false if there is no such layer or pass. */
bool kn_layer_of(const struct kn_model *m, const char *op,
                 struct kn_layer *out);

/* Replaces --model and --op by the flags they stand for: sizes, layout and,
 * unless they are given, the experts of one of eight devices as groups; for
 * moe --hidden, --inter, --experts and --topk. */
kiln_status kn_model_expand(struct kn_ctx *c, struct kn_cli *cli);

#endif
