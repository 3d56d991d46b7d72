/* lock.h - the process-wide state of LLVM that threads share. A system's
 * comgr may be built on the very LLVM that kiln uses, and its actions reset
 * LLVM's option tables: many threads may generate code at once, or one may be
 * in a comgr action. Never hold it across a jump out of kn_alloc. */
#ifndef KN_LOCK_H
#define KN_LOCK_H

void kn_llvm_enter(void);    /* code generation begins */
void kn_llvm_leave(void);
void kn_llvm_own(void);      /* a comgr action begins: nobody else is in */
void kn_llvm_disown(void);

#endif
