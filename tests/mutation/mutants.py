"""The mutants: what is broken, where, and which suites should notice.

`old` occurs once in `file`; `new` takes its place, with MUTANT where the two behaviours part. A
change to the sources that makes an entry stale is found by `mutate.py check`, which the test suite
runs: then give the entry the new words.
"""

# "@" is the folder of the built programs. `seconds`: longer means killed.
SUITES = {
    "fuse": {
        "targets": ["transforms_test"],
        "command": ["@transforms_test", "--gtest_brief=1",
                    "--gtest_filter=*Fuse*:*Respellings*:*Propert*:Growth*"],
    },
    "domains": {
        "targets": ["transforms_test"],
        "command": ["@transforms_test", "--gtest_brief=1",
                    "--gtest_filter=*Domain*:*Classes*:*Mask*"],
    },
    "partition": {
        "targets": ["transforms_test"],
        "command": ["@transforms_test", "--gtest_brief=1",
                    "--gtest_filter=Programs/Partitions.*:OutlineEpilogue.*"],
    },
    "laws": {
        "targets": ["transforms_test"],
        "command": ["@transforms_test", "--gtest_brief=1", "--gtest_filter=UpdateLaws.*"],
    },
    "derivation": {
        "targets": ["transforms_test"],
        "command": ["@transforms_test", "--gtest_brief=1", "--gtest_filter=*Derivation*"],
    },
    "merge": {
        "targets": ["transforms_test"],
        "command": ["@transforms_test", "--gtest_brief=1", "--gtest_filter=*Merge*"],
        "seconds": 900,
    },
    "degrees": {
        "targets": ["schedule_test"],
        "command": ["@schedule_test", "--gtest_brief=1", "--gtest_filter=*ReferenceDegree*"],
    },
    "processor": {
        "targets": ["cpu_test"],
        "command": ["@cpu_test", "--gtest_brief=1",
                    "--gtest_filter=CpuAttention.*:CpuFold.*:CpuFused.*:CpuNests.*:CpuStorage.*:CpuScalar.*:CpuRead.*"],
    },
    # Kernels of GPUs in the tile interpreter, over several tiles; "programs" has one of each.
    "kernels": {
        "targets": ["e2e_test"],
        "command": ["@e2e_test", "--gtest_brief=1",
                    "--gtest_filter=*Rescaling*:*Moments*:*.boundWhatIsRead/*:" + ":".join(
                        f"All/InterpretedVariant.*/{spec}_sm_*" for spec in
                        ("entropy_by_xlogy", "variance_of_scores", "global_tokens",
                         "gathered_rows", "paged"))],
    },
    "wide": {
        "targets": ["e2e_test"],
        "command": ["@e2e_test", "--gtest_brief=1", "--gtest_filter=*InterpretedCut*"],
    },
    "programs": {
        "targets": ["attnc_programs"],
        "command": ["@attnc_programs", "--seed", "1", "--count", "160", "--seconds", "600",
                    "--cpu-every", "4", "--gpu-every", "12", "--shrinkings", "0"],
        "seconds": 600,
    },
    "found": {
        "targets": ["attnc_programs"],
        "command": ["@attnc_programs", "--grad-every", "0", "--replay", "tests/programs/found"],
    },
    "gradient_corners": {
        "targets": ["transforms_test"],
        "command": ["@transforms_test", "--gtest_brief=1",
                    "--gtest_filter=GradientCorners.*:Differentiate.*"],
    },
    "gradients": {
        "targets": ["transforms_test"],
        "command": ["@transforms_test", "--gtest_brief=1", "--gtest_filter=*EverySpec*"],
    },
    "gradient_programs": {
        "targets": ["attnc_programs"],
        "command": ["@attnc_programs", "--seed", "1", "--count", "26", "--cpu-every", "0",
                    "--gpu-every", "0", "--grad-every", "1", "--shrinkings", "0"],
    },
    "found_gradients": {
        "targets": ["attnc_programs"],
        "command": ["@attnc_programs", "--replay", "tests/programs/found/gradients"],
    },
    "saved": {
        "targets": ["e2e_test"],
        "command": ["@e2e_test", "--gtest_brief=1", "--gtest_filter=Saved.*"],
    },
}

