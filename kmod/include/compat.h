/* SPDX-License-Identifier: GPL-2.0-only */
/* What differs between the kernels that the modules build against (6.1 to 7.3). */
#ifndef FOVEA_COMPAT_H
#define FOVEA_COMPAT_H

#include <linux/ftrace.h>
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/module.h>
#include <linux/page-flags.h>
#include <linux/shrinker.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
static inline void vm_flags_set(struct vm_area_struct *vma, vm_flags_t flags)
{
	vma->vm_flags |= flags;
}
#endif

/* Locking of importers' calls was split from the calls in 6.2. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
#define dma_buf_vmap_unlocked dma_buf_vmap
#define dma_buf_vunmap_unlocked dma_buf_vunmap
#define dma_buf_map_attachment_unlocked dma_buf_map_attachment
#define dma_buf_unmap_attachment_unlocked dma_buf_unmap_attachment
#endif

/* The name of a namespace became a string in 6.13. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
#define FOVEA_IMPORT_NS(ns) MODULE_IMPORT_NS(ns)
#define FOVEA_EXPORT(symbol, ns) EXPORT_SYMBOL_NS_GPL(symbol, ns)
#else
#define FOVEA_IMPORT_NS(ns) MODULE_IMPORT_NS(#ns)
#define FOVEA_EXPORT(symbol, ns) EXPORT_SYMBOL_NS_GPL(symbol, #ns)
#endif

/* __assign_str() lost its second argument in 6.10. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 10, 0)
#define fovea_assign_str(dst, src) __assign_str(dst, src)
#else
#define fovea_assign_str(dst, src) __assign_str(dst)
#endif

/*
 * Whether calls of a function can be watched with their arguments. GKI kernels are built
 * without function tracing.
 */
#ifdef FOVEA_FTRACE
/* A build that tries the other way. */
#elif defined(CONFIG_DYNAMIC_FTRACE_WITH_ARGS) || defined(CONFIG_DYNAMIC_FTRACE_WITH_REGS)
#define FOVEA_FTRACE	1
#else
#define FOVEA_FTRACE	0
#endif

/* A function's arguments as ftrace saw them; those alone can be had since 6.2. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0) && \
	defined(CONFIG_HAVE_DYNAMIC_FTRACE_WITH_ARGS)
#define FOVEA_FTRACE_FLAGS	0
#define fovea_ftrace_argument(fregs, n) ftrace_regs_get_argument(fregs, n)
#elif defined(CONFIG_ARM)
#define FOVEA_FTRACE_FLAGS	FTRACE_OPS_FL_SAVE_REGS
#define fovea_ftrace_argument(fregs, n) (ftrace_get_regs(fregs)->uregs[n])
#else
#define FOVEA_FTRACE_FLAGS	FTRACE_OPS_FL_SAVE_REGS
#define fovea_ftrace_argument(fregs, n) \
	regs_get_kernel_argument(ftrace_get_regs(fregs), n)
#endif

/* The attributes that a module's sysfs files are called with became const in 6.14. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 14, 0)
typedef struct module_attribute fovea_module_attribute;
#else
typedef const struct module_attribute fovea_module_attribute;
#endif

/*
 * What alloc_contig_range() is asked for became flags of its own in 6.16. The old
 * constant, 1, still compiles there and means the CMA allocator.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 16, 0)
#define FOVEA_CONTIG_ORDINARY MIGRATE_MOVABLE
#else
#define FOVEA_CONTIG_ORDINARY ACR_FLAGS_NONE
#endif

/* Shrinkers were the caller's to allocate before 6.7. */
struct fovea_shrinker {
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 7, 0)
	struct shrinker shrinker;
#else
	struct shrinker *shrinker;
#endif
};

typedef unsigned long (*fovea_shrink)(struct shrinker *, struct shrink_control *);

static inline int fovea_shrinker_add(struct fovea_shrinker *s, fovea_shrink count,
				     fovea_shrink scan, const char *name)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 7, 0)
	s->shrinker.count_objects = count;
	s->shrinker.scan_objects = scan;
	s->shrinker.seeks = DEFAULT_SEEKS;
	return register_shrinker(&s->shrinker, "%s", name);
#else
	s->shrinker = shrinker_alloc(0, "%s", name);
	if (!s->shrinker)
		return -ENOMEM;
	s->shrinker->count_objects = count;
	s->shrinker->scan_objects = scan;
	shrinker_register(s->shrinker);
	return 0;
#endif
}

static inline void fovea_shrinker_remove(struct fovea_shrinker *s)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 7, 0)
	unregister_shrinker(&s->shrinker);
#else
	shrinker_free(s->shrinker);
#endif
}

/* Bits of folio->mapping that say it is no page cache's; by its old name gone in 6.17. */
#ifndef PAGE_MAPPING_FLAGS
#define PAGE_MAPPING_FLAGS FOLIO_MAPPING_FLAGS
#endif

/* A timer and its function became one call in 6.13, and the other went in 6.15. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
#define fovea_hrtimer_setup(timer, call, clock, mode)	\
	do {						\
		hrtimer_init(timer, clock, mode);	\
		(timer)->function = (call);		\
	} while (0)
#else
#define fovea_hrtimer_setup hrtimer_setup
#endif

/* Kernels with flat memory, as most for 32-bit ARM, have no sections to make pages for. */
#ifndef PAGES_PER_SUBSECTION
#define PAGES_PER_SUBSECTION	((2ul << 20) >> PAGE_SHIFT)
#endif
#ifdef MAX_PHYSMEM_BITS
#define FOVEA_PHYS_MAX	((1ull << MAX_PHYSMEM_BITS) - 1)
#else
#define FOVEA_PHYS_MAX	PHYS_ADDR_MAX
#endif

#endif /* FOVEA_COMPAT_H */
