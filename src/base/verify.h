// base/verify.h - the one assertion: always on, it prints the broken promise and ends the process.
#pragma once

namespace muster {

/// Prints "file:line: broken: expression" on standard error and aborts. Never returns.
[[noreturn]] void broken_promise(const char* file, int line, const char* expression);

}  // namespace muster

/// States what must hold. A failure is a bug in Muster, never a reaction to input.
#define VERIFY(condition) \
    ((condition) ? static_cast<void>(0) : ::muster::broken_promise(__FILE__, __LINE__, #condition))
