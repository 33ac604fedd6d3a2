// SPDX-License-Identifier: GPL-2.0-only
/* QEMU's educational device, as its docs/specs/edu.txt has it. */
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/io-64-nonatomic-lo-hi.h>
#include <linux/jiffies.h>
#include <linux/pci.h>

#include "device.h"

#define DMA_SOURCE	0x80
#define DMA_TARGET	0x88
#define DMA_BYTES	0x90
#define DMA_COMMAND	0x98
#define COMMAND_RUN	1
#define COMMAND_OUT	2
/* Its memory, in its own addresses. */
#define MEMORY		0x40000

int edu_transfer(struct edu *edu, dma_addr_t address, u32 bytes, bool to_memory)
{
	unsigned long end = jiffies + 10 * HZ;

	lockdep_assert_held(&edu->lock);
	writeq(to_memory ? MEMORY : address, edu->registers + DMA_SOURCE);
	writeq(to_memory ? address : MEMORY, edu->registers + DMA_TARGET);
	writeq(bytes, edu->registers + DMA_BYTES);
	writeq(COMMAND_RUN | (to_memory ? COMMAND_OUT : 0),
	       edu->registers + DMA_COMMAND);
	while (readq(edu->registers + DMA_COMMAND) & COMMAND_RUN) {
		if (time_after(jiffies, end))
			return -ETIMEDOUT;
		usleep_range(500, 2000);
	}
	return 0;
}

int edu_start(struct edu *edu, struct pci_dev *pci, u32 mask_bits)
{
	int error = pci_enable_device(pci);

	if (error)
		return error;
	pci_set_master(pci);
	error = dma_set_mask_and_coherent(&pci->dev, DMA_BIT_MASK(mask_bits));
	if (error)
		goto disable;
	/* A device that is silent takes pieces of 64 KiB. */
	dma_set_max_seg_size(&pci->dev, UINT_MAX);
	error = -ENOMEM;
	edu->registers = pci_iomap(pci, 0, 0);
	if (!edu->registers)
		goto disable;
	edu->page = dma_alloc_coherent(&pci->dev, PAGE_SIZE,
				       &edu->page_address, GFP_KERNEL);
	if (edu->page)
		return 0;
	pci_iounmap(pci, edu->registers);
disable:
	pci_disable_device(pci);
	return error;
}

void edu_stop(struct edu *edu)
{
	dma_free_coherent(&edu->pci->dev, PAGE_SIZE, edu->page,
			  edu->page_address);
	pci_iounmap(edu->pci, edu->registers);
	pci_disable_device(edu->pci);
}
