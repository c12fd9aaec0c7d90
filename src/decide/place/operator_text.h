// decide/place/operator_text.h - operators of expressions over labels as Kubernetes writes them.
#pragma once

#include "decide/place/pod.h"

namespace muster::decide {

/// "NotIn"
inline const char* operator_text(Requirement::Op op) {
    using Op = Requirement::Op;
    switch (op) {
        case Op::in:
            return "In";
        case Op::not_in:
            return "NotIn";
        case Op::exists:
            return "Exists";
        case Op::does_not_exist:
            return "DoesNotExist";
        case Op::greater:
            return "Gt";
        case Op::less:
            return "Lt";
    }
    return "In";
}

}  // namespace muster::decide
