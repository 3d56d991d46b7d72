/* test_nodes.c - one cache folder and many nodes: processes of other hosts, writers
 * that are killed, clocks that differ, entries that come and go. */
#define _GNU_SOURCE             /* unshare, sethostname */
#include "../kit/api.h"

#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char folder[64];

static int
setup(void **state)
{
    (void)state;
    make_folder(folder);
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    drop_folder(folder);
    return 0;
}

static void
wait_for(pid_t child, int want)
{
    int status;

    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, want);
}

/* A node of its own: another host name, and its processes' numbers begin anew,
 * so that those of two nodes are alike. Not root: a process like others. */
static pid_t
node(int number, int (*work)(void))
{
    pid_t outer = fork(), inner;
    char name[16];
    int status;

    if (outer)
        return outer;
    snprintf(name, sizeof name, "node%d", number);
    if (unshare(CLONE_NEWUTS | CLONE_NEWPID) ||
        sethostname(name, strlen(name)))
        _exit(work());
    inner = fork();
    if (!inner)
        _exit(work());
    waitpid(inner, &status, 0);
    _exit(status ? 1 : 0);
}

static int
use_quietly(void)
{
    static struct got g;

    get_kernel(&g, folder, 0);
    return g.status || g.log.lines;
}

/* A writer whose temporary files may vanish: the result is there, told or not. */
static int
use(void)
{
    static struct got g;

    get_kernel(&g, folder, 0);
    return g.status || g.log.lines > 1;
}

static void
nodes_share_a_folder(void **state)
{
    enum { N = 6 };
    pid_t child[N];

    (void)state;
    for (int i = 0; i < N; i++)
        child[i] = node(i, use_quietly);
    for (int i = 0; i < N; i++)
        wait_for(child[i], 0);
    assert_int_equal(count_files(folder, ""), 2);
    expect_kernel(folder, KILN_STRICT, KILN_FROM_DISK, 0);
}

/* The size limit ends the process in the midst of its write, as kill -9 does. */
static void
die_writing(void)
{
    static struct got g;
    const struct rlimit little = { 2000, 2000 };

    signal(SIGXFSZ, SIG_DFL);
    setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
    setrlimit(RLIMIT_FSIZE, &little);
    get_kernel(&g, folder, 0);
    _exit(0);
}

/* Sets how long ago a file was written, by the clock of its server. */
static void
set_age(const char *path, long seconds)
{
    const time_t then = time(NULL) - seconds;
    const struct timeval both[2] = { { .tv_sec = then }, { .tv_sec = then } };

    assert_int_equal(utimes(path, both), 0);
}

/* What a killed writer leaves is no entry, and goes an hour later, when the name
 * is written again; a clock that is behind takes nothing away. */
static void
killed_writers_leave_no_entry(void **state)
{
    char path[512], json[512];
    struct stat st;
    pid_t child;

    (void)state;
    child = fork();
    if (!child)
        die_writing();
    wait_for(child, SIGXFSZ);
    assert_int_equal(count_files(folder, ".tmp"), 1);
    assert_int_equal(count_files(folder, ""), 1);
    find_file(folder, ".tmp", path);
    assert_int_equal(stat(path, &st), 0);
    assert_true(st.st_size > 0 && st.st_size <= 2000);
    set_age(path, -86400);               /* the server's clock is ahead */
    expect_kernel(folder, 0, KILN_FROM_COMPILER, 0);
    expect_kernel(folder, KILN_STRICT, KILN_FROM_DISK, 0);
    assert_int_equal(count_files(folder, ".tmp"), 1);
    set_age(path, 7200);
    find_file(folder, ".json", json);
    unlink(json);
    expect_kernel(folder, 0, KILN_FROM_COMPILER, 0);
    assert_int_equal(count_files(folder, ".tmp"), 0);
}

static void
killed_at_any_time(void **state)
{
    enum { N = 12 };
    static struct got g;

    (void)state;
    for (int i = 0; i < N; i++) {
        pid_t child = fork();
        int status;

        if (!child)
            _exit(use());
        usleep((useconds_t)(40000 * i));
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
        get_kernel(&g, folder, KILN_RUN_ONLY);
        assert_true(g.status == KILN_OK || g.status == KILN_NOT_FOUND);
        if (i % 3 == 2) {
            get_kernel(&g, folder, 0);
            assert_ok(g.status, &g.error);
        }
    }
    expect_kernel(folder, KILN_STRICT, KILN_FROM_DISK, 0);
}

/* A node whose clock is hours ahead takes the temporary files of the others for
 * old ones. */
static void
sweep_all(void)
{
    for (;;) {
        DIR *d = opendir(folder);
        struct dirent *e;

        while (d && (e = readdir(d)))
            if (strstr(e->d_name, ".tmp"))
                unlinkat(dirfd(d), e->d_name, 0);
        if (d)
            closedir(d);
    }
}

static void
clocks_may_differ(void **state)
{
    pid_t ahead = fork(), child[3];
    char path[512];

    (void)state;
    if (!ahead)
        sweep_all();
    for (int i = 0; i < 3; i++)
        child[i] = node(i, use);
    for (int i = 0; i < 3; i++)
        wait_for(child[i], 0);
    kill(ahead, SIGKILL);
    wait_for(ahead, SIGKILL);
    assert_false(use());
    find_file(folder, ".co", path);
    set_age(path, -86400);
    find_file(folder, ".json", path);
    set_age(path, 10 * 365 * 86400L);
    expect_kernel(folder, KILN_STRICT, KILN_FROM_DISK, 0);
}

/* Entries come and go, as an NFS client sees it whose names are cached: what is
 * read is whole, or not there. */
static void
readers_see_whole_entries(void **state)
{
    static struct got want, g;
    char co[512], json[512];
    pid_t writer;

    (void)state;
    get_kernel(&want, folder, 0);
    find_file(folder, ".co", co);
    find_file(folder, ".json", json);
    writer = fork();
    if (!writer)
        for (int i = 0; i < 8; i++) {
            unlink(i % 2 ? co : json);
            if (use())
                _exit(1);
            if (i == 7)
                _exit(0);
        }
    for (int i = 0; i < 60; i++) {
        get_kernel(&g, folder, KILN_RUN_ONLY);
        assert_true(g.status == KILN_OK || g.status == KILN_NOT_FOUND);
        if (!g.status)
            assert_memory_equal(g.code, want.code, want.size);
        usleep(20000);
    }
    wait_for(writer, 0);
    expect_kernel(folder, KILN_STRICT, KILN_FROM_DISK, 0);
}

int
main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(nodes_share_a_folder),
        CASE(killed_writers_leave_no_entry),
        CASE(killed_at_any_time),
        CASE(clocks_may_differ),
        CASE(readers_see_whole_entries),
    };

    return cmocka_run_group_tests_name("runtime-nodes", tests, NULL, NULL);
}
