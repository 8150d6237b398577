// Reads markup from tag to tag with a stack of the elements that are open.
#include "io/report_markup.h"

#include <regex>

namespace octet::io::testing {
namespace {

/// Takes the text up to `end` off the front of `html`; npos-safe: without `end` all of it.
std::string_view take_until(std::string_view& html, std::string_view end) {
  const std::string_view text = html.substr(0, html.find(end));
  html.remove_prefix(text.size());
  return text;
}

std::string text_fault(std::string_view text) {
  if (text.find('>') != std::string_view::npos) return "a bare > in the text: " + std::string(text);
  static const std::regex entity("&(?!(amp|lt|gt|quot|#39);)");
  if (std::regex_search(text.begin(), text.end(), entity)) return "a bare & in: " + std::string(text);
  return "";
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
    static const std::regex attribute("^ ([A-Za-z][A-Za-z0-9-]*)=\"([^\"<]*)\"");
    std::set<std::string> names;
    std::match_results<std::string_view::const_iterator> match;
    while (!text.empty() && markup_.fault.empty()) {
      if (!std::regex_search(text.begin(), text.end(), match, attribute)) {
        markup_.fault = "attributes of <" + element + "> at: " + std::string(text);
        return;
      }
      if (!names.insert(match[1]).second) markup_.fault = "attribute twice in <" + element + ">: " + match[1].str();
      const std::string fault = text_fault(std::string_view(match[2].first, match[2].second));
      if (!fault.empty()) markup_.fault = fault;
      text.remove_prefix(static_cast<std::size_t>(match.length(0)));
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
