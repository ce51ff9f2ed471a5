#ifndef ATTNC_RED_SCHEDULE_TD
#define ATTNC_RED_SCHEDULE_TD

include "mlir/IR/Interfaces.td"

def Red_Schedule : AttrInterface<"Schedule"> {
  let cppNamespace = "::attnc::red";
  let description = [{
    How a nest is computed. What implements it is one form, with keys that have values; the name of
    the form is the attribute's mnemonic.
  }];
  let methods = [
    InterfaceMethod<"The name of the form.", "::llvm::StringRef", "getForm", (ins), [{
      return ConcreteAttr::getMnemonic();
    }]>,
    InterfaceMethod<"The keys that are printed, with their values, in the order of printing.",
      "::std::vector<::attnc::red::ScheduleValue>", "getKeys">,
    InterfaceMethod<"Whether products of tiles are those of tensor cores.", "bool", "hasTiles", (ins),
      "", [{ return false; }]>,
    InterfaceMethod<"Blocks that have to fit on a multiprocessor.", "int64_t", "getMinBlocks", (ins),
      "", [{ return 1; }]>
  ];
}

#endif
