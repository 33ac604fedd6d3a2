// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Sizes of what crosses into Rust; src/ffi.rs and src/aciom/ffi.rs assert the same numbers. */

#include "aciom/aciom.h"
#include "ecache/ecache.h"

#if UINTPTR_MAX == UINT64_MAX
_Static_assert(sizeof(struct ecache_key) == 16, "ecache_key");
_Static_assert(sizeof(struct ecache_device_config) == 8, "ecache_device_config");
_Static_assert(sizeof(struct ecache_config) == 48, "ecache_config");
_Static_assert(sizeof(struct ecache_put_result) == 24, "ecache_put_result");
_Static_assert(sizeof(struct ecache_region) == 8, "ecache_region");
_Static_assert(sizeof(struct ecache_request) == 40, "ecache_request");
_Static_assert(sizeof(struct ecache_move) == 48, "ecache_move");
_Static_assert(sizeof(struct ecache_counters) == 152, "ecache_counters");
_Static_assert(sizeof(enum ecache_frame_state) == sizeof(u32), "ecache_frame_state");
_Static_assert(sizeof(struct aciom_config) == 16, "aciom_config");
_Static_assert(sizeof(struct aciom_request) == 56, "aciom_request");
_Static_assert(sizeof(struct aciom_counters) == 264, "aciom_counters");
#endif