TRANSFORMS = "compiler/transforms/"

MUTANTS = []


def mutant(id, file, why, old, new, *suites):
    MUTANTS.append({"id": id, "file": file, "why": why, "old": old, "new": new,
                    "suites": list(suites)})


# --- the online rewrite ----------------------------------------------------------------------------

mutant(1, TRANSFORMS + "fusion/join_sum.cpp", "what is left of an exponent after the stream is dropped",
       "if (const ScalarExpr *weight = leftoverWeight(fold, terms, term, reference)) {",
       "if (const ScalarExpr *weight =\n"
       "            MUTANT ? nullptr : leftoverWeight(fold, terms, term, reference)) {",
       "fuse", "programs")
mutant(2, TRANSFORMS + "fusion/join_sum.cpp", "the shift of an exponent has the wrong sign",
       "const ScalarExpr *shift = rest.empty() ? nullptr : terms.neg(terms.sum(rest));",
       "const ScalarExpr *shift = rest.empty() ? nullptr\n"
       "                              : MUTANT       ? terms.sum(rest)\n"
       "                                             : terms.neg(terms.sum(rest));",
       "fuse", "programs")
mutant(3, TRANSFORMS + "fusion/join_sum.cpp", "a term that varies along some streamed dims only is summed",
       "    llvm::SmallDenseSet<StringAttr> dims;\n    for (Value leaf : leavesOf(parts))",
       "    if (MUTANT)\n      return true;\n"
       "    llvm::SmallDenseSet<StringAttr> dims;\n    for (Value leaf : leavesOf(parts))",
       "fuse", "programs", "found")
mutant(4, TRANSFORMS + "fusion/join_sum.cpp", "a deferred divisor multiplies",
       "return inverse ? terms.binary(ScalarExpr::Kind::Div, value, factor->args[1])",
       "return inverse ? terms.binary(MUTANT ? ScalarExpr::Kind::Mul : ScalarExpr::Kind::Div,\n"
       "                                  value, factor->args[1])",
       "fuse", "programs")
mutant(5, TRANSFORMS + "fusion/join_sum.cpp", "a sum over nothing is not set to 0",
       "if (isUndefinedOverNothing(terms, *split, total))",
       "if (!MUTANT && isUndefinedOverNothing(terms, *split, total))",
       "fuse", "programs")
mutant(6, TRANSFORMS + "fusion/join_sum.cpp", "any maximum is taken to cancel with an exponent",
       "if (state.getKind() != FoldKind::Max || !growsWith(along, state.getFactors().front()))",
       "if (state.getKind() != FoldKind::Max ||\n"
       "          (!MUTANT && !growsWith(along, state.getFactors().front())))",
       "fuse", "programs")
mutant(7, TRANSFORMS + "fusion/pass_states.cpp", "an exponent takes the first maximum as its reference",
       "if (state.getKind() == FoldKind::Max && state.getFactors().front() == exponent)",
       "if (state.getKind() == FoldKind::Max &&\n"
       "        (MUTANT || state.getFactors().front() == exponent))",
       "fuse", "programs")
mutant(8, TRANSFORMS + "algebra/terms.cpp", "all expressions count as the same",
       "  unsigned budget = kMostCompared;\n",
       "  if (MUTANT)\n    return true;\n  unsigned budget = kMostCompared;\n",
       "fuse", "programs")
mutant(9, TRANSFORMS + "algebra/split_conditions.cpp", "a mask goes into the exponent of the wrong side",
       "term.exponent = guardExponent(*this, condition, side == 1, term.exponent);",
       "term.exponent = guardExponent(*this, condition, side == (MUTANT ? 2u : 1u),\n"
       "                                      term.exponent);",
       "fuse", "programs")
mutant(10, TRANSFORMS + "algebra/split_terms.cpp", "exp2 uses a logarithm of 2 of 24 bits",
       "argument = binary(whole < high ? ScalarExpr::Kind::Sub : ScalarExpr::Kind::Add, main, rest);",
       "argument = MUTANT ? main\n"
       "                      : binary(whole < high ? ScalarExpr::Kind::Sub : ScalarExpr::Kind::Add,"
       "\n                               main, rest);",
       "fuse", "programs")
