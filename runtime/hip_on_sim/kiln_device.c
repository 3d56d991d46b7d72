/* kiln_device.c - device functions that HIP's headers and clang call and that
 * Debian's device libraries lack. kiln-hipcc compiles this file to bitcode:
 * KILN_ISA: the chip's number and what no library has; KILN_BASIC: instead of
 * ockl.bc where none is installed. Freestanding: clang's built-ins only. */

#define GLOBAL __attribute__((address_space(1)))
#define DEVICE __attribute__((always_inline, visibility("hidden")))

typedef unsigned int uint;
typedef unsigned long ulong;

#ifdef KILN_ISA
__attribute__((address_space(4), weak, visibility("protected")))
const uint __oclc_ISA_version = KILN_ISA;

/* ---- printf: a buffer that libkilnhip reads after the launch ------------- */

/* Dword 0: bytes in use of what follows the two dwords, 1: how many there
 * are. NULL if they do not suffice. clang: -mprintf-kind=buffered. */
DEVICE GLOBAL char *
__printf_alloc(uint bytes)
{
    const __attribute__((address_space(4))) ulong *hidden =
        (const __attribute__((address_space(4))) ulong *)
            __builtin_amdgcn_implicitarg_ptr();
    GLOBAL uint *buffer = (GLOBAL uint *)hidden[9];
    uint at;

    if (!buffer)
        return 0;
    at = __scoped_atomic_fetch_add(buffer, bytes, __ATOMIC_RELAXED,
                                   __MEMORY_SCOPE_DEVICE);
    if (at + bytes > buffer[1])
        return 0;
    return (GLOBAL char *)(buffer + 2) + at;
}

/* ---- fences -------------------------------------------------------------- */

/* flags: 1 LDS, 2 memory; order: memory_order; scope: work-item to system. */
DEVICE void
__atomic_work_item_fence(uint flags, int order, int scope)
{
    (void)flags;
    (void)order;
    if (scope <= 2)
        __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
    else
        __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "");
}

#endif

/* ---- where a work-item is ------------------------------------------------ */

#ifdef KILN_BASIC
#define OF(d, x, y, z) ((d) == 0 ? (x) : (d) == 1 ? (y) : (z))

DEVICE ulong
__ockl_get_local_id(uint d)
{
    return OF(d, __builtin_amdgcn_workitem_id_x(),
              __builtin_amdgcn_workitem_id_y(),
              __builtin_amdgcn_workitem_id_z());
}

DEVICE ulong
__ockl_get_group_id(uint d)
{
    return OF(d, __builtin_amdgcn_workgroup_id_x(),
              __builtin_amdgcn_workgroup_id_y(),
              __builtin_amdgcn_workgroup_id_z());
}

/* Code object V5: block counts at 0, group sizes at 12 of the implicit
 * arguments. */
DEVICE ulong
__ockl_get_num_groups(uint d)
{
    return ((const __attribute__((address_space(4))) uint *)
                __builtin_amdgcn_implicitarg_ptr())[d];
}

DEVICE ulong
__ockl_get_local_size(uint d)
{
    return ((const __attribute__((address_space(4))) unsigned short *)
                __builtin_amdgcn_implicitarg_ptr())[6 + d];
}

DEVICE ulong
__ockl_get_global_size(uint d)
{
    return __ockl_get_num_groups(d) * __ockl_get_local_size(d);
}

DEVICE ulong
__ockl_get_global_id(uint d)
{
    return __ockl_get_group_id(d) * __ockl_get_local_size(d) +
           __ockl_get_local_id(d);
}

DEVICE uint
__ockl_lane_u32(void)
{
    return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0));
}

DEVICE uint
__ockl_activelane_u32(void)
{
    ulong on = __builtin_amdgcn_read_exec();

    return __builtin_amdgcn_mbcnt_hi(
        (uint)(on >> 32), __builtin_amdgcn_mbcnt_lo((uint)on, 0));
}

/* ---- arithmetic ---------------------------------------------------------- */

DEVICE uint
__ockl_mul_hi_u32(uint a, uint b)
{
    return (uint)((ulong)a * b >> 32);
}

DEVICE int
__ockl_mul_hi_i32(int a, int b)
{
    return (int)((long)a * b >> 32);
}

/* ---- assert: what it says is not written, its trap is reported ----------- */

DEVICE ulong
__ockl_fprintf_stderr_begin(void)
{
    return 0;
}

DEVICE ulong
__ockl_fprintf_append_string_n(ulong message, const char *text, ulong n,
                               uint last)
{
    (void)text;
    (void)n;
    (void)last;
    return message;
}

#define SEVEN ulong a, ulong b, ulong c, ulong d, ulong e, ulong f, ulong g
DEVICE ulong
__ockl_fprintf_append_args(ulong message, uint n, SEVEN, uint last)
{
    (void)n;
    (void)last;
    return message + 0 * (a + b + c + d + e + f + g);
}
#endif
