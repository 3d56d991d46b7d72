; Device memory of its own: a loaded section kiln does not make.
target triple = "amdgcn-amd-amdhsa"
@g = internal addrspace(1) global i32 7
define protected amdgpu_kernel void @k(ptr addrspace(1) %p) {
  %x = load i32, ptr addrspace(1) @g
  store i32 %x, ptr addrspace(1) %p
  ret void
}
!llvm.module.flags = !{!0}
!0 = !{i32 1, !"amdhsa_code_object_version", i32 500}
