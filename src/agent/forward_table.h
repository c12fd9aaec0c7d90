// agent/forward_table.h - which service addresses are forwarded to which pods: what has changed, in
// pieces, and not more than a namespace may have.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "agent/names.h"

namespace muster::agent {

/// Service addresses with their ports that a namespace may have. Each is asked after while it waits
/// for a pod, and is a listening socket when one is there. A Ray cluster has some five.
inline constexpr std::size_t kAddressesMax = 1000;

/// All that is forwarded for one service from now on.
struct ServiceForwards {
    std::string ns;
    std::string name;
    Forwards addresses;
};

/// A service with more ports than its namespace has room for.
struct ServiceOver {
    std::string ns;
    std::string name;
    std::size_t left_out = 0;  // Ports that are not forwarded.
};

/// Only services that have changed are looked at, those of each namespace in turn. Lives on the
/// thread of its NameTable.
class ForwardTable {
public:
    explicit ForwardTable(const NameTable& names) : names_(names) {}

    void changed(const std::string& ns, const std::string& service);
    bool waits() const { return !changed_.empty(); }

    struct Piece {
        std::vector<ServiceForwards> services;
        std::vector<ServiceOver> over;  // Those that were not so before.
    };
    /// The next changes: work for some milliseconds.
    Piece take();

private:
    struct Share {
        std::size_t addresses = 0;
        std::size_t pods = 0;
        std::map<std::string, std::pair<std::size_t, std::size_t>> of;  // By service: both counts.
        std::set<std::string> over;
    };
    std::size_t take_one(const std::string& ns, const std::string& service, Piece& piece);

    const NameTable& names_;
    std::map<std::string, std::set<std::string>> changed_;  // Services by namespace.
    std::map<std::string, Share> shares_;
    std::string turn_;  // The namespace that was served last.
};

}  // namespace muster::agent
