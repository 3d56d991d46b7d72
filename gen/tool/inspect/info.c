/* info.c - the facts of a code object, and `kilnc info`. */
#include "inspect.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../../../emit/isa/cfg.h"
#include "../cmd.h"
#include "../json.h"
#include "../run/run.h"

enum { SIMDS = 4, MAX_WAVES = 8, FILE_REGS = 512 };

/* Bytes of instruction cache two CUs share (CDNA3 white paper). */
enum { ICACHE = 65536 };

static const char *const units[] = {
    [KN_U_SALU] = "SALU", [KN_U_VALU] = "VALU", [KN_U_MFMA] = "MFMA",
    [KN_U_VMEM] = "VMEM", [KN_U_SMEM] = "SMEM", [KN_U_LDS] = "LDS",
    [KN_U_BRANCH] = "branch", [KN_U_INTERNAL] = "internal",
};

struct info {
    struct kn_ctx *c;
    struct kn_buf *text;
    struct kn_json j;
    const struct kn_object *o;
    struct kn_subject *s;
    struct kn_bank_facts banks;
    uint32_t waves;          /* of a workgroup */
};

/* Workgroups whose LDS a CU holds. */
static uint32_t
lds_groups(kiln_target t, uint64_t bytes)
{
    uint32_t granule = kn_targets[t].lds_granule;

    if (!granule)            /* of a target that is none of ours */
        return 0;
    bytes = (bytes + granule - 1) / granule * granule;
    return bytes ? (uint32_t)(kn_targets[t].lds / bytes) : UINT32_MAX;
}

/* Waves of a workgroup; a file's size of one may be any number. */
static uint32_t
waves_of(const struct kn_object_kernel *k)
{
    uint32_t most = k->max_workgroup ? k->max_workgroup : 256;

    return most / 64 + (most % 64 != 0);
}

struct kn_occupancy
kn_occupancy_of(kiln_target t, const struct kn_object_kernel *k,
                uint32_t dynamic_lds)
{
    uint32_t waves = waves_of(k);
    uint32_t fit = k->regs ? FILE_REGS / k->regs : MAX_WAVES;
    uint32_t by_lds = lds_groups(t, (uint64_t)k->lds + dynamic_lds);
    uint32_t slots = SIMDS * MAX_WAVES / waves;
    uint32_t by_regs = SIMDS * fit / waves;
    struct kn_occupancy o = { .workgroups_per_cu = slots,
                              .limit = "wave slots" };

    if (by_regs < o.workgroups_per_cu) {
        o.workgroups_per_cu = by_regs;
        o.limit = "registers";
    }
    if (by_lds < o.workgroups_per_cu) {
        o.workgroups_per_cu = by_lds;
        o.limit = "LDS";
    }
    o.waves_per_simd = (o.workgroups_per_cu * waves + SIMDS - 1) / SIMDS;
    return o;
}

static void
put_registers(struct info *f, const struct kn_object_kernel *k)
{
    kn_putf(f->text,
            "  registers %" PRIu32 " VGPR, %" PRIu32 " AGPR (%" PRIu32
            " allocated), %" PRIu32 " SGPR; spills: %" PRIu32 " VGPR, %"
            PRIu32 " SGPR\n",
            k->arch_vgpr, k->agpr, k->regs, k->sgpr, k->vgpr_spills,
            k->sgpr_spills);
    kn_putf(f->text,
            "  memory    %" PRIu32 " B LDS, %" PRIu32 " B scratch a lane\n",
            k->lds, k->scratch);
    kn_json_uint(&f->j, "vgpr", k->arch_vgpr);
    kn_json_uint(&f->j, "agpr", k->agpr);
    kn_json_uint(&f->j, "regs", k->regs);
    kn_json_uint(&f->j, "sgpr", k->sgpr);
    kn_json_uint(&f->j, "lds", k->lds);
    kn_json_uint(&f->j, "scratch", k->scratch);
    kn_json_uint(&f->j, "spills", (uint64_t)k->vgpr_spills + k->sgpr_spills);
    kn_json_uint(&f->j, "vgpr_spills", k->vgpr_spills);
    kn_json_uint(&f->j, "sgpr_spills", k->sgpr_spills);
    kn_json_uint(&f->j, "max_workgroup", k->max_workgroup);
}

