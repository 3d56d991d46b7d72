#include "lock.h"

#include <pthread.h>

/* The one process-wide lock, because what it protects is process-wide. */
static pthread_rwlock_t action_lock = PTHREAD_RWLOCK_INITIALIZER;

void
kn_llvm_enter(void)
{
    pthread_rwlock_rdlock(&action_lock);
}

void
kn_llvm_leave(void)
{
    pthread_rwlock_unlock(&action_lock);
}

void
kn_llvm_own(void)
{
    pthread_rwlock_wrlock(&action_lock);
}

void
kn_llvm_disown(void)
{
    pthread_rwlock_unlock(&action_lock);
}
