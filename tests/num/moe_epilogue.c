/* moe_epilogue.c - what moe's stages do with their sums besides storing them: rounded
 * at random, by the rows that ids name; columns of an expert, arrays by row and tensors
 * in an expression; an amax and a second output. */
#include "moe.h"

static void
run_each(const char *const *how, size_t n)
{
    char line[400];

    for (size_t h = 0; h < 2 * n; h++) {
        snprintf(line, sizeof line, "--hidden 352 --inter 256 --experts 6 --topk 3 "
                 "--tokens 23 --arch gfx9%s %s", h % 2 ? "42" : "50", how[h / 2]);
        expect_run(line, h % 2 && strstr(how[h / 2], "--out mx") ? KILN_UNSUPPORTED : KILN_OK);
    }
}

static void
at_random(void **state)
{
    static const char *const how[] = {
        "--stage gemm1 --round stochastic --round-seed 3",
        "--stage gemm1 --a f16 --out f16 --ids plain --round stochastic",
        "--stage gemm1 --a fp8 --scale row --out fp8 --out-scale block128 --block-m 32 "
        "--round stochastic --round-seed 11 --waves 2x2",
        "--stage gemm1 --a bf16 --out mxfp4 --round stochastic --round-seed 5",
        "--stage gemm1 --a bf16 --out mxfp8 --block-m 32 --requant round-up "
        "--round stochastic --round-seed 5",
        "--stage gemm2 --a fp8 --round stochastic --round-seed 4000000000 --cus 3",
        "--stage gemm2 --data exact --round stochastic --round-seed 3 --weight none",
        "--round stochastic --round-seed 3", "--a mxfp8 --round stochastic",
    };

    (void)state;
    run_each(how, sizeof how / sizeof *how);
    expect_run("--a fp8 --hidden 351 --inter 96 --experts 6 --topk 3 --tokens 23 --out f16 "
               "--ids plain --round stochastic --round-seed 8", KILN_OK);
    expect_run("--stage gemm2 --out f32 --round stochastic --hidden 64 --inter 64 "
               "--experts 3 --topk 1 --tokens 9", KILN_BAD_INPUT);
    expect_run("--stage gemm2 --reduce atomic --round stochastic --hidden 64 --inter "
               "64 --experts 3 --topk 1 --tokens 9", KILN_UNSUPPORTED);
}

/* Columns of an expert each, of gate's and up's sums and of what becomes of them. */
static void
columns(void **state)
{
    static const char *const how[] = {
        "--stage gemm1 --epilogue swiglu(gate*g,up*u) --col g --col u",
        "--stage gemm1 --epilogue swiglu_oss(gate+gate_bias,up+up_bias)*w*k --col w "
        "--scalar k=0.5 --b-layout preshuffled --ids plain",
        "--stage gemm1 --epilogue a*gate+b*up+e*d --col a --col b --col d --scalar e=3 "
        "--cus 3 --weight before",
        "--stage gemm1 --a fp8 --scale row --out fp8 --out-scale block128 --epilogue "
        "gelu(gate)*up*smooth --col smooth --block-m 32",
        "--stage gemm1 --a fp8 --schedule direct --block-m 16 --epilogue silu(gate)*up*w "
        "--col w",
        "--epilogue silu(gate)*up*w --col w",
    };

    (void)state;
    run_each(how, sizeof how / sizeof *how);
}