mutant(11, TRANSFORMS + "algebra/split_conditions.cpp", "the test of a weight is turned round",
       "    term.countsWhere = !zeroSide;\n",
       "    term.countsWhere = zeroSide == MUTANT;\n",
       "fuse", "programs")
mutant(12, TRANSFORMS + "analysis/finite_factors.cpp", "every factor is taken to be finite",
       "bool keepsFinite(const ScalarExpr *whole) {\n",
       "bool keepsFinite(const ScalarExpr *whole) {\n  if (MUTANT)\n    return true;\n",
       "fuse", "programs", "found")
mutant(13, TRANSFORMS + "analysis/value_ranges.cpp", "every exponential is taken to be bounded",
       "bool isBoundedAbove(const ScalarExpr *e) {\n",
       "bool isBoundedAbove(const ScalarExpr *e) {\n  if (MUTANT)\n    return true;\n",
       "fuse", "programs")
mutant(14, TRANSFORMS + "algebra/scaled_terms.cpp", "a quotient of exponentials adds their exponents",
       "add(x.exponents, inverse ? terms.neg(part) : part);",
       "add(x.exponents, inverse && !MUTANT ? terms.neg(part) : part);",
       "fuse", "programs")

# --- extrema and moments ---------------------------------------------------------------------------

mutant(15, TRANSFORMS + "fusion/join_extremum.cpp", "a function that falls is taken to grow",
       "    falls = growth == Growth::Falls;\n",
       "    falls = !MUTANT && growth == Growth::Falls;\n",
       "fuse", "programs")
mutant(16, TRANSFORMS + "analysis/growth.cpp", "a falling exponent is taken to grow with its maximum",
       "  return grows || (onlyConstants && constants > 0);",
       "  return grows || MUTANT || (onlyConstants && constants > 0);",
       "fuse", "programs")
mutant(17, TRANSFORMS + "algebra/split_terms.cpp", "a moment is about the wrong side of its centre",
       "rest.differences.push_back({sum(along), neg(states.front()), false});",
       "rest.differences.push_back({sum(along), MUTANT ? states.front() : neg(states.front()), false});",
       "fuse", "programs")
mutant(18, "compiler/codegen/cpu/loops/nest_emitter.cpp", "moments are shifted the wrong way",
       "loops.store(inlined(moment.getDifference(), {old, next}), scratch.shift(centre));",
       "loops.store(inlined(moment.getDifference(), {MUTANT ? next : old, MUTANT ? old : next}),\n"
       "              scratch.shift(centre));",
       "programs", "processor")
mutant(19, TRANSFORMS + "derive_updates.cpp", "the binomial formula without its coefficients",
       "      binomial *= double(i + 1) / (fold.degree() - i);\n",
       "      binomial *= MUTANT ? 1 : double(i + 1) / (fold.degree() - i);\n",
       "laws", "programs", "processor")

# --- rescaling -------------------------------------------------------------------------------------

mutant(20, "compiler/codegen/cpu/loops/nest_emitter.cpp", "sums are not rescaled when the maximum moves",
       "  loops.store(inlined(fold.getRescale(), {loops.load(state), loops.load(scale)}), state);\n",
       "  Value old = loops.load(state);\n"
       "  loops.store(MUTANT ? old : inlined(fold.getRescale(), {old, loops.load(scale)}), state);\n",
       "processor", "programs")
mutant(21, TRANSFORMS + "derive_updates.cpp", "what is relative to nothing is not a number",
       "    return math::ExpOp::create(b, loc, attn::SubOp::create(b, loc, x, y));\n",
       "    return math::ExpOp::create(b, loc, MUTANT ? arith::SubFOp::create(b, loc, x, y).getResult()\n"
       "                                              : attn::SubOp::create(b, loc, x, y).getResult());\n",
       "laws", "processor", "programs")
mutant(22, "compiler/schedule/stream/stream_exponents.cpp", "row vectors of a GPU are not rescaled",
       "    if (against && isa<tile::RowsType>(sum.getType()))",
       "    if (against && !MUTANT && isa<tile::RowsType>(sum.getType()))",
       "kernels", "programs")
