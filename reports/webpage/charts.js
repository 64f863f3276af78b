// What all charts of a page have alike: the data, colours of the theme, axes, and when they are
// drawn. page.go puts these files into one function, in the order charts, search, family, page.
let all = JSON.parse(document.getElementById("data").textContent);
const charts = new Map(); // by element: the chart, and what draws it
const colors = () => {
	const style = getComputedStyle(document.documentElement);
	return Object.fromEntries(["paper", "ink", "faint", "rule", "panel", "accent", "dot", "second", "bad", "good"]
		.map((name) => [name, style.getPropertyValue("--" + name).trim()]));
};
const significant = (x, n) => x === 0 ? "0" : Number(x.toPrecision(n)).toLocaleString("en", {maximumSignificantDigits: n, useGrouping: false});

// base is what all charts have alike.
function base(c) {
	return {
		animation: false, textStyle: {color: c.ink, fontFamily: "system-ui, sans-serif"}, aria: {enabled: false},
		tooltip: {renderMode: "richText", confine: true, backgroundColor: c.panel, borderColor: c.rule, textStyle: {color: c.ink, fontSize: 12}},
		grid: {left: 8, right: 16, top: 24, bottom: 8, containLabel: true},
	};
}
function axis(c, more) {
	return Object.assign({
		axisLine: {onZero: false, lineStyle: {color: c.rule}}, axisTick: {lineStyle: {color: c.rule}}, splitLine: {showMaxLine: false, lineStyle: {color: c.rule, opacity: .6}},
		axisLabel: {color: c.faint, hideOverlap: true}, nameTextStyle: {color: c.faint}, nameLocation: "middle", nameGap: 26,
	}, more);
}
const extent = (list) => list.reduce(([a, b], x) => [Math.min(a, x), Math.max(b, x)], [Infinity, -Infinity]);

// mixer gives the colours between two, which are written as #rrggbb.
function mixer(from, to) {
	const a = channels(from), b = channels(to);
	return (x) => "#" + a.map((v, i) => Math.round(v + (b[i] - v) * x).toString(16).padStart(2, "0")).join("");
}
const channels = (text) => [1, 3, 5].map((i) => parseInt(text.slice(i, i + 2), 16));

// readable is the colour of a text on another: ink or paper, whichever stands out more.
function readable(on, c) {
	const light = (text) => channels(text).map((v) => (v / 255) ** 2.2).reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], .05);
	const contrast = (text) => Math.max(light(text) / light(on), light(on) / light(text));
	return contrast(c.ink) > contrast(c.paper) ? c.ink : c.paper;
}

function redraw(element) {
	const c = charts.get(element);
	if (c && c.chart) {
		c.chart.setOption(c.draw(), {notMerge: true});
	}
}
function create(element) {
	const c = charts.get(element);
	if (!c.chart && element.clientWidth > 0) {
		c.chart = echarts.init(element, null, {renderer: "canvas"});
		c.chart.on("click", c.picked);
		redraw(element);
	}
}
