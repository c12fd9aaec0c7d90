// base/verify.cpp - what happens when a promise is broken.
#include "base/verify.h"

#include <cstdio>
#include <cstdlib>

namespace muster {

void broken_promise(const char* file, int line, const char* expression) {
    std::fprintf(stderr, "%s:%d: broken: %s\n", file, line, expression);
    std::abort();
}

}  // namespace muster
