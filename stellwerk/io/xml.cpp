#include "stellwerk/io/xml.hpp"

#include <algorithm>

#include "stellwerk/base/error.hpp"
#include "stellwerk/io/text.hpp"

namespace stellwerk {
namespace {

std::size_t line_at(std::string_view text, std::ptrdiff_t offset) {
  const std::size_t end =
      std::min(text.size(), static_cast<std::size_t>(std::max<std::ptrdiff_t>(0, offset)));
  return 1 + static_cast<std::size_t>(
                 std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(end), '\n'));
}

}  // namespace

void parse_xml(std::string_view text, const std::string& file, pugi::xml_document& document) {
  if (std::count(text.begin(), text.end(), '<') > kMaxXmlTags) {
    throw Error(ErrorCode::unreadable_input,
                one_line(file) + ": more than " + std::to_string(kMaxXmlTags) + " tags");
  }
  const pugi::xml_parse_result result =
      document.load_buffer(text.data(), text.size(), pugi::parse_default, pugi::encoding_utf8);
  if (!result) {
    throw Error(ErrorCode::unreadable_input, one_line(file) + ":" +
                                                 std::to_string(line_at(text, result.offset)) +
                                                 ": not well-formed XML: " + result.description());
  }
  // Children before the next sibling, without recursion: the nesting may be a bomb.
  int depth = 0;
  pugi::xml_node node = document.first_child();
  while (node) {
    if (depth > kMaxXmlDepth) {
      throw Error(ErrorCode::unreadable_input,
                  one_line(file) + ":" + std::to_string(xml_line(text, node)) +
                      ": elements are nested more than " + std::to_string(kMaxXmlDepth) + " deep");
    }
    if (node.first_child()) {
      node = node.first_child();
      ++depth;
      continue;
    }
    while (node && !node.next_sibling()) {
      node = node.parent();
      --depth;
      if (node == document) return;
    }
    node = node.next_sibling();
  }
}

std::size_t xml_line(std::string_view text, const pugi::xml_node& node) {
  return line_at(text, node.offset_debug());
}

}  // namespace stellwerk