/* Arrays by the output's rows, which ids name, and of its shape. */
static void
rows_and_tensors(void **state)
{
    static const char *const how[] = {
        "--stage gemm1 --epilogue silu(gate)*up*r --row r --ids plain --out2 f32",
        "--stage gemm1 --epilogue silu(gate)*up+t --tensor t --ldc 300 --block-m 64",
        "--stage gemm1 --epilogue a*gate+b*up*c1+t --tensor t --row a --row b --col c1 "
        "--cus 3 --weight before --out f32",
        "--stage gemm1 --a fp8 --scale row --out fp8 --out-scale block128 --epilogue "
        "gelu(gate*r)*up --row r --block-m 32",
        "--stage gemm1 --a bf16 --out mxfp8 --epilogue silu(gate)*up*r --row r",
        "--stage gemm1 --a fp8 --schedule direct --block-m 16 --epilogue silu(gate)*up*r+t "
        "--row r --tensor t --out f16 --amax",
        "--epilogue silu(gate)*up*r+t --row r --tensor t --b-layout preshuffled",
    };

    (void)state;
    run_each(how, sizeof how / sizeof *how);
    expect_run("--stage gemm1 --a bf16 --hidden 7168 --inter 64 --experts 64 --topk 2 "
               "--tokens 320000 --block-m 32 --wg sample:4 --epilogue silu(gate)*up*r+t "
               "--row r --tensor t", KILN_OK);
    expect_run("--stage gemm1 --out mxfp8 --epilogue gate*up+t --tensor t --hidden 64 "
               "--inter 64 --experts 3 --topk 1 --tokens 9", KILN_UNSUPPORTED);
    expect_run("--stage gemm1 --epilogue gate*up*r --row r --hidden 64 --inter 64 "
               "--experts 3 --topk 255 --tokens 16000000", KILN_UNSUPPORTED);
}

/* Of gemm2, before the routing weight; what is added atomically too. */
static void
of_down(void **state)
{
    static const char *const how[] = {
        "--stage gemm2 --epilogue (acc+bias)*s*k --col s --scalar k=0.5",
        "--stage gemm2 --epilogue gelu(acc) --reduce atomic --ids plain",
        "--stage gemm2 --epilogue acc*s+r --col s --row r --reduce atomic --cus 3",
        "--stage gemm2 --epilogue acc*r+t --row r --tensor t --ldc 400 --out f32 --weight none",
        "--stage gemm2 --a fp8 --scale row --epilogue acc*s+bias --col s --amax --out2 f32 "
        "--b-layout preshuffled",
        "--stage gemm2 --a i8 --epilogue acc+bias*s --col s --block-m 32 --data exact",
        "--stage gemm2 --a fp8 --schedule direct --block-m 16 --epilogue max(acc*s,bias) "
        "--col s --round stochastic",
    };

    (void)state;
    run_each(how, sizeof how / sizeof *how);
    expect_run("--epilogue acc*s --col s --hidden 64 --inter 64 --experts 3 --topk 1 "
               "--tokens 9", KILN_UNSUPPORTED);
    expect_run("--stage gemm2 --epilogue gate*up --hidden 64 --inter 64 --experts 3 "
               "--topk 1 --tokens 9", KILN_UNSUPPORTED);
    expect_run("--stage gemm2 --epilogue acc+t --tensor t --reduce atomic --hidden 64 "
               "--inter 64 --experts 3 --topk 1 --tokens 9", KILN_UNSUPPORTED);
}

/* Of padding rows rcp makes infinities, which count for nothing. */
static void
beside(void **state)
{
    static const char *const how[] = {
        "--stage gemm1 --amax --epilogue rcp(gate)*0.001+up",
        "--stage gemm1 --a f16 --out f16 --ids plain --amax --out2 f32 --epilogue bias",
        "--stage gemm1 --a fp8 --scale row --out fp8 --out-scale block128 --amax --out2 bf16",
        "--stage gemm1 --a bf16 --out mxfp4 --amax --out2 f16",
        "--stage gemm2 --amax --out2 f32 --cus 3 --epilogue bias",
    };

    (void)state;
    run_each(how, sizeof how / sizeof *how);
    expect_run("--stage gemm2 --reduce atomic --amax --hidden 64 --inter 64 --experts 3 "
               "--topk 1 --tokens 9", KILN_UNSUPPORTED);
    expect_run("--amax --hidden 64 --inter 64 --experts 3 --topk 1 --tokens 9",
               KILN_BAD_INPUT);
}

/* What the output holds: of a slot's row in an expression, of a token's where memory or
 * the reduction adds to it. */
