// Roles of warps, and ops that copy and multiply on their own: each is one call into the device
// headers.
#include "compiler/codegen/cuda/kernel_printer.h"
#include "compiler/codegen/cuda/tile_text.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace attnc::cuda {

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

// The role that starts right after `op`; constants have no text.
static tile::RoleOp roleAfter(Operation *op) {
  Operation *next = op->getNextNode();
  while (isa_and_nonnull<arith::ConstantOp>(next))
    next = next->getNextNode();
  return dyn_cast_or_null<tile::RoleOp>(next);
}
static bool followsRole(Operation *op) {
  Operation *previous = op->getPrevNode();
  while (isa_and_nonnull<arith::ConstantOp>(previous))
    previous = previous->getPrevNode();
  return isa_and_nonnull<tile::RoleOp>(previous);
}

// How a role's registers differ from the equal share that the launch gives to each thread, which is
// a multiple of 8 (PTX ISA, setmaxnreg).
static std::string registersText(tile::RoleOp role, tile::KernelOp kernel) {
  int64_t threads = kernel.getThreads() * kernel.getMinBlocks().value_or(1);
  int64_t share = std::min<int64_t>(65536 / threads / 8 * 8, 255);
  int64_t registers = role.getRegisters();
  if (registers == share)
    return "";
  return (registers < share ? "shrinkRegisters<" : "growRegisters<") + number(registers) + ">();";
}

// Roles that follow each other are the branches of one decision.
void KernelPrinter::printRoles(tile::RoleOp first) {
  if (followsRole(first))
    return;
  if (warpgroup.empty()) {
    warpgroup = names.unique("warpgroup");
    line("const int " + warpgroup + " = warpgroupIndex();");
  }
  for (tile::RoleOp role = first; role; role = roleAfter(role)) {
    uint64_t begin = role.getFirst() / 4, end = begin + role.getCount() / 4;
    std::string condition = "if (" + warpgroup +
                            (role.getCount() == 4 ? " == " + number(begin) : " < " + number(end)) +
                            ")";
    if (role == first)
      open(condition, role.getName());
    else
      reopen(128 * end == kernel.getThreads() ? "else" : "else " + condition, role.getName());
    if (std::string registers = registersText(role, kernel); !registers.empty())
      line(registers);
    printBlock(*role.getBodyBlock());
  }
  close();
}

Text KernelPrinter::groupText(tile::GroupOp group) {
  int64_t first = group->getParentOfType<tile::RoleOp>().getFirst() / 4;
  return first ? Text{warpgroup + " - " + number(first), Binding::Add} : Text{warpgroup};
}

int64_t threadsOf(Operation *op) {
  if (auto role = op->getParentOfType<tile::RoleOp>())
    return 32 * role.getCount();
  return op->getParentOfType<tile::KernelOp>().getThreads();
}

// How the first of the threads that run an op is recognised.
static std::string firstThreadText(Operation *op) {
  auto role = op->getParentOfType<tile::RoleOp>();
  return "threadIndex() == " + number(role ? 32 * role.getFirst() : 0);
}

void KernelPrinter::printSingle(tile::SingleOp single) {
  if (single.getEachWarp()) {
    line("__syncwarp();"); // what the warp wrote before is seen by the one thread
    open("if (lane() == 0)");
  } else {
    open("if (" + firstThreadText(single) + ")");
  }
  printBlock(*single.getBodyBlock());
  close();
}

//===----------------------------------------------------------------------===//
// Pipes and barriers
//===----------------------------------------------------------------------===//

void KernelPrinter::printStartPipes(tile::StartPipesOp start) {
  open("if (threadIndex() == 0)");
  for (BlockArgument argument : kernel.getBodyBlock()->getArguments())
    if (isa<tile::TensorMapType>(argument.getType()))
      line("prefetchMap(" + variables[argument] + ");");
  for (Value value : start.getPipes()) {
    auto pipe = value.getDefiningOp<tile::PipeOp>();
    std::string writers = pipe.getWriters() ? ", " + number(pipe.getWriters()) : "";
    line(tileText(value) + ".start(" + number(pipe.getUsers()) + writers + ");");
  }
  line("publishBarriers();");
  close();
  line("__syncthreads();");
}

std::string KernelPrinter::coordinatesText(ValueRange coordinates) {
  std::string list;
  for (Value coordinate : coordinates)
    list += ", " + text(coordinate);
  return list;
}

void KernelPrinter::printBarrierSync(tile::BarrierSyncOp meet) {
  std::string at = text(meet.getBarrier()) + ", " + number(meet.getThreads());
  if (!meet.getAny())
    return line("meet(" + at + ");");
  std::string some = "meetAny(" + at + ", " + text(meet.getAny()) + ");";
  line("const bool " + declare(meet.getResult(), "some") + " = " + some);
}

