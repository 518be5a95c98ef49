// The grammar of JSON (RFC 8259), read from left to right without recursion.
//
// Problem: our plans have millions of sends, and hundreds of megabytes may be a hostile file; both must be read at the
// speed of memory, and a fault must be told with its line and column.
// Idea: one pass over the text; what is read goes to a handler as it comes, texts without escapes as views into the text
// itself, whole numbers without a detour. Nothing is kept here but one bit a level.
// Guarantee: exactly the texts of the RFC are accepted (UTF-8, no control characters in strings, no lone surrogates; numbers
// within int64, uint64 or the range of double); a byte order mark before it is skipped. Linear time.
// json_text_test.cpp compares it with an independent reader on texts that were changed at random.
#pragma once

#include <charconv>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace stellwerk::json {

/// Calls `handler` for all that is in a text. It has
///   null(), boolean(bool), integer(int64), large(uint64), fraction(double), text(string_view, bool escaped),
///   begin_object(), key(string_view, bool escaped), end_object(), begin_array(), end_array(),
///   [[noreturn]] wrong(std::size_t offset, std::string what).
/// A view with escapes lives until the next call. The handler bounds the nesting.
template <class Handler>
class TextParser {
 public:
  TextParser(std::string_view text, Handler& handler)
      : begin_(text.data()), at_(text.data()), end_(text.data() + text.size()), handler_(handler) {
    if (text.starts_with("\xef\xbb\xbf")) at_ += 3;
  }

  void parse() {
    do {
      value();
    } while (after_value());
    if (at_ != end_) expected("the end of the text");
  }

 private:
  /// A scalar, or the beginning of a container: then what is in it comes next.
  void value() {
    for (;;) {
      skip_blanks();
      if (at_ == end_) expected("a value");
      switch (*at_) {
        case '{':
          ++at_;
          handler_.begin_object();
          closers_.push_back('}');
          skip_blanks();
          if (at_ != end_ && *at_ == '}') return;
          key();
          continue;
        case '[':
          ++at_;
          handler_.begin_array();
          closers_.push_back(']');
          skip_blanks();
          if (at_ != end_ && *at_ == ']') return;
          continue;
        case '"': {
          bool escaped = false;
          const std::string_view text = string(escaped);
          return handler_.text(text, escaped);
        }
        case 't':
          word("true");
          return handler_.boolean(true);
        case 'f':
          word("false");
          return handler_.boolean(false);
        case 'n':
          word("null");
          return handler_.null();
        default:
          if (*at_ == '-' || digit()) return number();
          expected("a value");
      }
    }
  }

  /// Closes what ends here; true if a value must follow.
  bool after_value() {
    while (!closers_.empty()) {
      skip_blanks();
      const char closer = closers_.back();
      if (at_ != end_ && *at_ == closer) {
        ++at_;
        closers_.pop_back();
        if (closer == '}') {
          handler_.end_object();
        } else {
          handler_.end_array();
        }
        continue;
      }
      if (at_ == end_ || *at_ != ',') expected(closer == '}' ? "',' or '}'" : "',' or ']'");
      ++at_;
      if (closer == '}') key();
      return true;
    }
    skip_blanks();
    return false;
  }

  void key() {
    skip_blanks();
    if (at_ == end_ || *at_ != '"') expected("a key in double quotes");
    bool escaped = false;
    const std::string_view text = string(escaped);
    handler_.key(text, escaped);
    skip_blanks();
    if (at_ == end_ || *at_ != ':') expected("':' after a key");
    ++at_;
  }

