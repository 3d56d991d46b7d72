; Ten kernels, one hidden and one local function: several .gnu.hash buckets
; and every class of symbol order.
target triple = "amdgcn-amd-amdhsa"
define protected amdgpu_kernel void @gemm_nt(ptr addrspace(1) %p) #0 {
  store i32 0, ptr addrspace(1) %p
  ret void
}
define protected amdgpu_kernel void @gemm_nn(ptr addrspace(1) %p) #0 {
  store i32 119, ptr addrspace(1) %p
  ret void
}
define protected amdgpu_kernel void @gemm_tn(ptr addrspace(1) %p) #0 {
  store i32 240, ptr addrspace(1) %p
  ret void
}
define protected amdgpu_kernel void @grouped(ptr addrspace(1) %p) #0 {
  store i32 361, ptr addrspace(1) %p
  ret void
}
define protected amdgpu_kernel void @wgrad(ptr addrspace(1) %p) #0 {
  store i32 482, ptr addrspace(1) %p
  ret void
}
define protected amdgpu_kernel void @moe1(ptr addrspace(1) %p) #0 {
  store i32 601, ptr addrspace(1) %p
  ret void
}
define protected amdgpu_kernel void @moe2(ptr addrspace(1) %p) #0 {
  store i32 719, ptr addrspace(1) %p
  ret void
}
define protected amdgpu_kernel void @reduce(ptr addrspace(1) %p) #0 {
  store i32 837, ptr addrspace(1) %p
  ret void
}
define protected amdgpu_kernel void @scan(ptr addrspace(1) %p) #0 {
  store i32 957, ptr addrspace(1) %p
  ret void
}
define protected amdgpu_kernel void @a_long_kernel_name_for_the_string_table(ptr addrspace(1) %p) #0 {
  store i32 1075, ptr addrspace(1) %p
  ret void
}
define hidden i32 @hidden_helper(i32 %x) #1 {
  %y = mul i32 %x, 3
  ret i32 %y
}
define internal i32 @local_helper(i32 %x) #1 {
  %y = mul i32 %x, 5
  ret i32 %y
}
@llvm.compiler.used = appending global [1 x ptr] [ptr @local_helper], section "llvm.metadata"
attributes #0 = { nounwind "amdgpu-flat-work-group-size"="256,256" "uniform-work-group-size"="true" "amdgpu-no-implicitarg-ptr" }
attributes #1 = { nounwind noinline }
!llvm.module.flags = !{!0}
!0 = !{i32 1, !"amdhsa_code_object_version", i32 500}
