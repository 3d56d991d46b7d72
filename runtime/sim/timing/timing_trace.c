/* timing_trace.c - the replay of one compute unit as a Chrome trace (JSON
 * object format, which Perfetto reads). A clock is written as a microsecond;
 * the first events are kept, enough for some iterations of a loop. */
#include "timing_cu.h"

static const struct {
    const char *process, *thread;
    bool many;
} tracks[] = {
#define X(id, process, thread, many) { process, thread, many },
    KN_TRACKS(X)
#undef X
};

void
kn_trace_open(struct kn_time_trace *t, const struct kn_time_model *m,
              struct kn_buf *out)
{
    *t = (struct kn_time_trace){ .out = out, .program = &m->program,
                                 .place = m->q->place };
    kn_put(out, "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"content\":"
                "\"predicted: one compute unit, 1 us here is one clock\"},"
                "\"traceEvents\":[\n");
    for (unsigned k = 0; k < KN_NTRACKS; k++)
        kn_putf(out, "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%u,"
                "\"args\":{\"name\":\"%s\"}},\n", k + 1, tracks[k].process);
}

void
kn_trace_close(struct kn_time_trace *t)
{
    kn_putf(t->out, "{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":1,"
            "\"args\":{\"sort_index\":0}}\n]}\n");
}

static void
name_thread(struct kn_time_trace *t, enum kn_track track, unsigned n)
{
    uint64_t bit = (uint64_t)1 << (n & 63);

    if (t->named[track] & bit)
        return;
    t->named[track] |= bit;
    kn_putf(t->out, "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%u,"
            "\"tid\":%u,\"args\":{\"name\":\"%s %u\"}},\n", track + 1, n,
            tracks[track].thread, n);
}

/* The instruction behind a span: its address, where it comes from. */
static void
put_inst(struct kn_time_trace *t, uint32_t inst)
{
    const char *place = t->place ? t->place[inst] : NULL;

    kn_putf(t->out, "\"args\":{\"pc\":\"0x%llx\"",
            (unsigned long long)t->program->inst[inst].pc);
    if (place)
        kn_putf(t->out, ",\"from\":\"%s\"", place);
    kn_put(t->out, "}},\n");
}

/* What every event begins with; an asynchronous one has a number. */
static void
put_head(struct kn_time_trace *t, enum kn_track track, unsigned n, char phase,
         uint64_t at)
{
    kn_putf(t->out, "{\"ph\":\"%c\",\"pid\":%u,\"tid\":%u,\"ts\":%llu,",
            phase, track + 1, n, (unsigned long long)at);
    if (tracks[track].many)
        kn_putf(t->out, "\"cat\":\"%s\",\"id\":%llu,", tracks[track].thread,
                (unsigned long long)t->events);
}

void
kn_trace_span(struct kn_time_trace *t, enum kn_track track, unsigned n,
              const char *name, const struct kn_span *s)
{
    bool many = tracks[track].many;

    if (!t || t->events >= KN_TRACE_EVENTS || s->to <= s->from)
        return;
    t->events++;
    name_thread(t, track, n);
    if (!name)
        name = kn_isa[t->program->inst[s->inst].op].mnemonic;
    put_head(t, track, n, many ? 'b' : 'X', s->from);
    kn_putf(t->out, "\"name\":\"%s\",\"dur\":%llu,", name,
            (unsigned long long)(s->to - s->from));
    put_inst(t, s->inst);
    if (many) {
        put_head(t, track, n, 'e', s->to);
        kn_putf(t->out, "\"name\":\"%s\"},\n", name);
    }
}
