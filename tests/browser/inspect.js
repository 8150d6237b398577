// What a reader would see of the page, measured: an expression whose value is a list of faults, each a line of text.
(() => {
  const faults = [];
  const fault = (what, element) => faults.push(`${what}: ${describe(element)}`);
  const describe = (element) =>
    `<${element.tagName.toLowerCase()} class="${element.getAttribute("class") ?? ""}"> ${element.textContent.trim().slice(0, 60)}`;

  // Colours as [red, green, blue, alpha]; computed values are rgb() or rgba().
  const colour = (text) => {
    const parts = text.match(/[\d.]+/g).map(Number);
    return [parts[0], parts[1], parts[2], parts[3] ?? 1];
  };
  const over = (top, bottom) => [0, 1, 2].map((i) => top[i] * top[3] + bottom[i] * (1 - top[3]));
  const background = (element) => {
    if (element === null) return matchMedia("(prefers-color-scheme: dark)").matches ? [18, 18, 18] : [255, 255, 255];
    const own = colour(getComputedStyle(element).backgroundColor);
    return own[3] === 1 ? own.slice(0, 3) : over(own, background(element.parentElement));
  };
  // Relative luminance and contrast as WCAG 2.1 defines them.
  const luminance = (rgb) => {
    const [r, g, b] = rgb.map((c) => c / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (a, b) => {
    const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
    return (high + 0.05) / (low + 0.05);
  };

  const shown = (element) => element.checkVisibility({ visibilityProperty: true, opacityProperty: true });
  const isSvg = (element) => element instanceof SVGElement;

  const inspectText = () => {
    let texts = 0;
    const nodes = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (nodes.nextNode()) {
      const element = nodes.currentNode.parentElement;
      if (!nodes.currentNode.data.trim() || !shown(element) || element.tagName === "title") continue;
      texts += 1;
      const style = getComputedStyle(element);
      const ink = over(colour(isSvg(element) ? style.fill : style.color), background(element));
      const ratio = contrast(ink, background(element));
      if (ratio < 4.5) fault(`contrast ${ratio.toFixed(2)}`, element);
      const size = parseFloat(style.fontSize) * (isSvg(element) ? element.getScreenCTM().a : 1);
      if (size < 10.5) fault(`text of ${size.toFixed(1)} px`, element);
    }
    if (texts < 50) faults.push(`only ${texts} pieces of text are shown`);
  };

  const inspectWidth = () => {
    const width = document.documentElement.clientWidth;
    const needed = document.documentElement.scrollWidth;
    if (needed > width) faults.push(`the page needs ${needed} px and has ${width}`);
    for (const element of document.body.querySelectorAll("*")) {
      if (!shown(element) || element.closest(".wide") || element.closest("svg")) continue;  // these scroll or clip
      const box = element.getBoundingClientRect();
      if (box.right > width + 0.5 || box.left < -0.5) fault(`lies from ${box.left} to ${box.right} px`, element);
    }
    // Tables of many columns may be scrolled on a screen, all but the summary; nobody scrolls paper.
    for (const table of document.querySelectorAll(matchMedia("print").matches ? "table" : "table.cards")) {
      const missing = table.offsetWidth - table.parentElement.clientWidth;
      if (shown(table) && missing > 0) fault(`a table that is ${missing} px too wide`, table);
    }
  };

  const inspectChart = (figure) => {
    const plot = figure.querySelector("svg.plot");
    const box = plot.getBoundingClientRect();
    if (box.width < 250 || box.height < 150) fault(`a chart of ${box.width} x ${box.height} px`, figure);
    const lines = [...plot.querySelectorAll("path.line")];
    if (lines.length === 0) fault("a chart without lines", figure);
    for (const line of lines) {
      const style = getComputedStyle(line);
      const dots = [...plot.querySelectorAll("circle.dot")].filter((dot) => dot.classList[1] === line.classList[1]);
      if (line.getTotalLength() === 0 && dots.length === 0) fault("an empty line", figure);
      if (style.stroke === "none" || parseFloat(style.strokeWidth) < 1) fault("a line that is not drawn", figure);
      // What is not text must stand out by 3 to 1.
      else if (contrast(colour(style.stroke), background(figure)) < 3) fault(`a faint line, ${style.stroke}`, figure);
    }
    const keys = figure.querySelectorAll(".legend li").length;
    if (keys < lines.length) fault(`${keys} keys for ${lines.length} lines`, figure);
    const ticks = (axis) => plot.querySelectorAll(`text.tick[text-anchor="${axis}"]`).length;
    if (ticks("end") < 2 || ticks("middle") < 1) fault("an axis without ticks", figure);
    const labels = [...plot.querySelectorAll("text")].map((text) => [text, text.getBoundingClientRect()]);
    labels.forEach(([text, a], i) => {
      if (a.left < -0.5 || a.right > document.documentElement.clientWidth + 0.5) fault("a label leaves the page", text);
      for (const [other, b] of labels.slice(i + 1)) {
        if (a.left < b.right && b.left < a.right && a.top + 2 < b.bottom && b.top + 2 < a.bottom) {
          fault(`a label lies over "${other.textContent}"`, text);
        }
      }
    });
  };

  const inspectCharts = () => {
    const figures = [...document.querySelectorAll("figure")];
    if (figures.length !== 6) faults.push(`${figures.length} figures instead of 6`);
    for (const figure of figures) {
      if (figure.querySelector("svg.plot")) inspectChart(figure);
      else if (!figure.querySelector(".empty")) fault("neither a chart nor a reason", figure);
    }
    if (!figures.some((figure) => figure.querySelector("svg.plot"))) faults.push("no chart at all");
  };

  inspectText();
  inspectWidth();
  inspectCharts();
  return [...new Set(faults)];
})()
