// apiserver/openapi.cpp - OpenAPI documents by path.
#include "apiserver/openapi.h"

#include "apiserver/status_error.h"

namespace muster::apiserver {

void serve_openapi(Exchange& exchange) {
    static_cast<void>(exchange);
    throw no_such_resource();
}

}  // namespace muster::apiserver
