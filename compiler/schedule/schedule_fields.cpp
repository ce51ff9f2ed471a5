#include "compiler/schedule/schedule_fields.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace attnc::schedule {

void readFields(const ScheduleFields &fields, DictionaryAttr attr) {
  if (!attr)
    return;
  for (auto [key, field] : fields) {
    if (auto **integer = std::get_if<int64_t *>(&field)) {
      if (auto value = attr.getAs<IntegerAttr>(key))
        **integer = value.getInt();
    } else if (auto **flag = std::get_if<bool *>(&field)) {
      if (auto value = attr.getAs<BoolAttr>(key))
        **flag = value.getValue();
    } else if (auto value = attr.getAs<FloatAttr>(key)) {
      *std::get<double *>(field) = value.getValueAsDouble();
    }
  }
}

DictionaryAttr fieldsAttr(const ScheduleFields &fields, StringRef form, MLIRContext *context) {
  Builder builder(context);
  SmallVector<NamedAttribute> list = {builder.getNamedAttr("form", builder.getStringAttr(form))};
  for (auto [key, field] : fields) {
    Attribute value;
    if (auto *const *integer = std::get_if<int64_t *>(&field))
      value = builder.getI64IntegerAttr(**integer);
    else if (auto *const *flag = std::get_if<bool *>(&field))
      value = builder.getBoolAttr(**flag);
    else
      value = builder.getF64FloatAttr(*std::get<double *>(field));
    list.push_back(builder.getNamedAttr(key, value));
  }
  return builder.getDictionaryAttr(list);
}

} // namespace attnc::schedule
