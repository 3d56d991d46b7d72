/* gate_plan.h - from a wave-level kernel to the demands of the gates. */
#ifndef KN_DEMAND_H
#define KN_DEMAND_H

#include "../emit/prove/gates.h"
#include "../ir/ir.h"

struct kn_gate_plan kn_gate_demand(struct kn_ctx *c, const struct kn_fn *f);

#endif
