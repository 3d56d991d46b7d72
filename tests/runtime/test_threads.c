/* test_threads.c - eight threads compile, look up, launch, at once. Also run
 * under ThreadSanitizer. */
#include "../kit/api.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { THREADS = 8, ROUNDS = 3 };

static struct {
    kiln_context *x;
    kiln_device *d;
    pthread_barrier_t start;
    pthread_mutex_t lock;
    int compiled, failed;
    char text[300];
} t;

static void
count(void *user, kiln_log_level level, const char *text)
{
    (void)user;
    if (level == KILN_LOG_INFO && !strncmp(text, "compiled ", 9)) {
        pthread_mutex_lock(&t.lock);
        t.compiled++;
        pthread_mutex_unlock(&t.lock);
    }
}

static void
note(kiln_status s, const kiln_error *e)
{
    if (!s)
        return;
    pthread_mutex_lock(&t.lock);
    t.failed++;
    snprintf(t.text, sizeof t.text, "%s", e->text);
    pthread_mutex_unlock(&t.lock);
}

static const char *const tiles[] = { "tile=32x32x64", "tile=64x32x64",
                                     "tile=32x64x64" };

static kiln_status
launch(kiln_kernel *k, const kiln_problem *p, const struct operands *o,
       kiln_error *e)
{
    kiln_function *f = NULL;
    kiln_plan plan;
    kiln_status s = kiln_load(t.d, k, &f, e);

    if (!s)
        s = kiln_make_plan(k, p, &plan, e);
    if (!s)
        s = kiln_launch(f, &plan, &o->args, e);
    kiln_unload(f);
    return s;
}

static void *
work(void *user)
{
    struct operands *o = user;
    kiln_problem p = o->p;
    kiln_error e;

    pthread_barrier_wait(&t.start);
    for (int i = 0; i < ROUNDS; i++)
        for (size_t c = 0; c < sizeof tiles / sizeof *tiles; c++) {
            kiln_kernel *k = NULL;
            kiln_status s = kiln_compile(t.x, &p, tiles[c], &k, &e);

            if (!s)
                s = launch(k, &p, o, &e);
            note(s, &e);
            kiln_release(k);
            note(kiln_run(t.d, &p, &o->args, &e), &e);
        }
    return NULL;
}

static void
eight_threads(void **state)
{
    kiln_options options = { .size = sizeof options, .flags = KILN_NO_DISK,
                             .log = count };
    struct operands o[THREADS];
    pthread_t thread[THREADS];
    kiln_error e;

    (void)state;
    pthread_mutex_init(&t.lock, NULL);
    pthread_barrier_init(&t.start, NULL, THREADS);
    assert_ok(kiln_open(&options, &t.x, &e), &e);
    t.d = open_device(t.x, "sim:gfx950");
    for (int i = 0; i < THREADS; i++) {
        kiln_problem p = small_problem(33 + i, 36, 70);

        make_operands(&o[i], t.d, &p);
    }
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, work, &o[i]), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    if (t.failed)
        fail_msg("%d calls failed, the last: %s", t.failed, t.text);
    for (int i = 0; i < THREADS; i++) {
        check_output(&o[i]);
        drop_operands(&o[i]);
    }
    /* Each kernel was compiled by one thread, the others waited for it; one
     * more is that of kiln_run, which may be one of the three. */
    assert_in_range(t.compiled, 3, 4);
    kiln_close_device(t.d);
    kiln_close(t.x);
}

int
main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(eight_threads) };

    return cmocka_run_group_tests_name("runtime-threads", tests, NULL, NULL);
}
