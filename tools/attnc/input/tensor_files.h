// Tensors in .npy files.
#ifndef ATTNC_TOOLS_ATTNC_INPUT_TENSOR_FILES_H
#define ATTNC_TOOLS_ATTNC_INPUT_TENSOR_FILES_H

#include "compiler/driver/execution/execute.h"
#include "runtime/npy/npy.h"
#include <string>

namespace attnc::cli {

/// The array of a file, in `dtype`: as it is, or converted between float types or between integer
/// types (NumPy has no bf16: uint16 is taken as its bits). Failures: Usage where the file is not
/// there or holds another kind of elements, or integers that do not fit.
driver::HostTensor readTensor(const std::string &input, const std::string &path, DType dtype);

/// Writes a tensor; bf16 as uint16, with a note.
void writeTensor(const std::string &output, const std::string &path,
                 const driver::HostTensor &tensor);

} // namespace attnc::cli

#endif
