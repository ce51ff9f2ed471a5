// What MLIR says is wrong, as text.
#ifndef ATTNC_COMPILER_DRIVER_REPORTED_ERRORS_H
#define ATTNC_COMPILER_DRIVER_REPORTED_ERRORS_H

#include "dialects/Attn/SpecLocation.h"
#include "mlir/IR/Diagnostics.h"
#include <string>

namespace attnc::driver {

/// Collects what MLIR reports while it lives, with places in the spec.
class ReportedErrors {
public:
  explicit ReportedErrors(mlir::MLIRContext *context)
      : handler(context, [this](mlir::Diagnostic &diagnostic) {
          std::string place = attn::specPlace(diagnostic.getLocation());
          text +=
              (text.empty() ? "" : "\n") + (place.empty() ? "" : place + ": ") + diagnostic.str();
          return mlir::success();
        }) {}
  const std::string &str() const { return text; }

private:
  std::string text;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace attnc::driver

#endif
