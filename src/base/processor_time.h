// base/processor_time.h - for tests: what a step costs the processor, however busy the machine is.
#pragma once

#include <ctime>

namespace muster {

/// In seconds. For bounds that tell a cost that grows with the square of a client's input from one
/// that does not: between them lies a factor of a thousand and more.
template <class Step>
double processor_time(const Step& step) {
    const std::clock_t begin = std::clock();
    step();
    return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

}  // namespace muster
