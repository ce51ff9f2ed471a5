#include "compiler/schedule/chains/beside.h"
#include "compiler/schedule/chains/chain_nests.h"
#include "compiler/schedule/encode/encoded_operands.h"
#include "compiler/schedule/packed/packed_tiles.h"

using namespace mlir;

namespace attnc::schedule {
namespace {

/// The nests that one launch computes.
struct Launch {
  SmallVector<red::NestOp> nests;

  /// Other launches come before it, or behind it, for it alone.
  bool hasBefore() { return hasBehind() || !packsOf(nests.front()).empty(); }
  bool hasBehind() { return !encodingsOf(nests.front()).empty(); }

  bool stores(Value array) {
    auto nest = array.getDefiningOp<red::NestOp>();
    return nest && llvm::is_contained(nests, nest);
  }

  bool reads(Launch &other) {
    return llvm::any_of(nests, [&](red::NestOp nest) {
      return llvm::any_of(nest.captures(), [&](Value array) { return other.stores(array); });
    });
  }
};

SmallVector<Launch> launchesOf(ArrayRef<red::NestOp> nests) {
  SmallVector<Launch> launches;
  Attribute chain;
  for (red::NestOp nest : nests) {
    Attribute own = nest->getAttr(kChainAttr);
    if (!own || own != chain)
      launches.emplace_back();
    launches.back().nests.push_back(nest);
    chain = own;
  }
  return launches;
}

} // namespace

void markBesides(ArrayRef<red::NestOp> nests) {
  SmallVector<Launch> launches = launchesOf(nests);
  size_t first = 0; // of those that run side by side
  for (size_t i = 1; i < launches.size(); ++i) {
    Launch &launch = launches[i];
    bool waits = launch.hasBefore() || launches[i - 1].hasBehind() ||
                 launch.nests.front()->getParentOp() != nests.front()->getParentOp();
    for (size_t other = first; other < i; ++other)
      waits = waits || launch.reads(launches[other]);
    if (waits) {
      first = i;
      continue;
    }
    UnitAttr yes = UnitAttr::get(launch.nests.front().getContext());
    launches[i - 1].nests.back()->setAttr(kLetsNextAttr, yes);
    launch.nests.front()->setAttr(kBesideAttr, yes);
  }
}

void takeMarks(red::NestOp first, red::NestOp last, tile::KernelOp kernel) {
  kernel.setBeside(first->hasAttr(kBesideAttr));
  kernel.setLetsNext(last->hasAttr(kLetsNextAttr));
}

} // namespace attnc::schedule
