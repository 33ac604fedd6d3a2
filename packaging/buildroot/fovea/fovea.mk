# SPDX-License-Identifier: GPL-2.0-only OR MIT
################################################################################
#
# fovea
#
################################################################################

FOVEA_VERSION = 0.1.0
FOVEA_SITE = $(FOVEA_OVERRIDE_SRCDIR)
FOVEA_SITE_METHOD = local
FOVEA_LICENSE = GPL-2.0-only or MIT
FOVEA_LICENSE_FILES = LICENSES/GPL-2.0-only.txt LICENSES/MIT.txt
FOVEA_DEPENDENCIES = host-rustc

FOVEA_MAKE = $(TARGET_MAKE_ENV) $(PKG_CARGO_ENV) $(MAKE) -C $(@D) \
	TARGET=$(RUSTC_TARGET_NAME) STATIC=0 PREFIX=/usr HEAP_CC="$(TARGET_CC)" CARGO_FLAGS=--offline

define FOVEA_BUILD_CMDS
	$(FOVEA_MAKE) small
endef

define FOVEA_INSTALL_TARGET_CMDS
	$(FOVEA_MAKE) install-small DESTDIR=$(TARGET_DIR)
	rm -rf $(TARGET_DIR)/usr/share/initramfs-tools $(TARGET_DIR)/usr/lib/dracut $(TARGET_DIR)/usr/lib/initcpio $(TARGET_DIR)/usr/src/fovea-$(FOVEA_VERSION)
endef

define FOVEA_INSTALL_INIT_SYSV
	$(INSTALL) -D -m 755 $(@D)/packaging/buildroot/S50fovea $(TARGET_DIR)/etc/init.d/S50fovea
endef

$(eval $(generic-package))
