// A family's article: a map of shapes in the colour of the kernel that is chosen for each.

// family is the article of kernels for many shapes.
function family(article, data) {
	const one = (selector) => article.querySelector(selector);
	const hues = ["#0b7a9a", "#d9801a", "#8159c4", "#3c9447", "#c8453a", "#8f7138", "#d268a6", "#4b6cb7", "#0f9b8e", "#a3475a", "#6b8e23", "#7a6ff0"];
	const name = (entry) => entry < 0 ? "the general kernel" : "entry " + entry;
	let picked = null;
	const places = ["first", "second"].map((which) => {
		const box = one("select." + which);
		box.append(...data.axes.map((axis, k) => new Option(axis.name, String(k))));
		return box;
	});
	places[1].append(new Option("slowdown", "slowdown"));
	places[1].value = data.axes.length > 1 ? "1" : "slowdown";

	function draw() {
		const c = colors(), [x, y] = places.map((box) => box.value);
		if (x === "" || !data.shapes.length) {
			return Object.assign(base(c), {xAxis: {show: false}, yAxis: {show: false}, series: []});
		}
		const at = (s, k) => k === "slowdown" ? s.slowdown : data.axes[k].values[data.shapes.indexOf(s)];
		const reach = (k) => {
			const [low, high] = extent(data.shapes.map((s) => at(s, k)));
			return k === "slowdown" ? [1, Math.max(1.02, high * 1.01)] : [low / 1.3, high * 1.3];
		};
		const line = (k, more) => {
			const [min, max] = reach(k);
			return axis(c, Object.assign(k === "slowdown" ? {type: "value", min, max, name: "slowdown"} : {type: "log", logBase: max > 500 * min ? 10 : 2, min, max, name: data.axes[k].name},
			{axisLabel: {color: c.faint, hideOverlap: true, showMinLabel: k === "slowdown", showMaxLabel: false, formatter: (v) => v > 100 ? String(Math.round(v)) : significant(v, 3)}}, more));
		};
		const dot = (s) => {
			const hue = s.entry < 0 ? c.dot : hues[s.entry % hues.length];
			return {value: [at(s, x), at(s, y)], shape: s, symbol: "circle", symbolSize: Math.min(30, 11 + 60 * (s.slowdown - 1)),
				itemStyle: {color: s.held_out ? c.paper : hue, borderColor: hue, borderWidth: 2}};
		};
		const series = (label, list, opacity) => ({name: label, type: "scatter", data: list.slice().sort((a, b) => b.slowdown - a.slowdown).map(dot), itemStyle: {opacity},
			tooltip: {formatter: (p) => p.data.shape.text + ": " + name(p.data.shape.entry) + ", " + significant(p.data.shape.slowdown, 4) + " times the fastest, which takes " + p.data.shape.best}});
		// Between a limit and the next whole number nothing lies.
		const cuts = (k, lay) => k === "slowdown" ? [] : data.axes[k].turns.filter((bound) => bound > reach(k)[0] && bound < reach(k)[1])
			.map((bound) => ({name: "turn", type: "line", symbol: "none", silent: true, lineStyle: {color: c.faint, width: 1.5, type: "dashed"}, data: lay(bound + .5)}));
		const on = data.shapes.filter((s) => picked === null || s.entry === picked), rest = data.shapes.filter((s) => picked !== null && s.entry !== picked);
		return Object.assign(base(c), {
			grid: {left: 36, right: 20, top: 16, bottom: 24, containLabel: true},
			xAxis: line(x, {}), yAxis: line(y, {nameGap: 42}), 
			series: [...cuts(x, (v) => reach(y).map((w) => [v, w])), ...cuts(y, (v) => reach(x).map((w) => [w, v])), series("rest", rest, .15), series("chosen", on, .9)],
		});
	}

	one(".drawn").hidden = false;
	const chart = one(".chart");
	charts.set(chart, {chart: null, draw, picked: (p) => pick(p.data.shape.entry)});
	places.forEach((box) => box.addEventListener("change", () => redraw(chart)));
	const buttons = [...article.querySelectorAll("span.entry")].map((span) => {
		const button = document.createElement("button"), entry = Number(span.dataset.entry);
		button.type = "button";
		button.className = "entry";
		button.append(mark(entry), name(entry));
		button.addEventListener("click", () => pick(entry));
		span.replaceWith(button);
		return [entry, button];
	});
	article.querySelectorAll("span.of").forEach((span) => span.prepend(mark(Number(span.dataset.entry))));
	function mark(entry) {
		const dot = document.createElement("span");
		dot.className = "mark";
		dot.textContent = "●";
		dot.style.color = entry < 0 ? "var(--dot)" : hues[entry % hues.length];
		dot.setAttribute("aria-hidden", "true");
		return dot;
	}
	function pick(entry) {
		picked = picked === entry ? null : entry;
		buttons.forEach(([own, button]) => button.setAttribute("aria-pressed", String(own === picked)));
		redraw(chart);
	}
	buttons.forEach(([, button]) => button.setAttribute("aria-pressed", "false"));
	article.option = () => { const c = charts.get(chart); return c.chart ? c.chart.getOption() : null; };
}
