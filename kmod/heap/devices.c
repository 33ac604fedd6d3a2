// SPDX-License-Identifier: GPL-2.0-only
/* The parameter `devices` of sources: NAME:SIZE, separated by commas. */
#include <linux/ctype.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "../include/compat.h"
#include "heap.h"

/* A line in the log of the module whose parameter it is. */
#define complain(owner, format, ...) \
	pr_err("%s: devices: " format, module_name(owner), ##__VA_ARGS__)

static bool name_ok(const char *name)
{
	size_t i, length = strlen(name);

	if (!length || length >= HEAP_NAME_BYTES)
		return false;
	for (i = 0; i < length; i++)
		if (!isalnum(name[i]) && name[i] != '-' && name[i] != '_')
			return false;
	return true;
}

static int parse_one(struct module *owner, char *word,
		     struct heap_device *list, int count)
{
	char *colon = strchr(word, ':'), *rest;
	int i;

	if (!colon) {
		complain(owner, "\"%s\" is not NAME:SIZE\n", word);
		return -EINVAL;
	}
	*colon = '\0';
	if (!name_ok(word)) {
		complain(owner, "\"%s\" is no name: up to %d letters, digits, - and _\n",
		       word, HEAP_NAME_BYTES - 1);
		return -EINVAL;
	}
	for (i = 0; i < count; i++)
		if (!strcmp(list[i].name, word)) {
			complain(owner, "%s is named twice\n", word);
			return -EINVAL;
		}
	strscpy(list[count].name, word, HEAP_NAME_BYTES);
	/* Rounding up makes nothing of the largest numbers. */
	list[count].size_bytes = PAGE_ALIGN(memparse(colon + 1, &rest));
	if (*rest || rest == colon + 1 || !list[count].size_bytes) {
		complain(owner, "%s: \"%s\" is no size\n", word, colon + 1);
		return -EINVAL;
	}
	return 0;
}

int heap_devices_parse(struct module *owner, const char *text, int max,
		       struct heap_device **out)
{
	struct heap_device *list;
	char *copy, *left, *word;
	int count = 0, error = 0;

	if (!text || !*text) {
		complain(owner, "none: give devices=NAME:SIZE[,NAME:SIZE...]\n");
		return -EINVAL;
	}
	copy = kstrdup(text, GFP_KERNEL);
	list = kcalloc(max, sizeof(*list), GFP_KERNEL);
	if (!copy || !list)
		error = -ENOMEM;
	left = copy;
	while (!error && (word = strsep(&left, ",")) != NULL) {
		if (count == max) {
			complain(owner, "at most %d\n", max);
			error = -E2BIG;
			break;
		}
		error = parse_one(owner, word, list, count);
		count += !error;
	}
	kfree(copy);
	if (error) {
		kfree(list);
		return error;
	}
	*out = list;
	return count;
}
FOVEA_EXPORT(heap_devices_parse, FOVEA_HEAP);
