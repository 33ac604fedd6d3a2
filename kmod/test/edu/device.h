/* SPDX-License-Identifier: GPL-2.0-only */
/* The device itself. */
#ifndef FOVEA_EDU_DEVICE_H
#define FOVEA_EDU_DEVICE_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/miscdevice.h>
#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/types.h>

struct pci_dev;

struct edu {
	struct kref refs;
	struct miscdevice misc;
	char name[16];
	struct pci_dev *pci;
	/* Held for reading by whoever uses the device; when it is gone there is none. */
	struct rw_semaphore use;
	bool gone;
	/* One transfer at a time; and files. */
	struct mutex lock;
	void __iomem *registers;
	/* Where it takes the caller's bytes from. */
	void *page;
	dma_addr_t page_address;
	/* Of files: attachments that are held. */
	struct list_head files;
};

/* `to_memory`: out of the device's memory. Takes a tenth of a second. */
int edu_transfer(struct edu *edu, dma_addr_t address, u32 bytes, bool to_memory);

int edu_start(struct edu *edu, struct pci_dev *pci, u32 mask_bits);
void edu_stop(struct edu *edu);

#endif /* FOVEA_EDU_DEVICE_H */
