#include "tools/web/html_tree.h"

#include <chrono>
#include <csetjmp>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <utility>

namespace tools {
namespace {

constexpr std::size_t k_max_memory = 256u << 20;
constexpr std::chrono::seconds k_max_time{
    5};                               // of the processor; a bounded page takes a tenth of it
constexpr unsigned k_look_each = 64;  // allocations; one may cost a walk up a deep tree

std::chrono::nanoseconds processor_time() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

}  // namespace

// What gumbo allocated. It gives the tree back node by node on the stack, which a deep one
// exhausts; here all goes at once. gumbo does not expect that memory ends, so the way out is a long
// jump.
class HtmlTree::Memory {
 public:
  explicit Memory(std::stop_token stop) : stop_(std::move(stop)) {}
  ~Memory() {
    while (first_.next != &first_) {
      release(first_.next);
    }
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  static void* allocate(void* self, std::size_t size) {
    return static_cast<Memory*>(self)->take(size);
  }
  static void deallocate(void* self, void* block) {
    if (block != nullptr) {
      static_cast<Memory*>(self)->release(static_cast<Block*>(block) - 1);
    }
  }

  // Null where it was given up.
  GumboOutput* parse(const std::string& page) {
    GumboOptions options = kGumboDefaultOptions;
    options.allocator = allocate;
    options.deallocator = deallocate;
    options.userdata = this;
    options.max_errors = 0;
    if (setjmp(way_out_) != 0) {  // NOLINT(cert-err52-cpp): only gumbo's C is jumped over
      return nullptr;
    }
    return gumbo_parse_with_options(&options, page.data(), page.size());
  }

 private:
  struct alignas(std::max_align_t) Block {
    Block* next;
    Block* previous;
    std::size_t size;
  };

  void* take(std::size_t size) {
    const bool is_time_to_look = ++count_ % k_look_each == 0;
    const bool has_ended =
        is_time_to_look && (stop_.stop_requested() || processor_time() - begin_ > k_max_time);
    void* const memory =
        used_ + size <= k_max_memory && !has_ended ? std::malloc(sizeof(Block) + size) : nullptr;
    if (memory == nullptr) {
      std::longjmp(way_out_, 1);  // NOLINT(cert-err52-cpp)
    }
    auto* const block =
        new (memory) Block{.next = first_.next, .previous = &first_, .size = sizeof(Block) + size};
    first_.next->previous = block;
    first_.next = block;
    used_ += block->size;
    return block + 1;
  }

  void release(Block* block) {
    block->next->previous = block->previous;
    block->previous->next = block->next;
    used_ -= block->size;
    std::free(block);
  }

  std::stop_token stop_;
  std::chrono::nanoseconds begin_ = processor_time();
  std::jmp_buf way_out_{};
  Block first_{.next = &first_, .previous = &first_, .size = 0};
  std::size_t used_ = 0;
  unsigned count_ = 0;
};

HtmlTree::HtmlTree(std::unique_ptr<std::string> page, std::unique_ptr<Memory> memory)
    : page_(std::move(page)), memory_(std::move(memory)) {}
HtmlTree::~HtmlTree() = default;
HtmlTree::HtmlTree(HtmlTree&&) noexcept = default;

agent::Result<HtmlTree> HtmlTree::parse(std::string page, const std::stop_token& stop) {
  HtmlTree tree(std::make_unique<std::string>(std::move(page)), std::make_unique<Memory>(stop));
  const GumboOutput* const output = tree.memory_->parse(*tree.page_);
  if (output == nullptr && stop.stop_requested()) {
    return agent::fail(agent::Code::tool_cancelled, "stopped while reading the page");
  }
  if (output == nullptr) {
    return agent::fail(agent::Code::tool_result_unusable,
                       "the page is too tangled to be read as text",
                       "Look for the same in another form or place.");
  }
  tree.root_ = output->root;
  return tree;
}

}  // namespace tools
