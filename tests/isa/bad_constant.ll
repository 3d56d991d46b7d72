; A table in .rodata is reached by a PC-relative pair from .text.
target triple = "amdgcn-amd-amdhsa"
@t = internal addrspace(4) constant [4 x i32] [i32 3, i32 1, i32 4, i32 1]
define protected amdgpu_kernel void @k(ptr addrspace(1) %p) {
  %i = call i32 @llvm.amdgcn.workgroup.id.x()
  %q = getelementptr [4 x i32], ptr addrspace(4) @t, i32 0, i32 %i
  %x = load i32, ptr addrspace(4) %q
  store i32 %x, ptr addrspace(1) %p
  ret void
}
!llvm.module.flags = !{!0}
!0 = !{i32 1, !"amdhsa_code_object_version", i32 500}
