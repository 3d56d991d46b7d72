/* timing_law.c - what no prediction may say: fewer clocks than the matrix
 * operations have or than the longest wave has instructions, fewer rounds than
 * the workgroups need, or bytes faster than the peak of what they come from.
 * A model that says so is wrong, and its figure is not given. */
#include "timing_impl.h"

/* Rounding of sums of many workgroups. */
static const double slack = 1 - 1e-6;

static double
most(double a, double b)
{
    return a > b ? a : b;
}

/* Bytes of a warm launch that fit into the last-level cache come from there. */
static double
memory_us(const struct kn_time_chip *h, const struct kn_time_work *w,
          const struct kn_time_result *r)
{
    double held = r->warm ? h->mall_bytes : 0;

    return most(most(0, w->bytes - held) / h->hbm_peak,
                r->warm ? w->bytes / h->mall_peak : 0) * 1e-6;
}

struct law {
    double us;               /* that it takes at least */
    const char *what;
};

kiln_status
kn_time_check(struct kn_ctx *c, const struct kn_time_chip *h,
              const struct kn_time_work *w, const struct kn_time_result *r)
{
    double clk_us = 1e-3 / h->fmax;
    const struct law laws[] = {
        { memory_us(h, w, r), "the bytes it touches at the memory's peak" },
        { w->left_l2 / h->mall_peak * 1e-6,
          "what its L2s read at the peak of the last-level cache" },
        { r->read_bytes / (h->l2_peak * h->xcds) * clk_us,
          "what its compute units read at the peak of the L2" },
        { w->mfma / 4 / h->cus * clk_us,
          "its matrix operations at the highest clock" },
        { (double)w->longest * h->slot * clk_us,
          "the instructions of one wave at the highest clock" },
    };

    for (size_t k = 0; k < sizeof laws / sizeof *laws; k++)
        if (r->us < slack * laws[k].us)
            return kn_fail(c, KILN_INTERNAL, "kiln's timing model is wrong "
                           "here: it comes to %.1f us, %s take %.1f", r->us,
                           laws[k].what, laws[k].us);
    if (r->rounds * w->slots < slack * w->groups)
        return kn_fail(c, KILN_INTERNAL, "kiln's timing model is wrong here: "
                       "%.2f rounds of %.0f slots for %.1f workgroups",
                       r->rounds, w->slots, w->groups);
    return KILN_OK;
}
