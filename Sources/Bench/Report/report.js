//<![CDATA[
(function () {
  "use strict";
  var tip = document.getElementById("tip");

  // Titles become tips of our own, at once and for the keyboard too.
  document.querySelectorAll("svg title").forEach(function (title) {
    title.parentNode.setAttribute("data-tip", title.textContent);
    title.remove();
  });

  function show(words, x, y) {
    tip.textContent = words;
    tip.hidden = false;
    var box = tip.getBoundingClientRect();
    tip.style.left = Math.max(4, Math.min(x + 14, innerWidth - box.width - 8)) + "px";
    tip.style.top = (y + box.height + 26 > innerHeight ? y - box.height - 12 : y + 18) + "px";
  }

  document.addEventListener("pointermove", function (event) {
    var words = event.target.getAttribute && event.target.getAttribute("data-tip");
    if (words) { show(words, event.clientX, event.clientY); } else { tip.hidden = true; }
  });
  document.addEventListener("pointerleave", function () { tip.hidden = true; });
  document.addEventListener("scroll", function () { tip.hidden = true; }, true);

  function duration(value) {
    var units = [[1e9, " s"], [1e6, " ms"], [1e3, " µs"], [1, " ns"]];
    var unit = units.find(function (each) { return Math.abs(value) >= each[0]; }) || units[3];
    return Number((value / unit[0]).toPrecision(4)) + unit[1];
  }

  function step(rough) {
    var base = Math.pow(10, Math.floor(Math.log10(rough)));
    return ([1, 2, 5].find(function (each) { return each * base >= rough; }) || 10) * base;
  }

  document.querySelectorAll(".timeline").forEach(function (figure) {
    var left = 130, right = 1072;
    var svg = figure.querySelector("svg");
    var axis = svg.querySelector(".axis");
    var detail = figure.querySelector(".detail");
    var bars = Array.from(svg.querySelectorAll(".slices rect"));
    var names = Array.from(svg.querySelectorAll(".names text"));
    var arrows = Array.from(svg.querySelectorAll(".arrows path"));
    var span = Number(figure.dataset.end);
    var view = { from: 0, to: span };
    var current = null;

    function place(time) { return left + (time - view.from) / (view.to - view.from) * (right - left); }
    function start(mark) { return Number(mark.dataset.start); }
    function end(mark) { return Number(mark.dataset.end); }

    function draw() {
      bars.forEach(function (bar) {
        var a = Math.max(left, place(start(bar))), b = Math.min(right, place(end(bar)));
        var isIn = end(bar) >= view.from && view.to >= start(bar);
        bar.style.display = isIn ? "" : "none";
        if (!isIn) { return; }
        bar.setAttribute("x", a);
        bar.setAttribute("width", Math.max(b - a, 0.6));
      });
      names.forEach(function (name) {
        var a = Math.max(left, place(start(name))), b = Math.min(right, place(end(name)));
        var fits = b - a > name.textContent.length * 6.6 + 8;
        name.setAttribute("class", fits ? "name" : "name hidden");
        name.setAttribute("x", a + 5);
      });
      arrows.forEach(function (arrow) {
        var isIn = end(arrow) >= view.from && view.to >= start(arrow);
        arrow.style.display = isIn ? "" : "none";
        if (!isIn) { return; }
        var a = Math.max(left, place(start(arrow))), b = Math.min(right, place(end(arrow)));
        var from = Number(arrow.dataset.from), to = Number(arrow.dataset.to), middle = (from + to) / 2;
        var back = to + (to > from ? -5 : 5);
        var head = view.to >= end(arrow)
          ? "M" + (b - 2.5) + " " + back + "L" + b + " " + to + "L" + (b + 2.5) + " " + back : "";
        arrow.setAttribute("d", "M" + a + " " + from + "C" + a + " " + middle + " " + b + " " + middle
          + " " + b + " " + to + head);
      });
      var marks = Array.from(axis.children), line = marks[0], text = marks[1];
      var bottom = line.getAttribute("y2");
      axis.textContent = "";
      var size = step((view.to - view.from) / 6);
      for (var t = Math.ceil(view.from / size) * size; view.to >= t; t += size) {
        var rule = line.cloneNode(), label = text.cloneNode();
        rule.setAttribute("x1", place(t));
        rule.setAttribute("x2", place(t));
        rule.setAttribute("y2", bottom);
        label.setAttribute("x", place(t));
        label.textContent = t === 0 ? "0" : duration(t);
        axis.append(rule, label);
      }
      if (axis.children.length === 0) { axis.append(line, text); }
    }

    function look(from, to) {
      var width = Math.min(span, Math.max(to - from, span / 20000, 10));
      from = Math.min(Math.max(0, from), span - width);
      view = { from: from, to: from + width };
      draw();
    }

    function zoom(factor, at) {
      var middle = at === undefined ? (view.from + view.to) / 2 : at;
      look(middle - (middle - view.from) * factor, middle + (view.to - middle) * factor);
    }

    function choose(bar) {
      if (!bar) { return; }
      if (current) { current.classList.remove("current"); }
      current = bar;
      bar.classList.add("current");
      arrows.forEach(function (arrow) {
        var isEnd = arrow.dataset.lane === bar.dataset.lane && arrow.dataset.end === bar.dataset.start;
        arrow.classList.toggle("current", isEnd);
      });
      detail.textContent = bar.getAttribute("data-tip");
      var width = view.to - view.from;
      if (start(bar) > view.to || view.from > end(bar)) { look(start(bar) - width / 4, start(bar) + width * 0.75); }
    }

    function neighbour(step) {
      if (!current) { return bars[0]; }
      var own = bars.filter(function (bar) { return bar.dataset.lane === current.dataset.lane; });
      return own[own.indexOf(current) + step];
    }

    function across(step) {
      if (!current) { return bars[0]; }
      var lane = String(Number(current.dataset.lane) + step), time = start(current), best = null;
      bars.forEach(function (bar) {
        if (bar.dataset.lane !== lane) { return; }
        if (!best || Math.abs(start(best) - time) > Math.abs(start(bar) - time)) { best = bar; }
      });
      return best;
    }

    function time(event) {
      var box = svg.getBoundingClientRect();
      var x = (event.clientX - box.left) / box.width * 1080;
      return view.from + (x - left) / (right - left) * (view.to - view.from);
    }

    figure.querySelector(".buttons").hidden = false;
    figure.querySelectorAll("button").forEach(function (button) {
      button.addEventListener("click", function () {
        if (button.dataset.zoom === "all") { look(0, span); } else { zoom(button.dataset.zoom === "in" ? 0.5 : 2); }
      });
    });
    svg.addEventListener("keydown", function (event) {
      var width = view.to - view.from;
      switch (event.key) {
        case "ArrowRight": choose(neighbour(1)); break;
        case "ArrowLeft": choose(neighbour(-1)); break;
        case "ArrowDown": choose(across(1)); break;
        case "ArrowUp": choose(across(-1)); break;
        case "PageDown": look(view.from + width / 2, view.to + width / 2); break;
        case "PageUp": look(view.from - width / 2, view.to - width / 2); break;
        case "+": case "=": zoom(0.5, current ? start(current) : undefined); break;
        case "-": zoom(2); break;
        case "0": case "Home": look(0, span); break;
        default: return;
      }
      event.preventDefault();
    });
    svg.addEventListener("wheel", function (event) {
      if (!event.ctrlKey) { return; }
      event.preventDefault();
      zoom(event.deltaY > 0 ? 1.25 : 0.8, time(event));
    }, { passive: false });
    svg.addEventListener("dblclick", function (event) { zoom(0.4, time(event)); });
    var drag = null;
    svg.addEventListener("pointerdown", function (event) {
      drag = { x: event.clientX, from: view.from, to: view.to };
      if (event.target.dataset.start !== undefined) { choose(event.target); }
    });
    svg.addEventListener("pointermove", function (event) {
      if (!drag || event.buttons === 0) { drag = null; return; }
      var shift = (drag.x - event.clientX) / svg.getBoundingClientRect().width * 1080
        / (right - left) * (drag.to - drag.from);
      look(drag.from + shift, drag.to + shift);
    });
    svg.addEventListener("pointerup", function () { drag = null; });
  });
}());
//]]>
