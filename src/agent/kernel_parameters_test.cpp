// agent/kernel_parameters_test.cpp - no pod sets a parameter of the machine.
#include "agent/kernel_parameters.h"

#include <doctest/doctest.h>

namespace muster::agent {

TEST_CASE("a pod may set the parameters of its own network and message queues") {
    CHECK(path_of_own_parameter("net.ipv4.tcp_syncookies") == "net/ipv4/tcp_syncookies");
    CHECK(path_of_own_parameter("net/ipv4/conf/eth0.100/rp_filter") ==
          "net/ipv4/conf/eth0.100/rp_filter");
    CHECK(path_of_own_parameter("kernel.sem") == "kernel/sem");
    CHECK(path_of_own_parameter("fs.mqueue.msg_max") == "fs/mqueue/msg_max");
}

TEST_CASE("no name of a parameter leads to one of the machine") {
    for (const char* name :
         {"kernel.core_pattern", "kernel/core_pattern", "net/../kernel/core_pattern",
          "net/./../kernel/core_pattern", "net.../kernel", "net//kernel", "net/", "net", "",
          "/net/ipv4", "net.ipv4/../../kernel/core_pattern",
          "kernel.shm_rmid_forced/../core_pattern", "kernel.shmx", "vm.overcommit_memory",
          "net/ipv4/x\ny", "kernel.pid_max"})
        CHECK_MESSAGE(!path_of_own_parameter(name), name);
}

}  // namespace muster::agent
