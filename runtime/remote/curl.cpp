#include "runtime/remote/curl.h"

#include "runtime/remote/broken_pipe.h"

#include <curl/curl.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

namespace attnc::remote {

namespace {

/// The functions of libcurl that are used here.
struct Curl {
  decltype(&curl_global_init) globalInit;
  decltype(&curl_easy_init) init;
  decltype(&curl_easy_reset) reset;
  decltype(&curl_easy_cleanup) cleanup;
  decltype(&curl_easy_setopt) set;
  decltype(&curl_easy_perform) perform;
  decltype(&curl_easy_getinfo) info;
  decltype(&curl_easy_strerror) text;
  decltype(&curl_slist_append) append;
  decltype(&curl_slist_free_all) freeAll;
};

/// Null: there is none.
const Curl *loadCurl() {
  void *library = nullptr;
  for (const char *name : {"libcurl.so.4", "libcurl-gnutls.so.4", "libcurl-nss.so.4"})
    if (!library)
      library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return nullptr;
  static Curl curl;
  bool isWhole = true;
  auto load = [&](auto &function, const char *symbol) {
    function =
        reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, symbol));
    isWhole &= function != nullptr;
  };
  load(curl.globalInit, "curl_global_init");
  load(curl.init, "curl_easy_init");
  load(curl.reset, "curl_easy_reset");
  load(curl.cleanup, "curl_easy_cleanup");
  load(curl.set, "curl_easy_setopt");
  load(curl.perform, "curl_easy_perform");
  load(curl.info, "curl_easy_getinfo");
  load(curl.text, "curl_easy_strerror");
  load(curl.append, "curl_slist_append");
  load(curl.freeAll, "curl_slist_free_all");
  return isWhole && curl.globalInit(CURL_GLOBAL_DEFAULT) == CURLE_OK ? &curl : nullptr;
}

/// Loaded once; it stays.
const Curl *curl() {
  static const Curl *const loaded = loadCurl();
  return loaded;
}

/// Where an answer goes, and how much of it may.
struct Body {
  std::string &bytes;
  std::uint64_t most;
};

std::size_t writeBody(char *data, std::size_t, std::size_t count, void *to) {
  Body &body = *static_cast<Body *>(to);
  if (count > body.most - body.bytes.size())
    return 0; // ends the transfer
  body.bytes.append(data, count);
  return count;
}

std::size_t readBody(char *data, std::size_t size, std::size_t count, void *from) {
  auto &left = *static_cast<std::string_view *>(from);
  std::size_t taken = left.copy(data, size * count);
  left.remove_prefix(taken);
  return taken;
}

class HeaderList {
public:
  HeaderList(const Curl &curl, const std::vector<std::string> &lines) : curl(curl) {
    // libcurl would wait for a "100 Continue" that not every server sends.
    list = curl.append(nullptr, "Expect:");
    for (const std::string &line : lines)
      list = curl.append(list, line.c_str());
  }
  ~HeaderList() { curl.freeAll(list); }
  HeaderList(const HeaderList &) = delete;
  HeaderList &operator=(const HeaderList &) = delete;
  curl_slist *get() const { return list; }

private:
  const Curl &curl;
  curl_slist *list;
};

void setMethod(const Curl &curl, CURL *handle, const HttpRequest &request,
               std::string_view &upload) {
  auto size = static_cast<curl_off_t>(request.body.size());
  if (request.method == "HEAD")
    curl.set(handle, CURLOPT_NOBODY, 1L);
  if (request.method == "POST") {
    curl.set(handle, CURLOPT_POST, 1L);
    curl.set(handle, CURLOPT_POSTFIELDSIZE_LARGE, size);
    curl.set(handle, CURLOPT_POSTFIELDS, request.body.data());
  }
  if (request.method == "PUT") {
    curl.set(handle, CURLOPT_UPLOAD, 1L);
    curl.set(handle, CURLOPT_INFILESIZE_LARGE, size);
    curl.set(handle, CURLOPT_READFUNCTION, readBody);
    curl.set(handle, CURLOPT_READDATA, &upload);
  }
}

void setLimits(const Curl &curl, CURL *handle, const HttpRequest &request) {
  curl.set(handle, CURLOPT_NOSIGNAL, 1L);
  curl.set(handle, CURLOPT_PROTOCOLS, static_cast<long>(CURLPROTO_HTTP | CURLPROTO_HTTPS));
  curl.set(handle, CURLOPT_FOLLOWLOCATION, 0L);
  curl.set(handle, CURLOPT_NOPROXY, "*"); // a proxy that the environment names would get the token
  curl.set(handle, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(request.connect.count()));
  curl.set(handle, CURLOPT_TIMEOUT_MS, static_cast<long>(request.transfer.count()));
}

HttpAnswer answerOf(const Curl &curl, CURL *handle) {
  HttpAnswer answer;
  curl_off_t seconds = 0;
  curl.info(handle, CURLINFO_RESPONSE_CODE, &answer.status);
  curl.info(handle, CURLINFO_RETRY_AFTER, &seconds);
  answer.retryAfter = std::chrono::seconds(seconds);
  return answer;
}

} // namespace

HttpClient::~HttpClient() {
  if (owner == ::getpid())
    for (void *handle : idle)
      curl()->cleanup(handle);
}

void *HttpClient::takeHandle() {
  std::lock_guard guard(mutex);
  if (owner != ::getpid()) {
    idle.clear(); // a parent's connections are the parent's
    owner = ::getpid();
  }
  if (idle.empty())
    return curl()->init();
  void *handle = idle.back();
  idle.pop_back();
  return handle;
}

void HttpClient::giveHandle(void *handle) {
  constexpr std::size_t most = 8; // connections that wait
  curl()->reset(handle);
  std::lock_guard guard(mutex);
  if (owner == ::getpid() && idle.size() < most)
    idle.push_back(handle);
  else
    curl()->cleanup(handle);
}

Result<HttpAnswer> HttpClient::send(const HttpRequest &request) {
  const Curl *curl = remote::curl();
  if (!curl)
    return environmentError("HTTP needs libcurl, which is not here",
                            "install the package libcurl4 (libcurl.so.4)");
  BrokenPipeIgnored ignored;
  auto give = [this](void *taken) { giveHandle(taken); };
  std::unique_ptr<void, decltype(give)> handle(takeHandle(), give);
  if (!handle)
    return environmentError("libcurl has no memory");
  std::string bytes;
  Body body{bytes, request.maxBytes};
  std::string_view upload = request.body;
  HeaderList headers(*curl, request.headers);
  setLimits(*curl, handle.get(), request);
  setMethod(*curl, handle.get(), request, upload);
  curl->set(handle.get(), CURLOPT_URL, request.url.c_str());
  curl->set(handle.get(), CURLOPT_HTTPHEADER, headers.get());
  curl->set(handle.get(), CURLOPT_WRITEFUNCTION, writeBody);
  curl->set(handle.get(), CURLOPT_WRITEDATA, &body);
  if (!socket.empty())
    curl->set(handle.get(), CURLOPT_UNIX_SOCKET_PATH, socket.c_str());
  if (!authorities.empty())
    curl->set(handle.get(), CURLOPT_CAINFO, authorities.c_str());
  CURLcode code = curl->perform(handle.get());
  if (code == CURLE_WRITE_ERROR)
    return environmentError(fmt::format("the answer has more than {} bytes", request.maxBytes));
  if (code != CURLE_OK)
    return environmentError(curl->text(code));
  HttpAnswer answer = answerOf(*curl, handle.get());
  answer.body = std::move(bytes);
  return answer;
}

} // namespace attnc::remote
