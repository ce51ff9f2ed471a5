#pragma once

#include "runtime/program/manifest.h"

namespace attnc {

/// A manifest that uses every feature: two inputs that share dims, a static dim, a computed dim, an
/// aligned tensor, a let, params with limits, a requirement, an intermediate and two variants.
///   q f32[b,h,i,d]  k f32[b,hk,j,d] (16-byte aligned)  ->  o f32[b,h,i,d]
Manifest exampleManifest();

} // namespace attnc
