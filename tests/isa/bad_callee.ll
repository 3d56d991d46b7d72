; A call out of the object.
target triple = "amdgcn-amd-amdhsa"
declare void @elsewhere()
define protected amdgpu_kernel void @k(ptr addrspace(1) %p) {
  call void @elsewhere()
  ret void
}
!llvm.module.flags = !{!0}
!0 = !{i32 1, !"amdhsa_code_object_version", i32 500}
