// Whether this is a build with a sanitizer, whose memory is mostly reserved and whose reports are
// wanted.
#ifndef ATTNC_TOOLS_ATTNCD_WORKERS_SANITIZED_H
#define ATTNC_TOOLS_ATTNCD_WORKERS_SANITIZED_H

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ATTNC_IS_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define ATTNC_IS_SANITIZED 1
#endif

namespace attnc::service {

#ifdef ATTNC_IS_SANITIZED
inline constexpr bool isSanitized = true;
#else
inline constexpr bool isSanitized = false;
#endif

} // namespace attnc::service

#endif