static void
put_occupancy(struct info *f, const struct kn_object_kernel *k)
{
    struct kn_occupancy o = kn_occupancy_of(f->o->target, k, 0);

    if (f->o->target == KILN_TARGET_NONE)
        return;
    kn_putf(f->text,
            "  occupancy %" PRIu32 " wave%s a SIMD, %" PRIu32
            " workgroup%s of %" PRIu32 " a CU, limited by %s%s\n",
            o.waves_per_simd, o.waves_per_simd == 1 ? "" : "s",
            o.workgroups_per_cu, o.workgroups_per_cu == 1 ? "" : "s",
            k->max_workgroup ? k->max_workgroup : 256, o.limit,
            k->lds ? "" : " (dynamic LDS not counted)");
    kn_json_open(&f->j, "occupancy", '{');
    kn_json_uint(&f->j, "waves_per_simd", o.waves_per_simd);
    kn_json_uint(&f->j, "workgroups_per_cu", o.workgroups_per_cu);
    kn_json_str(&f->j, "limit", o.limit);
    kn_json_close(&f->j, '}');
}

static void
put_arg(struct info *f, const struct kn_kernel_arg *a)
{
    kn_putf(f->text, "    %5" PRIu32 " %4" PRIu32 "  %s%s%s\n", a->offset,
            a->size, a->value_kind, *a->name ? "  " : "", a->name);
    kn_json_open(&f->j, NULL, '{');
    kn_json_str(&f->j, "name", a->name);
    kn_json_str(&f->j, "kind", a->value_kind);
    kn_json_uint(&f->j, "offset", a->offset);
    kn_json_uint(&f->j, "size", a->size);
    kn_json_close(&f->j, '}');
}

static void
put_args(struct info *f, const struct kn_object_kernel *k)
{
    kn_putf(f->text, "  arguments %" PRIu32 " bytes", k->kernarg_size);
    if (k->preload_length)
        kn_putf(f->text, ", %" PRIu32 " dwords from dword %" PRIu32
                " preloaded", k->preload_length, k->preload_offset);
    kn_putf(f->text, "%s\n", k->nargs ? "; offset, bytes, kind, name:" : "");
    kn_json_uint(&f->j, "kernarg_size", k->kernarg_size);
    kn_json_uint(&f->j, "preload_dwords", k->preload_length);
    kn_json_open(&f->j, "args", '[');
    for (uint32_t i = 0; i < k->nargs; i++)
        put_arg(f, &k->args[i]);
    kn_json_close(&f->j, ']');
}

static void
put_units(struct info *f, const struct kn_census *t)
{
    kn_json_open(&f->j, "units", '{');
    for (int u = 0; u < KN_NUNITS; u++) {
        kn_json_uint(&f->j, units[u], t->unit[u]);
        if (t->unit[u])
            kn_putf(f->text, ", %" PRIu32 " %s", t->unit[u], units[u]);
    }
    kn_json_close(&f->j, '}');
    kn_json_uint(&f->j, "barriers", t->barriers);
    kn_json_uint(&f->j, "accvgpr_moves", t->accvgpr);
    kn_json_uint(&f->j, "mfma_cycles", t->mfma_cycles);
}

/* The instructions one counts: matrix, memory and LDS ones by mnemonic. */
static void
put_ops(struct info *f, const struct kn_census *t)
{
    kn_json_open(&f->j, "ops", '[');
    for (uint32_t i = 0; i < t->nops; i++) {
        const struct kn_census_op *o = &t->ops[i];
        uint8_t unit = kn_isa[o->op].unit;

        kn_json_open(&f->j, NULL, '{');
        kn_json_str(&f->j, "name", kn_isa[o->op].mnemonic);
        kn_json_bool(&f->j, "lds", o->lds);
        kn_json_uint(&f->j, "count", o->n);
        kn_json_close(&f->j, '}');
        if (unit == KN_U_MFMA || unit == KN_U_VMEM || unit == KN_U_LDS ||
            unit == KN_U_SMEM)
            kn_putf(f->text, "      %5" PRIu32 " %s%s\n", o->n,
                    kn_isa[o->op].mnemonic, o->lds ? " lds" : "");
    }
    kn_json_close(&f->j, ']');
}

static void
put_wait(struct info *f, const struct kn_census_wait *w)
{
    kn_putf(f->text, "      %5" PRIu32 " s_waitcnt", w->n);
    kn_json_open(&f->j, NULL, '{');
    if (w->vm < 63) {
        kn_putf(f->text, " vmcnt(%u)", w->vm);
        kn_json_uint(&f->j, "vmcnt", w->vm);
    }
    if (w->lgkm < 15) {
        kn_putf(f->text, " lgkmcnt(%u)", w->lgkm);
        kn_json_uint(&f->j, "lgkmcnt", w->lgkm);
    }
    if (w->exp < 7) {
        kn_putf(f->text, " expcnt(%u)", w->exp);
        kn_json_uint(&f->j, "expcnt", w->exp);
    }
    kn_put(f->text, "\n");
    kn_json_uint(&f->j, "count", w->n);
    kn_json_close(&f->j, '}');
}

