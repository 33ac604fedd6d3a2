/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FOVEA_ECACHE_TARGET_H
#define FOVEA_ECACHE_TARGET_H

int target_init(void);
void target_exit(void);

#endif /* FOVEA_ECACHE_TARGET_H */
