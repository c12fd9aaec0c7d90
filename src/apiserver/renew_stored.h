// apiserver/renew_stored.h - what an older version stored is written as this one would.
#pragma once

#include "apiserver/exchange.h"

namespace muster::apiserver {

/// Once for each data folder, before anything is served: objects of built-in kinds, and the pod
/// templates that are kept in others, lose what means nothing ("args: []"). Else the first write
/// of such an object would change what nobody changed: a template that must stay, or one that
/// pods are made anew for. On its way to disk when this returns.
void renew_stored(Context& context);

}  // namespace muster::apiserver