  void skip_blanks() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')) ++at_;
  }
  bool digit() const { return at_ != end_ && *at_ >= '0' && *at_ <= '9'; }

  void word(std::string_view expected_word) {
    const std::string_view rest(at_, static_cast<std::size_t>(end_ - at_));
    if (!rest.starts_with(expected_word)) expected("a value");
    at_ += expected_word.size();
  }

  void digits() {
    if (!digit()) expected("a digit");
    while (digit()) ++at_;
  }

  void number() {
    const char* const start = at_;
    const bool negative = *at_ == '-';
    if (negative) ++at_;
    if (!digit()) expected("a digit");
    std::uint64_t sum = 0;
    const char* const first = at_;
    if (*at_ == '0') {
      ++at_;
    } else {
      for (; digit(); ++at_) sum = 10 * sum + static_cast<std::uint64_t>(*at_ - '0');
    }
    if (at_ == end_ || (*at_ != '.' && *at_ != 'e' && *at_ != 'E')) {
      constexpr std::ptrdiff_t kSafeDigits = 18;
      if (at_ - first <= kSafeDigits) {
        const auto value = static_cast<std::int64_t>(sum);
        return handler_.integer(negative ? -value : value);
      }
      std::int64_t value = 0;
      if (std::from_chars(start, at_, value).ec == std::errc{}) return handler_.integer(value);
      if (!negative && std::from_chars(start, at_, sum).ec == std::errc{})
        return handler_.large(sum);
    } else {
      if (*at_ == '.') {
        ++at_;
        digits();
      }
      if (at_ != end_ && (*at_ == 'e' || *at_ == 'E')) {
        ++at_;
        if (at_ != end_ && (*at_ == '+' || *at_ == '-')) ++at_;
        digits();
      }
    }
    double value = 0;
    constexpr std::ptrdiff_t kLongest = 4096;
    if (at_ - start > kLongest || std::from_chars(start, at_, value).ec != std::errc{})
      wrong_at(start, "a number that is too long, too large or too close to 0");
    handler_.fraction(value);
  }

  /// What is between the quotes, the first of which is here.
  std::string_view string(bool& escaped) {
    const char* const open = at_++;
    const char* piece = at_;
    scratch_.clear();
    for (;;) {
      if (at_ == end_) wrong_at(open, "the text that begins here is not closed: a '\"' is missing");
      const auto byte = static_cast<unsigned char>(*at_);
      if (byte == '"') break;
      if (byte == '\\') {
        scratch_.append(piece, at_);
        escape();
        piece = at_;
        escaped = true;
      } else if (byte < 0x20) {
        wrong(
            "a control character in a text (or its closing '\"' is missing): write \\n, \\t or "
            "\\u00XX");
      } else if (byte < 0x80) {
        ++at_;
      } else {
        utf8();
      }
    }
    const char* const close = at_++;
    if (!escaped) return {piece, static_cast<std::size_t>(close - piece)};
    scratch_.append(piece, close);
    return scratch_;
  }

  /// Moves on behind one character of several bytes: RFC 3629, table 3-7 of the Unicode standard.
  void utf8() {
    const auto byte = [&](std::ptrdiff_t k) {
      return at_ + k < end_ ? static_cast<unsigned char>(at_[k]) : 0U;
    };
    const unsigned lead = byte(0), second = byte(1);
    const auto follows = [&](std::ptrdiff_t k) { return (byte(k) & 0xc0) == 0x80; };
    std::ptrdiff_t length = 0;
    if (lead >= 0xc2 && lead <= 0xdf) {
      length = 2;
    } else if ((lead & 0xf0) == 0xe0) {
      const bool overlong = lead == 0xe0 && second < 0xa0;
      const bool surrogate = lead == 0xed && second >= 0xa0;
      length = overlong || surrogate ? 0 : 3;
    } else if (lead >= 0xf0 && lead <= 0xf4) {
      const bool overlong = lead == 0xf0 && second < 0x90;
      const bool beyond = lead == 0xf4 && second >= 0x90;
      length = overlong || beyond ? 0 : 4;
    }
    bool good = length > 0;
    for (std::ptrdiff_t k = 1; k < length; ++k) good = good && follows(k);
    if (!good) wrong("bytes in a text that are not UTF-8");
    at_ += length;
  }

  void escape() {
    const char* const backslash = at_++;
    const char letter = at_ == end_ ? '\0' : *at_++;
    constexpr std::string_view kLetters = "\"\\/bfnrt", kMeant = "\"\\/\b\f\n\r\t";
    if (const std::size_t known = kLetters.find(letter); known != std::string_view::npos) {
      scratch_ += kMeant[known];
      return;
    }
    if (letter != 'u') wrong_at(backslash, "an escape that JSON does not have");
    std::uint32_t code = hex(backslash);
    if (code >= 0xd800 && code < 0xe000) {
      const bool paired = code < 0xdc00 && end_ - at_ >= 2 && at_[0] == '\\' && at_[1] == 'u';
      if (paired) at_ += 2;
      const std::uint32_t low = paired ? hex(backslash) : 0;
      if (low < 0xdc00 || low >= 0xe000) wrong_at(backslash, "half of a surrogate pair");
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    append_utf8(code);
  }

  std::uint32_t hex(const char* backslash) {
    std::uint32_t code = 0;
    if (end_ - at_ >= 4) {
      const auto [stop, fault] = std::from_chars(at_, at_ + 4, code, 16);
      if (stop == at_ + 4 && fault == std::errc{} && *at_ != '-') {
        at_ += 4;
        return code;
      }
    }
    wrong_at(backslash, "four hexadecimal digits are missing after \\u");
  }

  void append_utf8(std::uint32_t code) {
    const auto add = [&](std::uint32_t byte) { scratch_ += static_cast<char>(byte); };
    const auto tail = [&](unsigned shift) { add(0x80 | ((code >> shift) & 0x3f)); };
    if (code < 0x80) {
      add(code);
    } else if (code < 0x800) {
      add(0xc0 | (code >> 6));
      tail(0);
    } else if (code < 0x10000) {
      add(0xe0 | (code >> 12));
      tail(6);
      tail(0);
    } else {
      add(0xf0 | (code >> 18));
      tail(12);
      tail(6);
      tail(0);
    }
  }

  [[noreturn]] void expected(const char* what) {
    if (at_ == end_) wrong(std::string("the text ends where ") + what + " is expected");
    const auto byte = static_cast<unsigned char>(*at_);
    std::string found;
    if (byte < 0x20 || byte >= 0x7f) {
      constexpr std::string_view kDigits = "0123456789abcdef";
      found = std::string("the byte 0x") + kDigits[byte >> 4] + kDigits[byte & 15];
    } else {
      found = std::string("'") + *at_ + "'";
    }
    wrong(std::string(what) + " is expected here, not " + found);
  }
  [[noreturn]] void wrong(std::string what) { wrong_at(at_, std::move(what)); }
  [[noreturn]] void wrong_at(const char* where, std::string what) {
    handler_.wrong(static_cast<std::size_t>(where - begin_), std::move(what));
  }

  const char* begin_;
  const char* at_;
  const char* end_;
  Handler& handler_;
  std::vector<char> closers_;
  std::string scratch_;
};

}  // namespace stellwerk::json