static void
put_census(struct info *f, const struct kn_census *t)
{
    kn_json_uint(&f->j, "instructions", t->n);
    kn_json_uint(&f->j, "bytes", t->bytes);
    put_units(f, t);
    kn_put(f->text, "\n");
    put_ops(f, t);
    kn_json_open(&f->j, "waits", '[');
    for (uint32_t i = 0; i < t->nwaits; i++)
        put_wait(f, &t->waits[i]);
    kn_json_close(&f->j, ']');
    if (t->barriers)
        kn_putf(f->text, "      %5" PRIu32 " s_barrier\n", t->barriers);
    if (t->accvgpr)
        kn_putf(f->text, "      %5" PRIu32 " accumulator moves\n",
                t->accvgpr);
}

/* What an iteration computes, and how many there are. */
static void
put_work(struct info *f, const struct kn_cfg *g, uint32_t l)
{
    uint64_t flops = 0, times;
    int end;

    for (uint32_t i = 0; i < g->p->n; i++)
        if (kn_loop_contains(g, l, i))
            flops += kn_inst_flops(&g->p->inst[i]);
    times = kn_loop_bound(g, l, &end);
    if (flops)
        kn_putf(f->text, "      %" PRIu64 " FLOP an iteration of a wave, %"
                PRIu64 " of a workgroup of %" PRIu32 " waves\n", flops,
                flops * f->waves, f->waves);
    if (times)
        kn_putf(f->text, "      %" PRIu64 " iterations\n", times);
    else if (end >= 0)
        kn_putf(f->text, "      iterations: until s%d\n", end);
    kn_json_uint(&f->j, "flops_wave", flops);
    kn_json_uint(&f->j, "flops_workgroup", flops * f->waves);
    kn_json_uint(&f->j, "iterations", times);
    kn_json_int(&f->j, "bound_sgpr", end);
}

/* Each LDS access of the loop whose lanes' addresses the code gives away. */
static void
put_banks(struct info *f, const struct kn_cfg *g, uint32_t l)
{
    uint32_t n = 0, clean = 0;

    kn_json_open(&f->j, "lds_accesses", '[');
    for (uint32_t k = 0; k < f->banks.naccess; k++) {
        const struct kn_bank_access *a = &f->banks.access[k];
        uint64_t pc = g->p->inst[a->inst].pc;
        const char *name = kn_isa[g->p->inst[a->inst].op].mnemonic;

        if (!kn_loop_contains(g, l, a->inst))
            continue;
        n++;
        clean += a->clocks <= a->best;
        if (a->clocks > a->best)
            kn_putf(f->text, "      bank conflict at 0x%" PRIx64 ": %s takes "
                    "%" PRIu32 " clocks of the banks, not %" PRIu32 "%s%s\n",
                    pc, name, a->clocks, a->best,
                    f->s->place[a->inst] ? ", " : "",
                    f->s->place[a->inst] ? f->s->place[a->inst] : "");
        kn_json_open(&f->j, NULL, '{');
        kn_json_uint(&f->j, "pc", pc);
        kn_json_uint(&f->j, "clocks", a->clocks);
        kn_json_uint(&f->j, "best", a->best);
        kn_json_close(&f->j, '}');
    }
    kn_json_close(&f->j, ']');
    if (n)
        kn_putf(f->text, "      %" PRIu32 " of %" PRIu32 " decided LDS "
                "accesses have no bank conflict\n", clean, n);
}

/* The template lines a loop came from, by count. */
static void
put_places(struct info *f, const struct kn_cfg *g, uint32_t l)
{
    const char **place = KN_NEW(f->c, const char *, g->p->n + 1);
    uint32_t *count = KN_NEW(f->c, uint32_t, g->p->n + 1), n = 0;

    for (uint32_t i = 0; i < g->p->n; i++) {
        uint32_t k = 0;

        if (!f->s->place[i] || !kn_loop_contains(g, l, i))
            continue;
        while (k < n && strcmp(place[k], f->s->place[i]))
            k++;
        place[k] = f->s->place[i];
        n += k == n;
        count[k]++;
    }
    kn_json_open(&f->j, "from", '{');
    for (uint32_t k = 0; k < n; k++) {
        kn_putf(f->text, "      %5" PRIu32 " from %s\n", count[k], place[k]);
        kn_json_uint(&f->j, place[k], count[k]);
    }
    kn_json_close(&f->j, '}');
}