// `tile.mbarrier_arrive` here, or at a block of the cluster.
static StringRef arriveText(tile::MbarrierArriveOp arrive) {
  if (arrive.getPeer())
    return arrive.getBytes() ? "arriveExpectingAt(" : "arriveAt(";
  return arrive.getBytes() ? "arriveExpecting(" : "arrive(";
}

//===----------------------------------------------------------------------===//
// All ops: pipes and products, then meeting places and clusters, then global memory
//===----------------------------------------------------------------------===//

std::string KernelPrinter::productText(tile::MmaStartOp mma) {
  std::string a = tileText(mma.getA());
  if (mma.getATransposed())
    a = "transposed(" + a + ")";
  return std::string(mma.getTransposed() ? "startABt" : "startAB") +
         (mma.getFresh() ? "<kFresh>(" : "(") + tileText(mma.getC()) + ", " + a + ", " +
         tileText(mma.getB()) + ")";
}

bool KernelPrinter::printAsyncOp(Operation &op) {
  auto call = [&](const Twine &text) {
    line(text + ";");
    return true;
  };
  auto slot = [&](auto pipeOp, StringRef verb) {
    return call(tileText(pipeOp.getPipe()) + "." + verb + "(" + text(pipeOp.getNumber()) + ")");
  };
  return TypeSwitch<Operation *, bool>(&op)
      .Case([&](tile::RoleOp role) { return printRoles(role), true; })
      .Case([&](tile::SingleOp single) { return printSingle(single), true; })
      .Case([&](tile::PipeOp pipe) { return printPipe(pipe), true; })
      .Case([&](tile::StartPipesOp start) { return printStartPipes(start), true; })
      .Case([&](tile::AcquireOp acquire) { return slot(acquire, "acquire"); })
      .Case([&](tile::AwaitOp await) { return slot(await, "await"); })
      .Case([&](tile::ReleaseOp release) { return slot(release, "release"); })
      .Case([&](tile::CompleteOp complete) { return slot(complete, "complete"); })
      .Case([&](tile::PutOp put) {
        return call(tileText(put.getPipe()) + ".put(" + text(put.getNumber()) + ", " +
                    text(put.getValue()) + ")");
      })
      .Case([&](tile::TakeOp take) {
        std::string taken = tileText(take.getPipe()) + ".take(" + text(take.getNumber()) + ")";
        return call("const i32 " + declare(take.getResult(), "taken") + " = " + taken);
      })
      .Case([&](tile::FillOp fill) {
        bool all = fill.getCoordinates().size() == fill.getMap().getType().getBox().size();
        return call(tileText(fill.getPipe()) + (all ? ".fillFrom(" : ".fill(") +
                    text(fill.getNumber()) + ", " + text(fill.getMap()) +
                    coordinatesText(fill.getCoordinates()) + ")");
      })
      .Case([&](tile::FillRowOp fill) {
        return call(tileText(fill.getPipe()) + ".fillRow(" + text(fill.getNumber()) + ", " +
                    address(text(fill.getPointer()), expression(fill.getOffset())) + ")");
      })
      .Case([&](tile::MmaStartOp mma) {
        comment(mma.getLoc());
        return call(productText(mma));
      })
      .Case([&](tile::MmaFenceOp) { return call("fenceProducts()"); })
      .Case([&](tile::MmaCommitOp) { return call("commitProducts()"); })
      .Case([&](tile::MmaWaitOp wait) {
        std::string list;
        for (Value place : wait.getSettled())
          list += (list.empty() ? "" : ", ") + tileText(place);
        return call("waitProducts<" + number(wait.getPending()) + ">(" + list + ")");
      })
      .Case([&](tile::ConvertOp convert) {
        return call("convertOperand(" + tileText(convert.getOperand()) + ", " +
                    tileText(convert.getFragment()) + ")");
      })
      .Case([&](tile::MoveOp move) {
        return call(tileText(move.getTo()) + " = " + tileText(move.getFrom()));
      })
      .Case([&](tile::StoreOperandOp store) {
        return call("storeOperand(" + tileText(store.getTile()) + ", " +
                    tileText(store.getOperand()) + ")");
      })
      .Case([&](tile::ScalePackedOp scale) {
        return call("scalePacked(" + tileText(scale.getPlace()) + ", " + tileText(scale.getBy()) +
                    ")");
      })
      .Case([&](tile::ReadVectorOp read) {
        return call("readVector(" + tileText(read.getVector()) + ", " + tileText(read.getTile()) +
                    ", " + text(read.getFirst()) + ")");
      })
      .Case([&](tile::WriteVectorOp write) {
        return call("writeVector(" + tileText(write.getTile()) + ", " + text(write.getFirst()) +
                    ", " + tileText(write.getVector()) + ")");
      })
      .Default([&](Operation *) { return printMeetingOp(op); });
}

