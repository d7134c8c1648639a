#!/usr/bin/env python3
"""Fails where a source uses a name of the C++ library whose header neither it nor a header of this tree includes for it.

    tests/check_includes.py [TREE]

Compilers find that only by chance: sources are compiled together, and headers of the library include each other."""
import pathlib
import re
import sys

FOLDERS = ("agent", "cli", "config", "providers", "tools")
# By header; a name that stands with several is declared by each of them.
NAMES = {
    "algorithm": "clamp count_if equal find find_if max min minmax ranges sort stable_sort transform",
    "array": "array to_array",
    "atomic": "atomic atomic_bool atomic_flag",
    "bit": "bit_cast bit_ceil countl_zero endian has_single_bit popcount",
    "bitset": "bitset",
    "charconv": "from_chars from_chars_result to_chars",
    "chrono": "chrono",
    "cmath": "abs ceil floor fmod isfinite isinf isnan llround log2 lround pow",
    "compare": "partial_ordering strong_ordering weak_ordering",
    "condition_variable": "condition_variable condition_variable_any cv_status",
    "cstddef": "byte max_align_t nullptr_t ptrdiff_t size_t",
    "cstdint": "int16_t int32_t int64_t int8_t intmax_t intptr_t uint16_t uint32_t uint64_t uint8_t uintmax_t uintptr_t",
    "cstdlib": "abs getenv strtod strtol strtoul system",
    "cstring": "memchr memcmp memcpy memmove memset strcmp strerror strlen strsignal",
    "ctime": "gmtime localtime mktime strftime time_t tm",
    "deque": "deque",
    "exception": "current_exception exception exception_ptr rethrow_exception set_terminate",
    "expected": "expected unexpect unexpected",
    "filesystem": "filesystem",
    "fstream": "fstream ifstream ofstream",
    "functional": "bind_front function greater hash invoke less move_only_function plus ref",
    "future": "async future packaged_task promise",
    "initializer_list": "initializer_list",
    "iostream": "cerr cin cout ostream",
    "iterator": "advance back_inserter distance inserter make_move_iterator next prev",
    "limits": "numeric_limits",
    "list": "list",
    "map": "map multimap",
    "memory": "addressof enable_shared_from_this make_shared make_unique shared_ptr unique_ptr weak_ptr",
    "mutex": "adopt_lock call_once lock_guard mutex once_flag recursive_mutex scoped_lock unique_lock",
    "new": "bad_alloc nothrow set_new_handler",
    "numeric": "accumulate gcd iota reduce",
    "optional": "nullopt optional",
    "ostream": "ostream",
    "queue": "priority_queue queue",
    "random": "mt19937 mt19937_64 random_device uniform_int_distribution uniform_real_distribution",
    "ranges": "ranges views",
    "set": "multiset set",
    "shared_mutex": "shared_lock shared_mutex",
    "span": "as_bytes span",
    "sstream": "istringstream ostringstream stringstream",
    "stdexcept": "invalid_argument length_error logic_error out_of_range runtime_error",
    "stop_token": "stop_callback stop_source stop_token",
    "string": "getline stoi stoll stoull string to_string u32string",
    "string_view": "string_view u32string_view",
    "system_error": "errc error_code error_condition generic_category make_error_code system_category system_error",
    "thread": "jthread this_thread thread",
    "tuple": "apply make_tuple tie tuple",
    "type_traits": "decay_t invoke_result_t is_enum_v is_same_v remove_cvref_t remove_reference_t underlying_type_t",
    "typeinfo": "bad_cast type_info",
    "unordered_map": "unordered_map unordered_multimap",
    "unordered_set": "unordered_set",
    "utility": "as_const cmp_equal cmp_greater cmp_greater_equal cmp_less cmp_less_equal declval exchange forward in_place "
               "in_range index_sequence move pair swap to_underlying unreachable",
    "variant": "get_if holds_alternative monostate variant visit",
    "vector": "vector",
}
HEADERS = {}
for header, names in NAMES.items():
    for name in names.split():
        HEADERS.setdefault(name, []).append(header)
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)
NAME = re.compile(r"\bstd::(\w+)")
ASIDE = re.compile(r"//.*")


class Tree:
    def __init__(self, root):
        paths = [path for folder in FOLDERS for path in sorted((root / folder).rglob("*")) if path.suffix in (".h", ".cpp")]
        self.sources = {path.relative_to(root).as_posix(): path.read_text() for path in paths}
        self.included = {name: INCLUDE.findall(text) for name, text in self.sources.items()}

    def all_included(self, source):
        """By the source and by headers of the tree, which it may rely on."""
        found, left = set(), [source]
        while left:
            for name in self.included.get(left.pop(), ()):
                if name not in found:
                    found.add(name)
                    left.append(name)
        return found

    def missing(self):
        """(source, header, a name of it)"""
        for source, text in self.sources.items():
            found, lacking = self.all_included(source), {}
            for name in NAME.findall(ASIDE.sub("", text)):
                headers = HEADERS.get(name, ())
                if headers and not found.intersection(headers):
                    lacking.setdefault(headers[0], name)
            yield from ((source, header, name) for header, name in lacking.items())


def main():
    tree = Tree(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path("."))
    lines = [f"{source}: std::{name} needs <{header}>" for source, header, name in tree.missing()]
    print("\n".join(lines), end="\n" if lines else "")
    return 1 if lines or not tree.sources else 0


if __name__ == "__main__":
    sys.exit(main())