static kiln_status
put_loop(struct info *f, const struct kn_cfg *g, uint32_t l, bool main_loop)
{
    const struct kn_loop *q = &g->loops[l];
    const struct kn_block *b = &g->blocks[q->header];
    uint64_t pc = g->p->inst[b->first].pc;
    struct kn_census t;

    KN_TRY(kn_census_take(f->c, g, (int32_t)l, &t));
    kn_putf(f->text,
            "  %-9s at 0x%" PRIx64 ", depth %" PRIu32 ": %" PRIu32
            " instructions, %" PRIu32 " B, %" PRIu64 " MFMA cycles",
            main_loop ? "main loop" : "loop", pc, q->depth, t.n, t.bytes,
            t.mfma_cycles);
    kn_json_open(&f->j, NULL, '{');
    kn_json_uint(&f->j, "pc", pc);
    kn_json_uint(&f->j, "depth", q->depth);
    kn_json_bool(&f->j, "main", main_loop);
    put_census(f, &t);
    put_work(f, g, l);
    put_banks(f, g, l);
    put_places(f, g, l);
    kn_json_close(&f->j, '}');
    return KILN_OK;
}

/* A loop's description looks at the whole kernel: the first of them, outer
 * ones, and the main loop. */
static kiln_status
put_loops(struct info *f, const struct kn_cfg *g)
{
    enum { MOST = 256 };
    int32_t main_loop = kn_cfg_main_loop(g);
    uint32_t left = 0;

    kn_json_open(&f->j, "loops", '[');
    for (uint32_t l = 0; l < g->nloops; l++)
        if (l < MOST || (int32_t)l == main_loop)
            KN_TRY(put_loop(f, g, l, (int32_t)l == main_loop));
        else
            left++;
    kn_json_close(&f->j, ']');
    kn_json_uint(&f->j, "loops_left_out", left);
    if (left)
        kn_putf(f->text, "  note      %" PRIu32 " loops more are not "
                "described\n", left);
    if (g->irreducible)
        kn_put(f->text, "  note      a cycle with two entries is no loop\n");
    if (g->indirect)
        kn_put(f->text, "  note      a jump has an unknown target\n");
    kn_json_bool(&f->j, "irreducible", g->irreducible);
    kn_json_bool(&f->j, "indirect", g->indirect);
    return KILN_OK;
}

/* Every instruction, padding and all, for those who count for themselves. */
static kiln_status
put_all(struct info *f, const struct kn_cfg *g)
{
    struct kn_buf *text = f->text, unseen = { .c = f->c };
    struct kn_census t;

    KN_TRY(kn_census_take(f->c, g, KN_CENSUS_ALL, &t));
    f->text = &unseen;
    kn_json_open(&f->j, "all", '{');
    put_census(f, &t);
    kn_json_close(&f->j, '}');
    f->text = text;
    return KILN_OK;
}

static kiln_status
put_code(struct info *f, const struct kn_object_kernel *k)
{
    const struct kn_cfg *g = &f->s->g;
    struct kn_census t;

    kn_json_uint(&f->j, "code_bytes", k->code_size);
    kn_putf(f->text, "  code      %" PRIu64 " bytes, %.0f %% of the "
            "instruction cache", k->code_size,
            100.0 * (double)k->code_size / (double)ICACHE);
    if (f->o->target == KILN_TARGET_NONE) {
        kn_put(f->text, "\n");
        return KILN_OK;
    }
    KN_TRY(kn_subject_decode(f->c, f->s, k));
    KN_TRY(kn_banks_find(f->c, g, &f->banks));
    f->waves = waves_of(k);
    KN_TRY(put_all(f, g));
    KN_TRY(kn_census_take(f->c, g, KN_CENSUS_REACHED, &t));
    kn_putf(f->text, "; %" PRIu32 " instructions reached", t.n);
    kn_json_uint(&f->j, "instructions", g->p->n);
    kn_json_open(&f->j, "reached", '{');
    put_census(f, &t);
    kn_json_close(&f->j, '}');
    return put_loops(f, g);
}

static kiln_status
put_kernel(struct info *f, const char *key, const struct kn_object_kernel *k)
{
    kn_putf(f->text, "kernel    %s\n", k->name);
    kn_json_open(&f->j, key, '{');
    kn_json_str(&f->j, "name", k->name);
    put_registers(f, k);
    put_occupancy(f, k);
    put_args(f, k);
    KN_TRY(put_code(f, k));
    kn_json_close(&f->j, '}');
    return KILN_OK;
}