bool KernelPrinter::printMeetingOp(Operation &op) {
  auto call = [&](const Twine &text) {
    line(text + ";");
    return true;
  };
  auto barrier = [&](auto barrierOp) {
    return tileText(barrierOp.getBarriers()) + "[" + text(barrierOp.getNumber()) + "]";
  };
  return TypeSwitch<Operation *, bool>(&op)
      .Case([&](tile::BarrierSyncOp meet) { return printBarrierSync(meet), true; })
      .Case([&](tile::BarrierArriveOp signal) {
        return call("signal(" + text(signal.getBarrier()) + ", " + number(signal.getThreads()) +
                    ")");
      })
      .Case([&](tile::WarpSyncOp) { return call("__syncwarp()"); })
      .Case([&](tile::PublishOp) { return call("publishToAsync()"); })
      .Case([&](tile::MbarrierInitOp start) {
        return call(tileText(start.getBarriers()) + ".start(" + number(start.getArrivals()) + ")");
      })
      .Case([&](tile::MbarrierArriveOp arrive) {
        std::string bytes = arrive.getBytes() ? ", " + number(*arrive.getBytes()) : "";
        std::string peer = arrive.getPeer() ? ", " + text(arrive.getPeer()) : "";
        return call(arriveText(arrive) + barrier(arrive) + bytes + peer + ")");
      })
      .Case([&](tile::MbarrierWaitOp pass) {
        return call("awaitBarrier(" + barrier(pass) + ", " + text(pass.getParity()) + ")");
      })
      .Case([&](tile::ClusterSyncOp) { return call("meetCluster()"); })
      .Case([&](tile::SendOp send) {
        return call("sendTile(" + tileText(send.getTile()) + ", " + tileText(send.getInto()) +
                    ", " + text(send.getPeer()) + ", " + barrier(send) + ")");
      })
      .Case([&](tile::SendFragmentOp send) {
        return call("sendFragment<" + number(threadsOf(send)) + ">(" + tileText(send.getInto()) +
                    ".base, " + tileText(send.getFragment()) + ", " + text(send.getPeer()) + ", " +
                    barrier(send) + ")");
      })
      .Case([&](tile::ReceiveFragmentOp receive) {
        return call("addReceived<" + number(threadsOf(receive)) + ">(" +
                    tileText(receive.getFragment()) + ", " + tileText(receive.getFrom()) +
                    ".base)");
      })
      .Default([&](Operation *) { return printBulkOp(op); });
}

bool KernelPrinter::printBulkOp(Operation &op) {
  auto call = [&](const Twine &text) {
    line(text + ";");
    return true;
  };
  auto place = [&](auto memoryOp) {
    return address(text(memoryOp.getPointer()), expression(memoryOp.getOffset()));
  };
  return TypeSwitch<Operation *, bool>(&op)
      .Case([&](tile::StoreBoxOp store) {
        bool all = store.getCoordinates().size() == store.getMap().getType().getBox().size();
        std::string name = store.getAdds() ? "addBox" : "storeBox";
        return call(name + (all ? "From(" : "(") + text(store.getMap()) + ", " +
                    tileText(store.getTile()) + coordinatesText(store.getCoordinates()) + ")");
      })
      .Case([&](tile::AddBulkOp add) {
        return call("addBulk(" + place(add) + ", " + tileText(add.getTile()) + ")");
      })
      .Case([&](tile::StoreLanesOp store) {
        return call("storeLanes(" + tileText(store.getTile()) + ", " +
                    tileText(store.getFragment()) + ")");
      })
      .Case([&](tile::SaveOp save) {
        return call("save(" + place(save) + ", " + tileText(save.getPlace()) + ")");
      })
      .Case([&](tile::RestoreOp restore) {
        return call("restore(" + tileText(restore.getPlace()) + ", " + place(restore) + ")");
      })
      .Case([&](tile::StoreCommitOp) { return call("commitStores()"); })
      .Case([&](tile::StoreWaitOp wait) {
        return call((wait.getRead() ? "waitStoresRead<" : "waitStores<") +
                    number(wait.getPending()) + ">()");
      })
      .Case([&](tile::TicketOp ticket) {
        std::string drawn = (ticket.getRelaxed() ? "drawTicketRelaxed(" : "drawTicket(") +
                            place(ticket) + ", " + text(ticket.getCount()) + ")";
        return call("const i32 " + declare(ticket.getResult(), "ticket") + " = " + drawn);
      })
      .Case([&](tile::LastBlockOp last) {
        std::string drawn = "isLastBlock(" + place(last) + ", " + text(last.getCount()) + ", " +
                            text(last.getBarrier()) + ", " + number(last.getThreads()) + ", " +
                            firstThreadText(last) + ")";
        return call("const bool " + declare(last.getResult(), "last") + " = " + drawn);
      })
      .Default([](Operation *) { return false; });
}

} // namespace attnc::cuda
