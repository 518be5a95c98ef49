// The only file that includes the XML library.
#pragma once

#include <cstddef>
#include <pugixml.hpp>
#include <string>
#include <string_view>

namespace stellwerk {

/// Elements nested deeper than this are refused.
inline constexpr int kMaxXmlDepth = 64;
/// And texts of more tags: an element takes some 100 bytes.
inline constexpr std::ptrdiff_t kMaxXmlTags = 2'000'000;

/// Throws Error(unreadable_input) that names the file, the line and the fault.
void parse_xml(std::string_view text, const std::string& file, pugi::xml_document& document);

/// The line (from 1) on which an element of `text` begins.
std::size_t xml_line(std::string_view text, const pugi::xml_node& node);

}  // namespace stellwerk
