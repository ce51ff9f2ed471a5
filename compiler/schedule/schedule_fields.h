// The keys of a schedule, each in one place: the attribute and schedule files have the same.
#ifndef ATTNC_COMPILER_SCHEDULE_SCHEDULE_FIELDS_H
#define ATTNC_COMPILER_SCHEDULE_SCHEDULE_FIELDS_H

#include "mlir/IR/BuiltinAttributes.h"
#include <variant>
#include <vector>

namespace attnc::schedule {

/// A key's value in a schedule.
using ScheduleField = std::variant<int64_t *, bool *, double *>;
using ScheduleFields = std::vector<std::pair<llvm::StringRef, ScheduleField>>;

/// Reads the fields from an attribute, which may be null. Those that it lacks are left alone.
void readFields(const ScheduleFields &fields, mlir::DictionaryAttr attr);

/// The attribute with the fields' values, and "form".
mlir::DictionaryAttr fieldsAttr(const ScheduleFields &fields, llvm::StringRef form,
                                mlir::MLIRContext *context);

} // namespace attnc::schedule

#endif
