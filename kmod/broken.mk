# SPDX-License-Identifier: GPL-2.0-only
# BROKEN=NAME: a safety is left out, for tests that must notice (broken.h of each folder). `broken-prefix` is the folder's; `broken-core`,
# if it has one, the folder of core/ that its core.c is made of.
#
# Only what names the safety is compiled with its flag: beside an intact build that is a file or two. One that a header names goes to all.
ifneq ($(BROKEN),)
broken-macro := $(broken-prefix)_BROKEN_$(shell echo $(BROKEN) | tr a-z A-Z)
# broken.h may make one safety's loss another's.
broken-names := -e $(broken-macro) $(addprefix -e ,$(shell sed -n 's/^.define \([A-Z_]*\) $(broken-macro)$$/\1/p' $(src)/broken.h))
broken-files := $(filter-out broken.h,$(shell cd $(src) && grep -lw $(broken-names) *.c *.h))
ifneq ($(broken-core),)
broken-files += $(if $(shell cd $(src)/../../core/$(broken-core) && grep -lw $(broken-names) *.c *.h),core.c)
endif
ifneq ($(filter %.h,$(broken-files)),)
ccflags-y += -D$(broken-macro)=1
else
$(foreach file,$(sort $(broken-files)),$(eval CFLAGS_$(file:.c=.o) += -D$(broken-macro)=1))
endif
endif
