// Whether NAME.launch.json says what the PTX says.
#ifndef ATTNC_TESTS_E2E_LAUNCH_FAULTS_H
#define ATTNC_TESTS_E2E_LAUNCH_FAULTS_H

#include "runtime/program/program.h"
#include <string>
#include <vector>

namespace attnc::e2e {

/// Where the description of launches (launch_json.h) of a program differs from the PTX in it:
/// entry points, the number, sizes and places of parameters, threads. Kernels without an image
/// are passed over.
std::vector<std::string> launchFaults(const Program &program);

} // namespace attnc::e2e

#endif