mutant(23, "compiler/schedule/stream/stream_exponents.cpp", "accumulators of a GPU are not rescaled",
       "    if (against && isa<tile::FragmentType>(sum.getType()))",
       "    if (against && !MUTANT && isa<tile::FragmentType>(sum.getType()))",
       "kernels", "programs")
mutant(24, "compiler/schedule/nest/reference_degree.cpp",
       "results relative to a lagging maximum are stored as they are",
       "  return !allResultsConstant(nest, reference, Degree::unknown());",
       "  return !MUTANT && !allResultsConstant(nest, reference, Degree::unknown());",
       "degrees", "programs")

# --- splits and their merge ------------------------------------------------------------------------

mutant(25, TRANSFORMS + "split.cpp", "an element on the border is in two parts",
       "arith::CmpIOp::create(s, at, arith::CmpIPredicate::slt, x[0], end);",
       "arith::CmpIOp::create(\n                             s, at,\n"
       "                             MUTANT ? arith::CmpIPredicate::sle : arith::CmpIPredicate::slt,"
       "\n                             x[0], end);",
       "programs", "merge")
mutant(26, TRANSFORMS + "split.cpp", "partial sums are merged without their maxima",
       "    if (state.getReference()) {\n      exponent = ofParts[state.getReference()];",
       "    if (state.getReference() && !MUTANT) {\n      exponent = ofParts[state.getReference()];",
       "programs", "merge")
mutant(27, TRANSFORMS + "derive_updates.cpp", "an empty part has the maximum 0",
       "return isReal(type) ? TypedAttr(real(-INFINITY))",
       "return isReal(type) ? TypedAttr(real(MUTANT ? 0 : -INFINITY))",
       "laws", "programs", "merge")
mutant(28, TRANSFORMS + "split.cpp", "moments of parts are merged without their coefficients",
       "if (double times = terms[i].times; times != 1)",
       "if (double times = MUTANT ? 1 : terms[i].times; times != 1)",
       "programs", "merge")

# --- masks and bounds ------------------------------------------------------------------------------

mutant(29, TRANSFORMS + "domain/tile_bounds.cpp", "the last index of a hull is left out",
       "  return {{}, a.add(last, a.constant(1))};",
       "  return {{}, MUTANT ? last : a.add(last, a.constant(1))};",
       "domains", "programs")
mutant(30, TRANSFORMS + "domain/tile_bounds.cpp", "the hull of two masks begins with the later one",
       "    both.lo = a.min(x.lo, y.lo);",
       "    both.lo = MUTANT ? a.max(x.lo, y.lo) : a.min(x.lo, y.lo);",
       "domains", "programs")
mutant(31, TRANSFORMS + "domain/tile_bounds.cpp", "a tile counts as full if one element is kept",
       "    return a.notNegative(tile.bound(mask.linear, {}, /*upper=*/false));",
       "    return a.notNegative(tile.bound(mask.linear, {}, /*upper=*/MUTANT));",
       "domains", "programs")
mutant(32, TRANSFORMS + "domain/integer_comparisons.cpp", "a quotient is rounded the other way",
       "    Value below = a.sub(k, a.constant(1));\n",
       "    Value below = MUTANT ? a.constant(0) : a.sub(k, a.constant(1));\n",
       "domains", "programs")
mutant(33, TRANSFORMS + "domain/integer_comparisons.cpp", "one residue too many is left out",
       "masks.residue(of, a.add(residue, one), divisor, below)",
       "masks.residue(of, a.add(residue, MUTANT ? a.add(one, one) : one), divisor,\n"
       "                                   MUTANT ? a.sub(below, one) : below)",
       "domains", "programs")
mutant(34, TRANSFORMS + "mask_intervals.cpp", "a difference is -inf where its second operand is",
       "    if (isa<SubOp>(op))\n      return isFiniteScalar(operand(0));",
       "    if (isa<SubOp>(op))\n      return isFiniteScalar(operand(MUTANT ? 1 : 0));",
       "domains", "programs")
mutant(35, TRANSFORMS + "mask_intervals.cpp", "a tile is skipped if it leaves one state alone",
       "      live = masks.either(live, liveState(state));",
       "      live = MUTANT && state != nest.states().front() ? masks.both(live, liveState(state))\n"
       "                                                     : masks.either(live, liveState(state));",
       "domains", "fuse", "programs")
