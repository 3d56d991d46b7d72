/* The kernel of 06_hip.c. */
kernel void
saxpy(float a, global const float *x, global float *y, int n)
{
    int i = __builtin_amdgcn_workgroup_id_x() * 256 +
            __builtin_amdgcn_workitem_id_x();

    if (i < n)
        y[i] = a * x[i] + y[i];
}
