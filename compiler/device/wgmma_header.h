// Device headers that are generated, because their text depends on a number.
#ifndef ATTNC_COMPILER_DEVICE_WGMMA_HEADER_H
#define ATTNC_COMPILER_DEVICE_WGMMA_HEADER_H

#include <map>
#include <string>

namespace attnc::device {

/// The text of `attnc/wgmma_nN.cuh`: the instructions wgmma.mma_async.m64nNk16 with f32 results for
/// N = `columns`, a multiple of 8 from 8 to 256 (PTX ISA). An asm statement names each of the N / 2
/// registers of the result, so no template can say it.
std::string wgmmaHeader(int columns);

/// Every header that a generated source may include, by the name in its #include: the files, and
/// the generated ones that `source` names.
std::map<std::string, std::string> headersFor(const std::string &source);

} // namespace attnc::device

#endif
