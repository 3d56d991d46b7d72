/* clones.h - hot loops in several copies, chosen by the host's processor. */
#ifndef KN_CLONES_H
#define KN_CLONES_H

#if defined(__has_feature)
#define KN_FEATURE(x) __has_feature(x)
#else
#define KN_FEATURE(x) 0
#endif
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) &&                  \
    !defined(__SANITIZE_THREAD__) && !KN_FEATURE(address_sanitizer) &&        \
    !KN_FEATURE(thread_sanitizer) && !KN_FEATURE(memory_sanitizer)
#define KN_CLONES                                                             \
    __attribute__((target_clones("arch=x86-64-v3", "default")))
#define KN_WIDE_CLONES                                                        \
    __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3",          \
                                 "default")))
#else
#define KN_CLONES
#define KN_WIDE_CLONES
#endif

#endif
