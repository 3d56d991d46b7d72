; Two source files, inlined lines, a variable for load time: what a loader and
; a reader of line tables need.
target triple = "amdgcn-amd-amdhsa"
@counter = protected addrspace(1) global i32 7
@where = protected addrspace(1) global ptr addrspace(1) @counter
define protected amdgpu_kernel void @k(ptr addrspace(1) %p) !dbg !3 {
  %q = load ptr addrspace(1), ptr addrspace(1) @where, !dbg !10
  %x = load i32, ptr addrspace(1) %q, !dbg !11
  %y = add i32 %x, 5, !dbg !12
  store i32 %y, ptr addrspace(1) %p, !dbg !13
  ret void, !dbg !14
}
!llvm.dbg.cu = !{!1}
!llvm.module.flags = !{!20, !21}
!0 = !DIFile(filename: "first.hip", directory: "/src")
!1 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus_14, file: !0, emissionKind: LineTablesOnly)
!2 = !DISubroutineType(types: !{null})
!3 = distinct !DISubprogram(name: "k", file: !0, line: 3, type: !2, scopeLine: 4, unit: !1, spFlags: DISPFlagDefinition)
!4 = !DIFile(filename: "include/second.h", directory: "/src")
!5 = !DILexicalBlockFile(scope: !3, file: !4, discriminator: 0)
!10 = !DILocation(line: 6, column: 1, scope: !3)
!11 = !DILocation(line: 7, column: 1, scope: !3)
!12 = !DILocation(line: 70, column: 1, scope: !5)
!13 = !DILocation(line: 700, column: 1, scope: !3)
!14 = !DILocation(line: 9, column: 1, scope: !3)
!20 = !{i32 1, !"amdhsa_code_object_version", i32 500}
!21 = !{i32 2, !"Debug Info Version", i32 3}
