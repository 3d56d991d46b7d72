; Two self-contained kernels, the shape of what kiln emits: LDS and a barrier
; in one, preloaded arguments in the other.
target triple = "amdgcn-amd-amdhsa"
@lds = internal addrspace(3) global [256 x float] undef, align 16
define protected amdgpu_kernel void @alpha(ptr addrspace(1) %a, ptr addrspace(1) %b, i32 %n) #0 {
  %i = call i32 @llvm.amdgcn.workitem.id.x()
  %p = getelementptr float, ptr addrspace(1) %a, i32 %i
  %x = load float, ptr addrspace(1) %p
  %l = getelementptr [256 x float], ptr addrspace(3) @lds, i32 0, i32 %i
  store float %x, ptr addrspace(3) %l
  call void @llvm.amdgcn.s.barrier()
  %j = sub i32 255, %i
  %m = getelementptr [256 x float], ptr addrspace(3) @lds, i32 0, i32 %j
  %y = load float, ptr addrspace(3) %m
  %q = getelementptr float, ptr addrspace(1) %b, i32 %i
  store float %y, ptr addrspace(1) %q
  ret void
}
define protected amdgpu_kernel void @beta(ptr addrspace(1) inreg %a, float inreg %s) #0 {
  %i = call i32 @llvm.amdgcn.workitem.id.x()
  %p = getelementptr float, ptr addrspace(1) %a, i32 %i
  %x = load float, ptr addrspace(1) %p
  %y = fmul float %x, %s
  store float %y, ptr addrspace(1) %p
  ret void
}
attributes #0 = { nounwind "amdgpu-flat-work-group-size"="256,256" "uniform-work-group-size"="true" "amdgpu-no-implicitarg-ptr" "target-cpu"="gfx950" }
!llvm.module.flags = !{!0}
!0 = !{i32 1, !"amdhsa_code_object_version", i32 500}
