/* gpu_facts.c - what a report has to say of a GPU for its times to be worth
 * something: HIP's facts, and what the kernel's driver tells in /sys. */
#include <string.h>

#include "../../../runtime/file.h"
#include "session.h"

/* A file of the driver's, NULL without it. */
static const char *
driver_file(struct kn_ctx *c, const char *path)
{
    const char *text = NULL;
    struct kn_ctx own;
    uint8_t *bytes;
    size_t size = 0;

    kn_ctx_init(&own, c->realloc, c->user);
    if (!kn_file_read(&own, path, &bytes, &size))
        text = kn_strndup(c, (const char *)bytes, size);
    kn_ctx_free(&own);
    return text;
}

static const char *
file_of_card(struct kn_ctx *c, const char *bus, const char *name)
{
    struct kn_buf path = { .c = c };

    kn_putf(&path, "/sys/bus/pci/devices/%s/%s", bus, name);
    return driver_file(c, path.s);
}

static const char *
first_line(struct kn_ctx *c, const char *text)
{
    return kn_strndup(c, text, strcspn(text, "\n"));
}

/* "1: 2400Mhz *": the line with the star is the clock now. */
static const char *
starred(struct kn_ctx *c, const char *text)
{
    for (const char *l = text; *l; l += strcspn(l, "\n"), l += *l == '\n') {
        size_t n = strcspn(l, "\n"), to = strcspn(l, "*"), from = 0;

        if (to >= n)
            continue;
        from = strcspn(l, ":") + 1;
        from += strspn(l + from, " ");
        while (to > from && l[to - 1] == ' ')
            to--;
        return from < to ? kn_strndup(c, l + from, to - from) : NULL;
    }
    return NULL;
}

const char *
kn_gpu_clock(struct kn_ctx *c, const struct kn_device *d)
{
    const char *text = file_of_card(c, d->info.bus, "pp_dpm_sclk");

    return text ? starred(c, text) : NULL;
}

static void
put_driver(struct kn_json *j, struct kn_ctx *c, const char *bus)
{
    static const struct { const char *key, *file; } of_card[] = {
        { "compute_partition", "current_compute_partition" },
        { "memory_partition", "current_memory_partition" },
        { "vbios", "vbios_version" },
    };
    const char *text = driver_file(c, "/sys/module/amdgpu/version");

    if (text)
        kn_json_str(j, "amdgpu", first_line(c, text));
    for (size_t i = 0; i < sizeof of_card / sizeof *of_card; i++) {
        text = file_of_card(c, bus, of_card[i].file);
        if (text)
            kn_json_str(j, of_card[i].key, first_line(c, text));
    }
}

void
kn_put_gpu(struct kn_json *j, struct kn_ctx *c, const struct kn_device *d)
{
    const struct kn_hip_device *f = &d->facts;
    const char *clock = kn_gpu_clock(c, d);

    kn_json_str(j, "name", d->info.name);
    kn_json_str(j, "arch", kiln_target_name(d->info.target));
    kn_json_str(j, "bus", d->info.bus);
    kn_json_int(j, "cus", f->cus);
    kn_json_int(j, "xcds", f->xcds);
    kn_json_int(j, "clock_khz", f->clock_khz);
    kn_json_int(j, "memory_khz", f->memory_khz);
    kn_json_uint(j, "memory", f->memory);
    kn_json_int(j, "hip_runtime", f->runtime);
    kn_json_int(j, "hip_driver", f->driver);
    kn_json_str(j, "reader", f->reader);
    if (clock)
        kn_json_str(j, "clock_now", clock);
    put_driver(j, c, d->info.bus);
}
