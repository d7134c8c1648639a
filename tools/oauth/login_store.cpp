#include "tools/oauth/login_store.h"

#include "agent/durable_file.h"
#include "agent/sha256.h"
#include "agent/text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace tools::oauth {
namespace {

namespace fs = std::filesystem;
using agent::Code;
using agent::Descriptor;
using agent::Json;
using agent::Result;

constexpr std::size_t k_most_bytes = 256u << 10;
constexpr std::size_t k_name_digits = 32;
constexpr std::chrono::milliseconds k_patience{60'000};
constexpr std::chrono::milliseconds k_between_tries{50};
constexpr int k_version = 1;

std::unexpected<agent::Error> failed(std::string_view doing, const fs::path& file, int error) {
  return agent::fail(
      Code::storage_io,
      fmt::format(
          "cannot {} {}: {}", doing, file.string(), std::generic_category().message(error)));
}

std::unexpected<agent::Error> unusable(const fs::path& file, std::string_view why) {
  return agent::fail(
      Code::mcp_auth,
      fmt::format("the login that is kept in {} cannot be used: {}", file.string(), why),
      "log in again after `errand mcp logout`");
}

// Where others can write, a login may be anybody's. A folder that is not there holds none.
Result<void> check_folder(const fs::path& folder) {
  struct stat status{};
  if (::stat(folder.c_str(), &status) != 0 ||
      (status.st_uid == ::geteuid() && (status.st_mode & 022) == 0)) {
    return {};
  }
  return agent::fail(
      Code::mcp_auth,
      fmt::format("the login is not read: others can write in {}", folder.string()),
      status.st_uid == ::geteuid()
          ? fmt::format("`chmod go-w {}`, and log in again where somebody else may have done so",
                        agent::shell_word(folder.string()))
          : "it has to be a folder of yours: XDG_STATE_HOME names another one");
}

// Each text of a login with its name in the file, read and written by one list.
template <typename LoginType, typename Visit>
void visit_texts(LoginType& login, const Visit& visit) {
  visit("server", login.server);
  visit("issuer", login.issuer);
  visit("resource", login.resource);
  visit("token_endpoint", login.token_endpoint);
  visit("client_id", login.client_id);
  visit("client_secret", login.client_secret);
  visit("client_auth", login.client_auth);
  visit("access_token", login.access_token);
  visit("refresh_token", login.refresh_token);
}

bool read_list(const Json& json, std::string_view key, std::vector<std::string>& list) {
  const Json* value = agent::find(json, key);
  if (value == nullptr || !value->is_array()) {
    return false;
  }
  for (const Json& one : *value) {
    if (!one.is_string()) {
      return false;
    }
    list.push_back(one.get<std::string>());
  }
  return true;
}

bool read_time(const Json& json, std::string_view key, std::int64_t& time) {
  const Json* value = agent::find(json, key);
  if (value == nullptr || !value->is_number_integer()) {
    return false;
  }
  time = agent::integer_of(*value).value_or(0);
  return time >= 0;
}

// 0, or the errno.
int read_all(int descriptor, std::string& text) {
  std::array<char, 4096> buffer{};
  while (text.size() <= k_most_bytes) {
    const ssize_t got = ::read(descriptor, buffer.data(), buffer.size());
    if (got == 0) {
      return 0;
    }
    if (got < 0 && errno != EINTR) {
      return errno;
    }
    text.append(buffer.data(), got < 0 ? 0 : static_cast<std::size_t>(got));
  }
  return EFBIG;
}

}  // namespace

Json json_of(const Login& login) {
  Json json = {{"version", k_version}};
  visit_texts(
      login, [&](std::string_view key, const std::string& text) { json[std::string(key)] = text; });
  json["got"] = login.got;
  json["expires"] = login.expires;
  json["scopes"] = login.scopes;
  json["wanted"] = login.wanted;
  return json;
}

std::optional<Login> login_of(const Json& json) {
  Login login;
  bool is_whole = agent::integer_at(json, "version") == k_version;
  visit_texts(login, [&](std::string_view key, std::string& text) {
    const Json* value = agent::find(json, key);
    is_whole = is_whole && value != nullptr && value->is_string();
    text = is_whole ? value->get<std::string>() : std::string();
  });
  is_whole = is_whole && read_time(json, "got", login.got) &&
             read_time(json, "expires", login.expires) && read_list(json, "scopes", login.scopes) &&
             read_list(json, "wanted", login.wanted);
  return is_whole ? std::optional(std::move(login)) : std::nullopt;
}

LoginStore::LoginStore(fs::path folder, std::initializer_list<std::string_view> name)
    : folder_(std::move(folder)),
      file_(folder_ /
            (agent::sha256_hex(agent::length_prefixed(name)).substr(0, k_name_digits) + ".json")) {}

Result<std::optional<Login>> LoginStore::load() const {
  TRY(check_folder(folder_.parent_path()));
  TRY(check_folder(folder_));
  const Descriptor opened(::open(file_.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  if (!opened && (errno == ENOENT || errno == ENOTDIR)) {
    return std::nullopt;
  }
  struct stat status{};
  if (!opened || ::fstat(opened.get(), &status) != 0) {
    return unusable(file_, std::generic_category().message(errno));
  }
  if (!S_ISREG(status.st_mode) || status.st_uid != ::geteuid() || (status.st_mode & 077) != 0) {
    return unusable(file_, "it is not a file that the user alone can read");
  }
  std::string text;
  if (const int error = read_all(opened.get(), text); error != 0) {
    return unusable(file_, std::generic_category().message(error));
  }
  const auto json = agent::parse_json(text, 10);
  auto login = json ? login_of(*json) : std::nullopt;
  if (!login) {
    return unusable(file_, "it is damaged");
  }
  return login;
}

Result<void> LoginStore::make_folder() const {
  std::error_code error;
  fs::create_directories(folder_.parent_path(), error);
  if (::mkdir(folder_.c_str(), 0700) != 0 && errno != EEXIST) {
    return failed("make", folder_, errno);
  }
  struct stat status{};
  if (::lstat(folder_.c_str(), &status) != 0) {
    return failed("look at", folder_, errno);
  }
  if (!S_ISDIR(status.st_mode) || status.st_uid != ::geteuid() || (status.st_mode & 022) != 0) {
    return failed("use", folder_, EPERM);
  }
  return {};
}

Result<void> LoginStore::save(const Login& login) const {
  TRY(make_folder());
  const int error = agent::write_durably(file_, agent::dump(json_of(login)) + "\n", 0600);
  return error == 0 ? Result<void>() : failed("write", file_, error);
}

Result<bool> LoginStore::remove() const {
  if (::unlink(file_.c_str()) != 0) {
    return errno == ENOENT || errno == ENOTDIR ? Result<bool>(false)
                                               : Result<bool>(failed("remove", file_, errno));
  }
  if (const int error = agent::sync_folder(folder_); error != 0) {
    return failed("write", folder_, error);
  }
  return true;
}

// The file of the lock stays: were it removed, two could each have a lock of their own.
Result<Descriptor> LoginStore::lock(agent::Clock& clock, std::stop_token stop) const {
  TRY(make_folder());
  const fs::path file = file_.string() + ".lock";
  Descriptor opened(
      ::open(file.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600));
  if (!opened) {
    return failed("open", file, errno);
  }
  const auto until = clock.now() + k_patience;
  while (::flock(opened.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) {
      return failed("lock", file, errno);
    }
    if (clock.now() >= until) {
      return failed("lock", file, ETIMEDOUT);
    }
    if (!clock.sleep_for(k_between_tries, stop)) {
      return agent::fail(Code::run_cancelled, "stopped while another process renews the login");
    }
  }
  return opened;
}

}  // namespace tools::oauth
