// Reads markup from tag to tag with a stack of the elements that are open.
#include "io/report_markup.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace octet::io::testing {
namespace {

/// Takes the text up to `end` off the front of `html`; npos-safe: without `end` all of it.
std::string_view take_until(std::string_view& html, std::string_view end) {
  const std::string_view text = html.substr(0, html.find(end));
  html.remove_prefix(text.size());
  return text;
}

std::string text_fault(std::string_view text) {
  if (text.find_first_of("<>") != std::string_view::npos) return "a bare < or > in: " + std::string(text);
  constexpr std::array<std::string_view, 5> entities{"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
  for (std::size_t at = text.find('&'); at != std::string_view::npos; at = text.find('&', at + 1)) {
    const std::string_view rest = text.substr(at);
    const auto starts = [&](std::string_view entity) { return rest.starts_with(entity); };
    if (std::none_of(entities.begin(), entities.end(), starts)) return "a bare & in: " + std::string(text);
  }
  return "";
}

bool is_name(std::string_view name) {
  const auto fits = [](unsigned char letter) { return std::isalnum(letter) != 0 || letter == '-'; };
  return !name.empty() && std::all_of(name.begin(), name.end(), fits);
}

class Reader {
 public:
  Markup read(std::string_view html) {
    constexpr std::string_view doctype = "<!DOCTYPE html>";
    if (!html.starts_with(doctype)) return {"no doctype", {}, {}};
    html.remove_prefix(doctype.size());
    while (!html.empty() && markup_.fault.empty()) {
      markup_.fault = text_fault(take_until(html, "<"));
      if (html.empty() || !markup_.fault.empty()) break;
      html.remove_prefix(1);
      const std::string_view tag = take_until(html, ">");
      if (html.empty()) return {"a tag without end: " + std::string(tag), {}, {}};
      html.remove_prefix(1);
      read_tag(tag);
      if (tag == "style") take_until(html, "</style>");
    }
    if (markup_.fault.empty() && !open_.empty()) markup_.fault = "never closed: " + open_.back();
    return markup_;
  }

 private:
  void read_tag(std::string_view tag) {
    if (tag.starts_with('/')) {
      const std::string name(tag.substr(1));
      if (open_.empty() || open_.back() != name) {
        markup_.fault = "</" + name + "> closes " + (open_.empty() ? "nothing" : open_.back());
      } else {
        open_.pop_back();
      }
      return;
    }
    const bool closed = tag.ends_with('/');
    if (closed) tag.remove_suffix(1);
    const std::string name(take_until(tag, " "));
    markup_.elements.insert(name);
    read_attributes(tag, name);
    if (!closed && name != "meta") open_.push_back(name);
  }

  void read_attributes(std::string_view text, const std::string& element) {
    std::set<std::string> names;
    while (!text.empty() && markup_.fault.empty()) {
      const std::string_view rest = text;
      const bool apart = text.starts_with(' ');
      if (apart) text.remove_prefix(1);
      const std::string name(take_until(text, "=\""));
      const bool valued = !text.empty();
      if (valued) text.remove_prefix(2);
      const std::string_view value = take_until(text, "\"");
      const bool ended = !text.empty();
      if (ended) text.remove_prefix(1);
      if (!apart || !valued || !ended || !is_name(name)) {
        markup_.fault = "attributes of <" + element + "> at: " + std::string(rest);
      } else if (!names.insert(name).second) {
        markup_.fault = "attribute twice in <" + element + ">: " + name;
      } else {
        markup_.fault = text_fault(value);
      }
    }
    markup_.attributes.merge(names);
  }

  Markup markup_;
  std::vector<std::string> open_;
};

}  // namespace

Markup read_markup(std::string_view html) {
  return Reader().read(html);
}

}  // namespace octet::io::testing