static void
of_c(void **state)
{
    static const char *const how[] = {
        "--stage gemm1 --epilogue silu(gate)*up+c --ids plain",
        "--stage gemm1 --epilogue gate*up*c+t --tensor t --ldc 300 --block-m 64 --out f32",
        "--stage gemm1 --a fp8 --schedule direct --block-m 16 --epilogue c+gate*up --out f16",
        "--stage gemm1 --epilogue c+gate*up --weight before --out f16 --round stochastic",
        "--stage gemm2 --beta 1 --cus 3", "--stage gemm2 --beta 0.5 --a fp8 --scale row",
        "--stage gemm2 --beta 1 --epilogue bias --block-m 32 --amax --out2 f32",
        "--stage gemm2 --epilogue max(acc,c)*s --col s --ldc 400 --weight none",
        "--stage gemm2 --beta 1 --reduce atomic", "--beta 1", "--beta 1 --reduce atomic",
        "--stage gemm2 --beta 1 --reduce atomic --data exact --epilogue bias --ldc 400",
        "--stage gemm2 --beta 1 --reduce atomic --epilogue acc*r --row r",
        "--beta 1 --round stochastic --out f16 --a f16", "--beta 1 --a mxfp8",
    };

    (void)state;
    run_each(how, sizeof how / sizeof *how);
    expect_run("--hidden 351 --inter 97 --experts 6 --topk 3 --tokens 23 --out f32 --beta 1",
               KILN_OK);
    expect_run("--stage gemm1 --a bf16 --hidden 7168 --inter 64 --experts 64 --topk 2 "
               "--tokens 320000 --block-m 32 --wg sample:4 --epilogue silu(gate)*up+c",
               KILN_OK);
    expect_run("--stage gemm2 --reduce atomic --epilogue acc+c --hidden 64 --inter 64 "
               "--experts 3 --topk 1 --tokens 9", KILN_UNSUPPORTED);
    expect_run("--stage gemm1 --beta 1 --hidden 64 --inter 64 --experts 3 --topk 1 "
               "--tokens 9", KILN_BAD_INPUT);
    expect_run("--epilogue gate*up+c --hidden 64 --inter 64 --experts 3 --topk 1 "
               "--tokens 9", KILN_BAD_INPUT);
    expect_run("--stage gemm1 --epilogue gate*up+c --out mxfp8 --hidden 64 --inter 64 "
               "--experts 3 --topk 1 --tokens 9", KILN_UNSUPPORTED);
}

/* What the expression says of aux goes to the second output, before the weight. */
static void
of_aux(void **state)
{
    static const char *const how[] = {
        "--stage gemm2 --epilogue aux:acc+bias,gelu(aux) --out2 f32",
        "--stage gemm2 --epilogue aux:acc*s+r,relu(aux)*k+c --col s --row r --scalar k=2 "
        "--out2 bf16 --ids plain --amax",
        "--stage gemm2 --a fp8 --schedule direct --block-m 16 --epilogue "
        "aux:acc+c,silu(aux) --out2 f16 --ldc 400",
        "--stage gemm2 --a i8 --epilogue aux:acc,aux*t --tensor t --out2 f32 --cus 3 --out f32",
        "--stage gemm1 --epilogue aux:gate+gate_bias,up+up_bias,swiglu(aux_gate,aux_up) --out2 "
        "bf16 --ldc 400",
        "--stage gemm1 --a fp8 --epilogue aux:gate*r,up+c,situ(aux_gate,aux_up) --row r --out2 "
        "f32 --ids plain --weight before",
    };

    (void)state;
    run_each(how, sizeof how / sizeof *how);
    expect_run("--stage gemm2 --epilogue aux:acc,gelu(aux) --hidden 64 --inter 64 "
               "--experts 3 --topk 1 --tokens 9", KILN_BAD_INPUT);
    expect_run("--stage gemm2 --epilogue aux:acc,gelu(aux) --out2 f32 --reduce atomic "
               "--hidden 64 --inter 64 --experts 3 --topk 1 --tokens 9", KILN_UNSUPPORTED);
    expect_run("--stage gemm1 --epilogue aux:gate,silu(aux)*up --out2 f32 --hidden 64 "
               "--inter 64 --experts 3 --topk 1 --tokens 9", KILN_BAD_INPUT);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(at_random),
        cmocka_unit_test(columns),
        cmocka_unit_test(rows_and_tensors),
        cmocka_unit_test(of_down),
        cmocka_unit_test(beside),
        cmocka_unit_test(of_c),
        cmocka_unit_test(of_aux),
    };

    return cmocka_run_group_tests_name("moe-epilogue", tests, NULL, NULL);
}
