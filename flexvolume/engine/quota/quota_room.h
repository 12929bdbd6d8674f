// How much of a shared file system is promised, and how much can still be.
#pragma once

#include <string>
#include <vector>

#include "flexvolume/engine/lvm/lvm_report.h"
#include "flexvolume/engine/quota/project_folders.h"

namespace flexlocal::engine {

struct QuotaRoom {
  Bytes size;  // what can be promised in all
  Bytes taken;
  Bytes free() const { return size - taken; }
};

// A limit is a promise and counts whole, ours or a stranger's; data without a limit counts as it
// is, and so does what the file system keeps for itself.
QuotaRoom quota_room(const Capacity& capacity, const std::vector<ProjectQuota>& quotas,
                     unsigned overcommit_percent);

// What XFS makes of a limit: whole blocks of the file system, rounded up
// (fs/xfs/xfs_qm_syscalls.c, xfs_qm_scall_setqlim).
Bytes block_limit(Bytes size, Bytes block);

// The most files of a volume. Inodes are not charged to a project's blocks, so without a limit
// empty files could fill the file system that others share. One for every 16 KiB, as mke2fs does
// it (man mke2fs, -i), takes at most 3 % more; small volumes get what a few packages need.
std::uint64_t inode_limit(Bytes size);

// Of a shared file system that the pool's first volume will make. What a killed call has of it
// needs no more room.
Space space_to_make(const Inventory& inventory, const std::string& id, const std::string& name,
                    const Pool& pool);

}  // namespace flexlocal::engine
