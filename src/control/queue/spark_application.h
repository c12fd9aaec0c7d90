// control/queue/spark_application.h - SparkApplication: a driver and executors, whose pods Spark
// itself makes of the application's settings.
#pragma once

#include "control/queue/integration.h"

namespace muster::control::queue {

/// sparkoperator.k8s.io/v1beta2.
JobKind spark_application_kind();

}  // namespace muster::control::queue
