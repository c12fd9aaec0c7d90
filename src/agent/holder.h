// agent/holder.h - the small process that keeps Muster's namespaces and starts pods in them.
#pragma once

#include <string>
#include <string_view>

namespace muster::agent {

/// Changes with these requests, and with what a holder makes of the machine: one of another version
/// is ended and made anew, for it outlives Muster.
constexpr std::string_view kHolderVersion = "2";

/// Runs the holder of `directory` ("<data>/agent") until it is told to end or nobody has come back
/// for ten minutes. Says "ready", "busy" (another one holds this directory) or "error <sentence>"
/// on `ready_fd`.
///
/// It answers on directory/holder.sock, one message a request:
///   own                    keeps the connection as a sign of life; answers "ok VERSION
///                          rootful|rootless own|shared limits|nolimits SENTENCE\nWHY-SHARED":
///                          whether pods have users of their own, whether limits are enforced,
///                          and why not
///   dial IP PORT           "ok" with a socket that is connecting
///   listen IP PORT         "ok" with a listening socket
///   listen_udp IP PORT     "ok" with a bound socket
///   takes IP PORT          "ok yes|no" when IP is a pod's: does something in it take connections
///                          there; else "ok unknown"
///   fill DIRECTORY         gives the pod its users and puts its files in place (see
///                          pod_chores.h, with "namespace" and "ids" that it wants): "ok MAP"
///   usage DIRECTORY        "ok USE", see pod_chores.h
///   remove PATH...         removes them (a line each) beneath DIRECTORY-OF-PODS; before the answer
///                          come "going FILES BYTES", how much is gone
///   pod DIRECTORY          starts the pod described in DIRECTORY/sandbox.json: "ok PID"
///   kill DIRECTORY         kills the pod's init, and with it all of the pod
///   end                    ends every pod, then itself
/// A failure is "error <errno> <sentence>".
int run_holder(const std::string& directory, int ready_fd);

}  // namespace muster::agent
