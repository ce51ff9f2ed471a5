// NAME.launch.json: how to launch the kernels of a program through the CUDA driver, without attnc.
#ifndef ATTNC_TOOLS_ATTNC_OUTPUT_LAUNCH_JSON_H
#define ATTNC_TOOLS_ATTNC_OUTPUT_LAUNCH_JSON_H

#include "runtime/program/program.h"
#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace attnc::cli {

/// The manifest of a program for a GPU, with what a launcher needs besides:
/// - of each kernel the `file` that holds it (`files`, by the name of its image), its `parameters`
///   with their places in the parameter buffer, and the `attributes` to be set before its launches;
/// - of each intermediate its `strides` in elements and its `bytes`, as expressions;
/// - of the workspace, to what what lies in it is aligned.
/// docs/kernel-abi.md describes every key.
nlohmann::ordered_json launchJson(const Manifest &manifest,
                                  const std::map<std::string, std::string> &files);

/// JSON for people: what fits in a line of 100 columns is one.
std::string readableJson(const nlohmann::ordered_json &json);

} // namespace attnc::cli

#endif
