/* SPDX-License-Identifier: MIT */
/*
 * Access of one device to the memory of another.
 *
 * The driver enables it for memory of cuMemAlloc, where the pools get theirs.  Memory of
 * cuMemAllocAsync, which a device without a pool uses, has a switch of its own.
 */
#include "base/common.h"

#include "lib/core/device.h"

kz_status kz_device_can_access_peer(int *out, kz_device *dev, kz_device *peer, kz_error *err)
{
	error_scope(err);
	int can = 0;
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = object_check(dev, OBJECT_DEVICE, err))
	    || (st = object_check(peer, OBJECT_DEVICE, err)) || dev == peer
	    || dev->drv != peer->drv) {
		return st;
	}
	st = device_ok(dev, dev->drv->DeviceCanAccessPeer(&can, dev->handle, peer->handle),
		"cuDeviceCanAccessPeer", err);
	*out = !st && can;
	return st;
}

static kz_status peer_check(const struct kz_device *dev, const struct kz_device *peer,
	kz_error *err)
{
	kz_status st;
	if ((st = object_check(dev, OBJECT_DEVICE, err))
	    || (st = object_check(peer, OBJECT_DEVICE, err))) {
		return st;
	}
	if (dev == peer) {
		return error_set(err, KZ_INVALID, "expected two devices, got %s twice", dev->name);
	}
	return dev->drv == peer->drv ? KZ_OK : error_set(err, KZ_UNSUPPORTED,
		"%s cannot use the memory of %s, which has another driver", dev->name, peer->name);
}

enum { PEERS_MOST = 32 };

bool device_has_access(const struct kz_device *dev, const struct kz_device *peer)
{
	return dev->drv == peer->drv && peer->ordinal < PEERS_MOST
		&& (atomic_load_explicit(&dev->peers, memory_order_relaxed) & 1u << peer->ordinal);
}

/* Let `dev` use what cuMemAllocAsync allocates on `peer`, or not. */
static kz_status peer_set_pool(struct kz_device *dev, const struct kz_device *peer,
	CUmemAccess_flags flags, kz_error *err)
{
	const CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, dev->handle}, flags};
	return !peer->default_pool ? KZ_OK
		: device_ok(dev, dev->drv->MemPoolSetAccess(peer->default_pool, &access, 1),
			"cuMemPoolSetAccess", err);
}

kz_status kz_device_enable_peer_access(kz_device *dev, kz_device *peer, kz_error *err)
{
	error_scope(err);
	struct device_scope scope;
	kz_status st;
	if ((st = peer_check(dev, peer, err)) || (st = device_check_loss(peer, err))
	    || (st = device_enter(dev, &scope, err))) {
		return st;
	}
	CUresult code = dev->drv->CtxEnablePeerAccess(peer->context, 0);
	bool was_on = code == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
	st = device_ok(dev, was_on ? CUDA_SUCCESS : code, "cuCtxEnablePeerAccess", err);
	if (!st && (st = peer_set_pool(dev, peer, CU_MEM_ACCESS_FLAGS_PROT_READWRITE, err))
	    && !was_on) {
		(void)dev->drv->CtxDisablePeerAccess(peer->context);
	}
	if (!st && peer->ordinal < PEERS_MOST) {
		atomic_fetch_or(&dev->peers, 1u << peer->ordinal);
	}
	device_leave(dev, &scope);
	return st;
}

kz_status kz_device_disable_peer_access(kz_device *dev, kz_device *peer, kz_error *err)
{
	error_scope(err);
	struct device_scope scope;
	kz_status st;
	if ((st = peer_check(dev, peer, err)) || (st = device_check_loss(peer, err))
	    || (st = device_enter(dev, &scope, err))) {
		return st;
	}
	st = device_ok(dev, dev->drv->CtxDisablePeerAccess(peer->context), "cuCtxDisablePeerAccess",
		err);
	st = st ? st : peer_set_pool(dev, peer, CU_MEM_ACCESS_FLAGS_PROT_NONE, err);
	if (!st && peer->ordinal < PEERS_MOST) {
		atomic_fetch_and(&dev->peers, ~(1u << peer->ordinal));
	}
	device_leave(dev, &scope);
	return st;
}