static void
put_file(struct info *f, const char *name)
{
    const struct kn_object *o = f->o;
    const char *target = o->target ? kiln_target_name(o->target)
                                   : "unknown target";

    kn_putf(f->text, "file      %s: %s, code object V%u, %s, %" PRIu32
            " kernel%s\n", name, target, o->abi + 2u,
            o->relocatable ? "relocatable" : "linked", o->nkernels,
            o->nkernels == 1 ? "" : "s");
    kn_json_str(&f->j, "file", name);
    kn_json_str(&f->j, "arch", target);
    kn_json_uint(&f->j, "code_object", o->abi + 2u);
    kn_json_uint(&f->j, "e_flags", o->e_flags);
    kn_json_bool(&f->j, "relocatable", o->relocatable);
}

/* What a kernel of kiln says of itself. */
static kiln_status
put_stamp(struct info *f)
{
    struct kn_stamp made;
    const char *text;

    KN_TRY(kn_object_stamped(f->c, f->s->bytes, f->s->size, &text));
    if (!text || !kn_stamp_read(f->c, text, &made))
        return KILN_OK;
    kn_putf(f->text, "made by   %s\nproblem   %s\nconfig    %s\n", made.by,
            made.problem, made.config);
    kn_json_open(&f->j, "made", '{');
    kn_json_str(&f->j, "by", made.by);
    kn_json_str(&f->j, "problem", made.problem);
    kn_json_str(&f->j, "config", made.config);
    kn_json_close(&f->j, '}');
    return KILN_OK;
}

/* What a debugger is told. */
static kiln_status
put_debug(struct info *f)
{
    struct kn_dwarf *lines;

    if (f->o->relocatable)
        return KILN_OK;
    KN_TRY(kn_dwarf_read(f->c, f->s->bytes, f->s->size, &lines));
    kn_json_uint(&f->j, "debug_lines", kn_dwarf_rows(lines));
    if (lines)
        kn_putf(f->text, "debug     a line table of %zu rows\n",
                kn_dwarf_rows(lines));
    return KILN_OK;
}

kiln_status
kn_info_print(const char *name, const void *bytes, size_t size, bool json,
              struct kn_buf *out)
{
    struct kn_subject s = { .name = name, .bytes = bytes, .size = size };

    KN_TRY(kn_object_read(out->c, name, bytes, size, &s.o));
    return kn_info_subject(&s, json, out);
}

kiln_status
kn_info_subject(struct kn_subject *s, bool json, struct kn_buf *out)
{
    struct kn_ctx *c = out->c;
    struct kn_buf text = { .c = c };
    struct info f = { .c = c, .text = &text, .j = { .b = { .c = c } },
                      .o = &s->o, .s = s };

    kn_json_open(&f.j, NULL, '{');
    put_file(&f, s->name);
    KN_TRY(put_stamp(&f));
    KN_TRY(put_debug(&f));
    if (s->o.nkernels == 1) {
        KN_TRY(put_kernel(&f, "kernel", &s->o.kernels[0]));
    } else {
        kn_json_open(&f.j, "kernels", '[');
        for (uint32_t i = 0; i < s->o.nkernels; i++)
            KN_TRY(put_kernel(&f, NULL, &s->o.kernels[i]));
        kn_json_close(&f.j, ']');
    }
    kn_json_close(&f.j, '}');
    kn_put(out, json ? f.j.b.s : text.s);
    return KILN_OK;
}

/* ---- the command ---- */

/* By its first bytes; a file that cannot be read is somebody else's to name. */
static bool
is_bundle(const char *path)
{
    char bytes[8];
    FILE *f = fopen(path, "rb");
    size_t n = f ? fread(bytes, 1, sizeof bytes, f) : 0;

    if (f)
        fclose(f);
    return kn_is_bundle(bytes, n);
}

kiln_status
kn_cmd_info(struct kn_tool *t)
{
    struct kn_json j = { .b = { .c = t->c } };
    struct kn_subject *s = KN_NEW(t->c, struct kn_subject, 1);

    if (is_bundle(t->cli->pos[0]))
        return kn_bundle_view(t, t->cli->pos[0]);
    KN_TRY(kn_subject_read(t, t->cli->pos[0], s));
    if (!t->cli->v[KN_FLAG_json].seen)
        return kn_info_subject(s, false, t->text);
    KN_TRY(kn_info_subject(s, true, &j.b));
    return kn_report_write(t, &j);
}
