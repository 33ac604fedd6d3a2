// SPDX-License-Identifier: GPL-2.0-only
/*
 * The decisions: core/, the same files that the laboratory builds, as one unit so that
 * the compiler sees through their small functions.
 */
#include <linux/compiler.h>

#define ACIOM_SHARED static
#include "../../core/aciom/init.c"
#include "../../core/aciom/rate.c"
#include "../../core/aciom/latency.c"
#include "../../core/aciom/app.c"
#include "../../core/aciom/ready.c"
#include "../../core/aciom/queue.c"
