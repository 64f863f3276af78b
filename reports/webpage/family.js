// A family's article: a map of shapes in the colour of the kernel that is chosen for each.

// family is the article of kernels for many shapes.
function family(article, data) {
	const one = (selector) => article.querySelector(selector);
	const hues = ["#0b7a9a", "#d9801a", "#8159c4", "#3c9447", "#c8453a", "#8f7138", "#d268a6", "#4b6cb7", "#0f9b8e", "#a3475a", "#6b8e23", "#7a6ff0"];
	const name = (entry) => entry < 0 ? "the general kernel" : "entry " + entry;
	let picked = null;
	const places = ["first", "second"].map((which) => {
		const box = one("select." + which);
		box.append(...data.dimensions.map((d, k) => new Option(d, String(k))));
		return box;
	});
	places[1].append(new Option("slowdown", "slowdown"));
	const spread = data.dimensions.map((_, k) => [k, new Set(data.shapes.map((s) => s.at[k])).size]).sort((a, b) => b[1] - a[1]).map(([k]) => k);
	places[0].value = spread.length ? String(spread[0]) : "";
	places[1].value = spread.length > 1 ? String(spread[1]) : "slowdown";

	function draw() {
		const c = colors(), [x, y] = places.map((box) => box.value);
		if (x === "" || !data.shapes.length) {
			return Object.assign(base(c), {xAxis: {show: false}, yAxis: {show: false}, series: []});
		}
		const at = (s, k) => k === "slowdown" ? s.slowdown : s.at[Number(k)];
		const line = (k, more) => {
			const [low, high] = extent(data.shapes.map((s) => at(s, k)));
			return axis(c, Object.assign(k === "slowdown" ? {type: "value", min: 1, max: Math.max(1.02, high * 1.01), name: "slowdown"} :
				{type: "log", logBase: 2, min: low / 1.3, max: high * 1.3, name: data.dimensions[Number(k)]},
			{axisLabel: {color: c.faint, hideOverlap: true, showMinLabel: k === "slowdown", showMaxLabel: false, formatter: (v) => significant(v, 3)}}, more));
		};
		const dot = (s) => ({value: [at(s, x), at(s, y)], shape: s, symbol: s.held_out ? "emptyCircle" : "circle", symbolSize: Math.min(30, 11 + 60 * (s.slowdown - 1)),
			itemStyle: {color: s.entry < 0 ? c.dot : hues[s.entry % hues.length], borderWidth: 2}});
		const series = (label, list, opacity) => ({name: label, type: "scatter", data: list.map(dot), itemStyle: {opacity},
			tooltip: {formatter: (p) => p.data.shape.text + ": " + name(p.data.shape.entry) + ", " + significant(p.data.shape.slowdown, 4) + " times the fastest, which takes " + p.data.shape.best}});
		const on = data.shapes.filter((s) => picked === null || s.entry === picked), rest = data.shapes.filter((s) => picked !== null && s.entry !== picked);
		return Object.assign(base(c), {
			grid: {left: 36, right: 20, top: 16, bottom: 24, containLabel: true},
			xAxis: line(x, {}), yAxis: line(y, {nameGap: 42}), series: [series("rest", rest, .15), series("chosen", on, .9)],
		});
	}

	one(".drawn").hidden = false;
	const chart = one(".chart");
	charts.set(chart, {chart: null, draw, picked: (p) => pick(p.data.shape.entry)});
	places.forEach((box) => box.addEventListener("change", () => redraw(chart)));
	const buttons = [...article.querySelectorAll("span.entry")].map((span) => {
		const button = document.createElement("button"), mark = document.createElement("span"), entry = Number(span.dataset.entry);
		button.type = "button";
		button.className = "entry";
		mark.textContent = "●";
		mark.style.color = hues[entry % hues.length];
		mark.setAttribute("aria-hidden", "true");
		button.append(mark, " " + name(entry));
		button.addEventListener("click", () => pick(entry));
		span.replaceWith(button);
		return [entry, button];
	});
	function pick(entry) {
		picked = picked === entry ? null : entry;
		buttons.forEach(([own, button]) => button.setAttribute("aria-pressed", String(own === picked)));
		redraw(chart);
	}
	buttons.forEach(([, button]) => button.setAttribute("aria-pressed", "false"));
	article.option = () => { const c = charts.get(chart); return c.chart ? c.chart.getOption() : null; };
}
