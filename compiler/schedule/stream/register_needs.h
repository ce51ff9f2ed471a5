// What the step of a stream nest keeps in registers beside fragments and row vectors, whatever the
// tiles.
#ifndef ATTNC_COMPILER_SCHEDULE_STREAM_REGISTER_NEEDS_H
#define ATTNC_COMPILER_SCHEDULE_STREAM_REGISTER_NEEDS_H

#include "dialects/Red/Red.h"

namespace attnc::schedule {

struct StreamPlan;

/// A vector along the stream whose elements scalar code reads.
struct ColumnVector {
  attn::ReadOp read;
  int64_t words;     ///< 32-bit words of an element
  bool onlyCompared; ///< its elements are operands of comparisons that decide conditions
};

/// Counts of what is known before the loop over tiles and used in it, and of what is computed or
/// read early enough in a step to be live beside its products.
struct RegisterNeeds {
  int64_t uniform = 0;     ///< 32-bit words alike for all rows: params, sizes, elements of a cell
  int64_t rows = 0;        ///< 32-bit words of each row: its index, elements of vectors along rows
  llvm::SmallVector<ColumnVector> columns; ///< but those that lanes ask for
  int64_t inputs = 0;    ///< tensors with an element for each score that are not in a plan's inputs
  int64_t terms = 0;     ///< numbers for each score, computed from neither products nor tensors
  int64_t random = 0;    ///< random numbers drawn for each score
  int64_t moments = 0;   ///< states that take scores and the weights made of these at once
  int64_t asked = 0;     ///< 32-bit words of tensors that say which tiles matter
  int64_t quotients = 0; ///< results of rows x inner divided by what differs from row to row
  bool inParts = false;  ///< folds a part of the stream, the index of which is a grid dim
  bool masked = false;   ///< tiles at the border of a mask have code of their own
};

/// Of a plan that is whole but for its needs. A plan that is cut has the same.
RegisterNeeds countRegisterNeeds(red::NestOp nest, const StreamPlan &plan);

} // namespace attnc::schedule

#endif
