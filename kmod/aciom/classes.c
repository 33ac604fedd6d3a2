// SPDX-License-Identifier: GPL-2.0-only
/* Which cgroup has which class. classes.h says more. */
#include <linux/bio.h>
#include <linux/bitmap.h>
#include <linux/blk-cgroup.h>
#include <linux/cgroup.h>
#include <linux/hashtable.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "classes.h"

struct named {
	struct hlist_node link;
	struct rcu_head rcu;
	u64 cgroup;
	/* Its number in every queue; ACIOM_NOBODY: plain. */
	u32 app;
	u32 class;
};

/* Changed under the mutex, read under RCU. */
static DEFINE_MUTEX(mutex);
static DEFINE_HASHTABLE(table, 8);
static DECLARE_BITMAP(apps, ACIOM_MAX_APPS);
static LIST_HEAD(queues);
static unsigned int nr_named;

int classes_sensitive;

static struct named *find(u64 cgroup)
{
	struct named *n;

	hash_for_each_possible_rcu(table, n, link, cgroup, lockdep_is_held(&mutex))
		if (n->cgroup == cgroup)
			return n;
	return NULL;
}

/*
 * Whose a request is. A page that is being written back says whose memory it is, and that is
 * who dirtied it. The bio does not: the file system had charged it to the right cgroup, but
 * device-mapper makes its clone without a device, and so without that; the clone then belongs to
 * whoever submits it, here a thread of the kernel's.
 */
static struct cgroup *owner(struct bio *bio)
{
	struct cgroup_subsys_state *css;
#ifdef CONFIG_MEMCG
	struct mem_cgroup *memcg = NULL;
	struct folio *folio;

	if (bio_op(bio) == REQ_OP_WRITE && bio_has_data(bio)) {
		folio = page_folio(bio_iter_page(bio, bio->bi_iter));
		if (folio_test_writeback(folio))
			memcg = folio_memcg(folio);
		if (memcg)
			return memcg->css.cgroup;
	}
#endif
	css = bio_blkcg_css(bio);
	return css ? css->cgroup : NULL;
}

/*
 * A number that is taken away at this moment may be found once more, and even be
 * another's already: the request is then plain, or in another's class, and goes all the same.
 */
u32 classes_find(struct bio *bio, u32 *class)
{
	struct cgroup *cgroup;
	u32 app = ACIOM_NOBODY;
	struct named *n;

	*class = ACIOM_PLAIN;

	rcu_read_lock();
	for (cgroup = owner(bio); cgroup; cgroup = cgroup_parent(cgroup)) {
		n = find(cgroup_ino(cgroup));
		if (n) {
			app = READ_ONCE(n->app);
			*class = READ_ONCE(n->class);
			break;
		}
	}
	rcu_read_unlock();
	return app;
}

static void count(u32 class, int more)
{
	if (class == ACIOM_TIME_SENSITIVE)
		WRITE_ONCE(classes_sensitive, classes_sensitive + more);
}

/* From plain to another class. */
static int number(struct named *n, u32 class)
{
	u32 app = find_first_zero_bit(apps, ACIOM_MAX_APPS);
	struct queue *q;

	if (app == ACIOM_MAX_APPS)
		return -ENOSPC;
	__set_bit(app, apps);
	list_for_each_entry(q, &queues, link)
		queue_app_add(q, app, class);
	WRITE_ONCE(n->app, app);
	return 0;
}

static void unnumber(struct named *n)
{
	u32 app = n->app;
	struct queue *q;

	WRITE_ONCE(n->app, ACIOM_NOBODY);
	list_for_each_entry(q, &queues, link)
		queue_app_remove(q, app);
	__clear_bit(app, apps);
}

static int change(struct named *n, u32 class)
{
	struct queue *q;
	int error = 0;

	if (n->class == class)
		return 0;
	if (n->class == ACIOM_PLAIN)
		error = number(n, class);
	else if (class == ACIOM_PLAIN)
		unnumber(n);
	else
		list_for_each_entry(q, &queues, link)
			queue_app_class(q, n->app, class);
	if (error)
		return error;
	count(n->class, -1);
	count(class, 1);
	WRITE_ONCE(n->class, class);
	return 0;
}

static int add(u64 cgroup, u32 class)
{
	struct named *n;
	int error;

	if (nr_named == CLASSES_MAX)
		return -ENOSPC;
	n = kzalloc(sizeof(*n), GFP_KERNEL);
	if (!n)
		return -ENOMEM;
	n->cgroup = cgroup;
	n->app = ACIOM_NOBODY;
	n->class = ACIOM_PLAIN;
	error = change(n, class);
	if (error) {
		kfree(n);
		return error;
	}
	hash_add_rcu(table, &n->link, cgroup);
	nr_named++;
	return 0;
}

static void drop(struct named *n)
{
	change(n, ACIOM_PLAIN);
	hash_del_rcu(&n->link);
	nr_named--;
	kfree_rcu(n, rcu);
}

int classes_set(u64 cgroup, u32 class)
{
	struct named *n;
	int error;

	mutex_lock(&mutex);
	n = find(cgroup);
	error = n ? change(n, class) : add(cgroup, class);
	mutex_unlock(&mutex);
	return error;
}

int classes_forget(u64 cgroup)
{
	struct named *n;

	mutex_lock(&mutex);
	n = find(cgroup);
	if (n)
		drop(n);
	mutex_unlock(&mutex);
	return n ? 0 : -ENOENT;
}

void classes_forget_all(void)
{
	struct hlist_node *next;
	struct named *n;
	int bucket;

	mutex_lock(&mutex);
	hash_for_each_safe(table, bucket, next, n, link)
		drop(n);
	mutex_unlock(&mutex);
}

void classes_attach(struct queue *q)
{
	struct named *n;
	int bucket;

	mutex_lock(&mutex);
	hash_for_each(table, bucket, n, link)
		if (n->class != ACIOM_PLAIN)
			queue_app_add(q, n->app, n->class);
	list_add(&q->link, &queues);
	mutex_unlock(&mutex);
}

void classes_detach(struct queue *q)
{
	mutex_lock(&mutex);
	list_del_init(&q->link);
	mutex_unlock(&mutex);
}
