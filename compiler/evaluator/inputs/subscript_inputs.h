// Random values for integer inputs that serve as subscripts: tables, ids of rows.
#ifndef ATTNC_COMPILER_EVALUATOR_INPUTS_SUBSCRIPT_INPUTS_H
#define ATTNC_COMPILER_EVALUATOR_INPUTS_SUBSCRIPT_INPUTS_H

#include "dialects/Attn/Attn.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include <cstdint>
#include <map>
#include <string>

namespace attnc::evaluator {

/// For each integer input that the subscripts of reads are computed from, a number n such that
/// values in [0, n) mostly fall inside the axes that it selects along; at least 1. What is added to
/// an input's value does not count; what it is multiplied with or divided by does.
llvm::DenseMap<mlir::Value, int64_t> subscriptRanges(attn::ProgramOp program,
                                                     const std::map<std::string, int64_t> &extents);

/// An integer of the storage type: in [0, range) as far as the type goes, but for one in 16, which
/// is outside: negative, just beyond, or one of the type's ends. `random` is a random word.
int64_t subscriptValue(mlir::Type storage, int64_t range, uint64_t random);

/// For each integer input that lengths of dims are computed from, the greatest of them.
llvm::DenseMap<mlir::Value, int64_t> lengthRanges(attn::ProgramOp program,
                                                  const std::map<std::string, int64_t> &extents);

/// The integer inputs that hold offsets of packed sequences: lengths are differences of two of
/// their elements.
llvm::SmallDenseSet<mlir::Value> offsetInputs(attn::ProgramOp program);

/// Offset `number` of `count` into `rows` rows: ascending from 0 to all, with empty sequences.
int64_t offsetValue(mlir::Type storage, int64_t rows, int64_t number, int64_t count, uint64_t key);

/// A length of at most `longest` that the storage type holds; often 0 or all. `random` is a random
/// word.
int64_t lengthValue(mlir::Type storage, int64_t longest, uint64_t random);

} // namespace attnc::evaluator

#endif