mutant(36, TRANSFORMS + "mask_intervals.cpp", "a tile is full if one of two masks keeps all of it",
       "        full = masks.both(full, mask);",
       "        full = MUTANT ? masks.either(full, mask) : masks.both(full, mask);",
       "domains", "programs")
mutant(37, TRANSFORMS + "mask_intervals.cpp", "any factor is taken to keep the sign of a score",
       "    return literal && literal.getValueAsDouble() > 0;",
       "    return MUTANT || (literal && literal.getValueAsDouble() > 0);",
       "domains", "programs", "found")
mutant(38, TRANSFORMS + "domain/tile_extremes.cpp", "the extremes of a tile begin at the wrong identity",
       "largest ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max();",
       "largest != MUTANT ? std::numeric_limits<int64_t>::min()\n"
       "                          : std::numeric_limits<int64_t>::max();",
       "domains", "fuse", "programs")

# --- order, tiles ----------------------------------------------------------------------------------

mutant(39, TRANSFORMS + "reassociate.cpp", "a maximum of products is ordered anew like a sum",
       "  return fold && fold.getKind() == FoldKind::Add && !fold.getExponent() &&",
       "  return fold && (MUTANT || fold.getKind() == FoldKind::Add) && !fold.getExponent() &&",
       "fuse", "programs")
mutant(40, TRANSFORMS + "fusion/fold_order.cpp", "a pass is put off although another one reads it",
       "      if (id == static_cast<int>(pass) && indirect)\n        return false;",
       "      if (id == static_cast<int>(pass) && indirect && !MUTANT)\n        return false;",
       "fuse", "programs")
mutant(41, "compiler/codegen/cpu/loops/nest_emitter.cpp", "the last tile of a stream is taken to be whole",
       "    scope.ranges[dim] = {origin, arith::MinSIOp::create(builder, loc, rest, step)};",
       "    scope.ranges[dim] = {origin,\n"
       "                         MUTANT ? step : arith::MinSIOp::create(builder, loc, rest, step)};",
       "processor", "programs")

# --- moments and the columns of wide heads, on GPUs ------------------------------------------------

SCHEDULE = "compiler/schedule/"

mutant(42, SCHEDULE + "stream/stream_moments.cpp", "the shares of lanes are shifted the wrong way",
       "          return {shiftOf(b, momentAbout(array), x.back(), evaluator.evaluate(array))};",
       "          Value common = evaluator.evaluate(array);\n"
       "          if (MUTANT)\n"
       "            return {shiftOf(b, momentAbout(array), common, x.back())};\n"
       "          return {shiftOf(b, momentAbout(array), x.back(), common)};",
       "kernels")
mutant(43, SCHEDULE + "stream/stream_moments.cpp", "lower moments are shifted before the higher ones",
       "    return std::pair(plan.states[y].fold.degree(), x) < std::pair(plan.states[x].fold.degree(), y);",
       "    if (MUTANT)\n"
       "      return plan.states[x].fold.degree() < plan.states[y].fold.degree();\n"
       "    return std::pair(plan.states[y].fold.degree(), x) < std::pair(plan.states[x].fold.degree(), y);",
       "kernels")
mutant(44, SCHEDULE + "steps/expand_ahead.cpp", "a part of the scores is read where the tile before has it",
       "  return inAll;",
       "  return MUTANT ? part : inAll;",
       "wide")
mutant(45, SCHEDULE + "steps/lower_to_steps.cpp", "only the last part of the scores counts",
       "/*fresh=*/part == 0);",
       "/*fresh=*/MUTANT || part == 0);",
       "wide")

# --- live tiles, lengths, pages --------------------------------------------------------------------

mutant(46, SCHEDULE + "steps/expand_ahead.cpp", "the tiles of a vote are counted from behind them",
       "  Value begin = arith::SubIOp::create(b, loc, left.next, constant(kLanes));",
       "  Value begin = MUTANT ? left.next\n"
       "                       : arith::SubIOp::create(b, loc, left.next, constant(kLanes)).getResult();",
       "kernels")
