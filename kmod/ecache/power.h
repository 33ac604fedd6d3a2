/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FOVEA_ECACHE_POWER_H
#define FOVEA_ECACHE_POWER_H

int power_init(void);
void power_exit(void);

#endif /* FOVEA_ECACHE_POWER_H */