mutant(47, TRANSFORMS + "domain/mask_cells.cpp", "a cell of one index counts as empty",
       "holds = a.both(holds, a.notNegative(a.sub(rest.range(dim).last, rest.range(dim).first)));",
       "holds = a.both(holds, a.notNegative(a.sub(\n"
       "                             MUTANT ? a.sub(rest.range(dim).last, a.constant(1))\n"
       "                                    : rest.range(dim).last,\n"
       "                             rest.range(dim).first)));",
       "domains", "programs")
mutant(48, SCHEDULE + "portable/lower_portable.cpp", "rows beyond a length are read",
       "  if (!operand.length)\n    return extent32(along);",
       "  if (MUTANT || !operand.length)\n    return extent32(along);",
       "kernels")
mutant(49, SCHEDULE + "threads/point_evaluator.cpp", "a subscript may be the extent",
       "arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, subscript,",
       "arith::CmpIOp::create(builder, loc,\n"
       "                                       MUTANT ? arith::CmpIPredicate::ule\n"
       "                                              : arith::CmpIPredicate::ult,\n"
       "                                       subscript,",
       "kernels")

# --- costs, cuts and what is said of them ----------------------------------------------------------

mutant(50, TRANSFORMS + "analysis/extent_cost.cpp", "a degree more is cheap where the reference shape is small",
       "  return degree == other.degree ? atReference",
       "  return MUTANT || degree == other.degree ? atReference",
       "partition", "fuse")
mutant(51, TRANSFORMS + "algebra/product_orders.cpp", "a dim is summed before the last factor that has it",
       "cast<attn::ArrayType>(factor.getType()).hasDim(dim))\n        return false;",
       "cast<attn::ArrayType>(factor.getType()).hasDim(dim))\n        return MUTANT;",
       "partition", "fuse", "programs")
mutant(52, TRANSFORMS + "outline_epilogue.cpp", "an output is read again, rounded to its type",
       "      if (!isOutput(kept[number]))",
       "      if (MUTANT || !isOutput(kept[number]))",
       "partition")
mutant(53, TRANSFORMS + "fusion/join_sum.cpp", "the maximum of another state is recorded as an own one",
       "states.record(isNew ? Rule::OwnMaximum",
       "states.record(isNew || MUTANT ? Rule::OwnMaximum",
       "derivation")

# --- steps ------------------------------------------------------------------------------------------

mutant(54, SCHEDULE + "steps/synchronise.cpp", "weights are overwritten while a product reads them",
       "    bool writesOperand = intersects(places, group.read);",
       "    bool writesOperand = !MUTANT && intersects(places, group.read);",
       "kernels")

# --- gradients --------------------------------------------------------------------------------------

DERIVATIVES = "dialects/Attn/Derivatives.cpp"
GRADIENT = TRANSFORMS + "gradient/"
READ_ADJOINTS = TRANSFORMS + "read_adjoints/"

mutant(55, DERIVATIVES, "the derivative by a divisor has the wrong sign",
       "perUnit = negated(b, product(b, perUnit, op->getResult(0)));",
       "perUnit = MUTANT ? product(b, perUnit, op->getResult(0))\n"
       "                     : negated(b, product(b, perUnit, op->getResult(0)));",
       "gradient_corners", "gradients")
mutant(56, DERIVATIVES, "each of two equal operands of a maximum has all of its gradient",
       "Value share = product(b, 0.5, grad);", "Value share = product(b, MUTANT ? 1 : 0.5, grad);",
       "gradient_corners")
mutant(57, DERIVATIVES, "a gradient of 0 is multiplied by an infinite derivative",
       "Value unlessZero(ImplicitLocOpBuilder &b, Value grad, Value value) {\n",
       "Value unlessZero(ImplicitLocOpBuilder &b, Value grad, Value value) {\n"
       "  if (MUTANT)\n    return value;\n",
       "gradient_corners")
mutant(58, DERIVATIVES, "the side of a choice that is not taken has the gradient",
       "return operand == 1 ? choose(b, condition, grad, zero)",
       "return operand == (MUTANT ? 2u : 1u) ? choose(b, condition, grad, zero)",
       "gradient_corners", "gradients")
mutant(59, DERIVATIVES, "a power keeps its exponent in its derivative",
       "Value partial = product(b, y, math::PowFOp::create(b, x, less));",
       "Value partial = product(b, y, math::PowFOp::create(b, x, MUTANT ? y : less));",
       "gradients")
mutant(60, DERIVATIVES, "every exponential is taken to be at most 1",
       "return isAtMostZero(op->getOperand(0)) ? result",
       "return MUTANT || isAtMostZero(op->getOperand(0)) ? result",
       "gradient_corners")
mutant(61, DERIVATIVES, "nothing is taken to be infinite where it is multiplied",
       "return mayBeInfinite(factor) ? unlessZero", "return !MUTANT && mayBeInfinite(factor) ? unlessZero",
       "gradient_corners", "gradients")
mutant(62, GRADIENT + "reduction_adjoints.cpp", "elements that are all the maximum have all of its gradient",
       "  Value count = arrays.sum(one, dimNames(reduce.getDims()));",
       "  Value count =\n"
       "      MUTANT ? arrays.constant(real, 1) : arrays.sum(one, dimNames(reduce.getDims()));",
       "gradient_corners")
mutant(63, GRADIENT + "reduction_adjoints.cpp", "a mean passes the gradient of a sum",
       "    return adjointOfMean(arrays, reduce, gradient);",
       "    return MUTANT ? gradient : adjointOfMean(arrays, reduce, gradient);",
       "gradients")
mutant(64, GRADIENT + "reduction_adjoints.cpp", "of a product with one 0 nothing has a gradient",
       "one = isEqual(b, s[3], 1);", "one = isEqual(b, s[3], MUTANT ? -1 : 1);",
       "gradient_corners")
mutant(65, GRADIENT + "reduction_adjoints.cpp", "a softmax passes the gradient of its weights only",
       "return SubOp::create(b, x[0], x[1]); });",
       "return MUTANT ? x[0] : Value(SubOp::create(b, x[0], x[1])); });",
       "gradients")
mutant(66, READ_ADJOINTS + "read_adjoint.cpp", "a subscript that falls is taken to grow",
       "return equation.slope > 0 ?", "return MUTANT || equation.slope > 0 ?",
       "gradient_corners")
mutant(67, READ_ADJOINTS + "read_adjoint.cpp", "an element that no place reads has a gradient",
       "      if (!varies(condition))\n", "      if (!MUTANT && !varies(condition))\n",
       "gradients", "gradient_programs")
mutant(68, GRADIENT + "shifts.cpp", "a sum of what moves at two rates is taken to move at one",
       "    if (a && b && *a == *b)\n", "    if (a && b && (MUTANT || *a == *b))\n",
       "gradients", "gradient_programs")
mutant(69, GRADIENT + "shifts.cpp", "a sum over a dim of the shift is taken to move with it",
       "    return llvm::any_of(dimNames(dims),\n",
       "    return !MUTANT && llvm::any_of(dimNames(dims),\n",
       "gradient_corners", "gradients")
mutant(70, GRADIENT + "halve.cpp", "a maximum that is compared with its elements is saved",
       "if (!comparisons.contains(source) &&", "if ((MUTANT || !comparisons.contains(source)) &&",
       "found_gradients")
mutant(71, GRADIENT + "halve.cpp", "what is larger than the tensors is saved",
       "    return size < largest ||", "    return MUTANT || size < largest ||",
       "saved")
mutant(72, GRADIENT + "differentiate.cpp", "a second use replaces the gradient of the first",
       "    gradient = arrays.add(gradient, share);",
       "    gradient = MUTANT ? share : arrays.add(gradient, share);",
       "gradient_corners", "gradients")
mutant(73, "compiler/transforms/arrays/array_builder.cpp", "a sum along which nothing varies is one element",
       "  for (StringAttr dim : missing)\n    total = map(",
       "  for (StringAttr dim : MUTANT ? Dims() : missing)\n    total = map(",
       "gradients")
mutant(74, "compiler/transforms/arrays/substitution.cpp", "the slope of a difference is that of a sum",
       "return isa<arith::AddIOp>(op) ? *x + *y", "return MUTANT || isa<arith::AddIOp>(op) ? *x + *y",
       "gradient_corners", "gradients")
