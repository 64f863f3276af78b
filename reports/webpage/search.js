// A search's article has a state of its own: a template, values of its tunables, and a trial. A
// change draws all its charts anew. Text of the data goes into the page as text only.

// search is one article.
function search(article, data) {
	const trials = data.trials, n = trials.ms.length;
	const state = {template: Math.max(0, data.winner < 0 ? 0 : trials.template[data.winner]), values: new Map(), trial: -1, axis: "at"};
	const time = (ms) => significant(ms * data.unit.per_ms, 4) + " " + data.unit.name;
	const timed = [...Array(n).keys()].filter((i) => trials.ms[i] > 0);
	const one = (selector) => article.querySelector(selector);
	const narrow = () => article.clientWidth < 560;

	const words = (i) => {
		const template = data.templates[trials.template[i]];
		const list = trials.values[i].map((v, k) => v < 0 ? "" : template.tunables[k].name + "=" + template.tunables[k].values[v]);
		return [template.name, ...list.filter(Boolean)].join(" ");
	};
	const about = (i) => (trials.ms[i] > 0 ? time(trials.ms[i]) : data.statuses[trials.status[i]]) + ", trial " + trials.at[i] + "\n" +
		words(i).replace(/(.{1,60})( |$)/g, "$1\n").trim();
	const active = () => state.values.size > 0 || state.trial >= 0;
	const selected = (i) => state.trial >= 0 ? i === state.trial : trials.template[i] === state.template &&
		[...state.values].every(([k, v]) => trials.values[i][k] === v);

	const label = (c) => ({color: c.ink, fontSize: narrow() ? 10 : 12, width: narrow() ? 110 : 200, overflow: "breakAll"});
	// range is an axis of times: in powers where they lie far apart.
	function range(c, values, more) {
		const low = Math.min(...values), high = Math.max(...values), log = high > 6 * low;
		return axis(c, Object.assign({
			type: log ? "log" : "value", logBase: high > 60 * low ? 10 : 2, name: "time of a launch, " + data.unit.name,
			min: log ? low * .9 : Math.max(0, low - (high - low) * .08 - low * .01), max: log ? high * 1.1 : high + (high - low) * .05 + high * .01,
			axisLabel: {color: c.faint, hideOverlap: true, showMinLabel: false, showMaxLabel: false, formatter: (ms) => significant(ms * data.unit.per_ms, 3)},
		}, more));
	}
	const levels = (c, along) => ({
		silent: true, symbol: "none", label: {color: c.faint, formatter: (p) => p.name, position: along === "yAxis" ? "insideMiddleTop" : "end"},
		data: data.levels.map((l) => ({name: l.name, [along]: l.ms, lineStyle: {color: l.name === "roofline" ? c.second : c.faint, type: "dashed"}})),
	});

	// dots are the trials in layers: those that are not selected, those that are, and the winner.
	function dots(c, place) {
		const point = (i) => ({value: place(i), trial: i});
		const size = n > 1500 ? 4 : n > 300 ? 5 : 7;
		const layer = (list, color, opacity, more) => Object.assign({
			type: "scatter", symbolSize: size, data: list.map(point), itemStyle: {color, opacity},
			emphasis: {scale: 1.6}, tooltip: {formatter: (p) => about(p.data.trial)},
		}, more);
		const on = active() ? timed.filter(selected) : [];
		const rest = active() ? timed.filter((i) => !selected(i)) : timed;
		const list = [layer(rest, c.dot, active() ? .3 : .65)];
		if (on.length) {
			list.push(layer(on, c.accent, .95, {symbolSize: size + 2, z: 4}));
		}
		if (data.winner >= 0) {
			list.push(layer([data.winner, ...data.ties], c.second, 1, {symbol: "diamond", symbolSize: 11, z: 5}));
			list[list.length - 1].data.forEach((p, k) => { p.symbolSize = k ? 8 : 13; });
		}
		return list;
	}

	const draw = {
		compared(c) {
			const rows = data.compared.slice().reverse(), winner = data.compared[0];
			// Bars beyond a multiple of the winner's are cut, so that those near it can be told apart.
			const end = Math.max(...rows.flatMap((r) => [r.ms, r.high || 0]).filter((ms) => ms <= 8 * winner.ms)) * 1.15;
			const cut = Math.max(...rows.map((r) => r.ms)) > end;
			const bars = {
				type: "custom", encode: {x: 1, y: 0}, tooltip: {formatter: (p) => rows[p.dataIndex].name + ": " + rows[p.dataIndex].text},
				data: rows.map((r, k) => [k, Math.min(r.ms, end)]),
				renderItem(params, api) {
					const row = rows[params.dataIndex], y = api.value(0), from = api.coord([0, y]), to = api.coord([api.value(1), y]);
					const height = Math.min(26, api.size([0, 1])[1] * .6), top = from[1] - height / 2;
					const color = row === winner ? c.accent : row.name === "roofline" ? c.second : c.dot;
					const line = (x1, y1, x2, y2, stroke, lineWidth) => ({type: "line", shape: {x1, y1, x2, y2}, style: {stroke, lineWidth}});
					const high = row.high > row.low ? Math.max(to[0], api.coord([Math.min(row.high, end), y])[0]) : to[0];
					const children = [
						{type: "rect", shape: {x: from[0], y: top, width: to[0] - from[0], height}, style: {fill: color}},
						{type: "text", style: {text: row.text, x: high + 8, y: to[1], fill: c.ink, textVerticalAlign: "middle", fontSize: 12}},
					];
					if (row.ms > end) {
						children.push(line(to[0] - 28, top + height + 2, to[0] - 18, top - 2, c.paper, 5));
					}
					if (row.low && row.high > row.low) {
						const a = api.coord([row.low, y])[0], b = high;
						children.push(line(a, to[1], b, to[1], c.ink, 2), line(a, to[1] - 5, a, to[1] + 5, c.ink, 2), line(b, to[1] - 5, b, to[1] + 5, c.ink, 2));
					}
					return {type: "group", children};
				},
			};
			// The range of those that tie is shaded behind the bars.
			const [from, to] = extent([data.winner, ...data.ties].filter((i) => i >= 0).flatMap((i) => [trials.low[i], trials.high[i]]));
			const shade = {
				type: "custom", silent: true, z: 1, data: data.ties.length ? [[from, to]] : [],
				renderItem(params, api) {
					const area = params.coordSys, x1 = api.coord([from, 0])[0], x2 = api.coord([to, 0])[0];
					return {type: "rect", shape: {x: x1, y: area.y, width: Math.max(3, x2 - x1), height: area.height}, style: {fill: c.good}};
				},
			};
			return Object.assign(base(c), {
				grid: {left: 8, right: 84, top: 8, bottom: 24, containLabel: true},
				xAxis: axis(c, {type: "value", min: 0, max: end, name: "time of a launch, " + data.unit.name + (cut ? "; longer bars are cut" : ""),
					axisLabel: {color: c.faint, hideOverlap: true, showMaxLabel: false, formatter: (ms) => significant(ms * data.unit.per_ms, 3)}}),
				yAxis: axis(c, {type: "category", data: rows.map((r) => r.name), splitLine: {show: false}, axisLabel: label(c)}),
				series: [shade, bars],
			});
		},

		roofline(c) {
			const r = data.roofline, x = r.flops / r.bytes;
			const rate = (ms) => r.flops / ms / 1e6; // GFLOP/s
			const best = data.templates.map((t, k) => timed.filter((i) => trials.template[i] === k).reduce((a, i) => a < 0 || trials.ms[i] < trials.ms[a] ? i : a, -1)).filter((i) => i >= 0);
			const others = data.compared.filter((b) => b.name !== "winner" && b.name !== "roofline");
			const ys = [...best.map((i) => rate(trials.ms[i])), ...others.map((b) => rate(b.ms)), rate(r.copy_ms)];
			// Peaks far above all that was measured of the problem would leave it no room.
			const peaks = r.peaks.map((p) => ({name: p.name, at: (at) => (p.flat ? p.rate : at * p.rate) / 1e9, flat: p.flat})).filter((p) => p.at(x) < 400 * Math.max(...ys));
			const [low, high] = extent(ys.concat(peaks.map((p) => p.at(x)))), from = x / 12, to = x * 12;
			const roof = (p) => ({name: p.name, type: "line", symbol: "none", silent: true, clip: true, lineStyle: {color: c.faint, width: 1.5, type: "dashed"}, data: [[from, p.at(from)], [to, p.at(to)]]});
			const peakNames = {type: "scatter", symbolSize: 0, silent: true, label: {show: true, position: "top", color: c.faint, fontSize: 11, formatter: (p) => p.data.name},
				data: peaks.map((p) => [p.name, p.flat ? to / 1.6 : from * 1.3, p.at]).map(([name, x, at]) => ({name, value: [x, at(x)]}))};
			const large = high > 2e4;
			// Names of dots that lie close share a label, at the fastest of them.
			const heads = new Map();
			let head = -1;
			for (const i of best.slice().sort((a, b) => trials.ms[a] - trials.ms[b])) {
				if (head < 0 || trials.ms[i] > 1.3 * trials.ms[head]) {
					head = i;
					heads.set(head, []);
				}
				heads.get(head).push(data.templates[trials.template[i]].name);
			}
			const named = (i) => { const list = heads.get(i) || [], most = narrow() ? 1 : 3; return list.slice(0, most).join(", ") + (list.length > most ? " and " + (list.length - most) + " more" : ""); };
			const tag = (color) => ({show: true, position: "right", color, fontSize: 11, formatter: (p) => p.data.name});
			return Object.assign(base(c), {
				grid: {left: 32, right: narrow() ? 24 : 150, top: 24, bottom: 24, containLabel: true},
				xAxis: axis(c, {type: "log", min: from, max: to, name: "operations a byte", axisLabel: {color: c.faint, hideOverlap: true, showMinLabel: false, showMaxLabel: false, formatter: (v) => significant(v, 2)}}),
				yAxis: axis(c, {type: "log", min: low / 2.5, max: high * 2.5, name: large ? "TFLOP/s" : "GFLOP/s", nameGap: 46, axisLabel: {color: c.faint, showMinLabel: false, showMaxLabel: false, formatter: (v) => significant(large ? v / 1e3 : v, 2)}}),
				series: [
					{type: "line", symbol: "none", silent: true, clip: true, lineStyle: {color: c.second, width: 2}, data: [[from, from * r.copy / 1e9], [to, to * r.copy / 1e9]]},
					...peaks.map(roof), peakNames,
					{type: "scatter", symbol: "rect", symbolSize: [14, 3], itemStyle: {color: c.faint}, labelLayout: {moveOverlap: "shiftY"}, label: tag(c.faint), data: others.map((b) => ({name: b.name, value: [x, rate(b.ms)]})),
						tooltip: {formatter: (p) => p.data.name + ": " + significant(p.value[1], 4) + " GFLOP/s"}},
					{type: "scatter", symbolSize: 10, itemStyle: {color: c.accent}, label: Object.assign(tag(c.ink), {position: "left"}),
						data: best.map((i) => ({name: named(i), value: [x, rate(trials.ms[i])], trial: i})),
						tooltip: {formatter: (p) => significant(p.value[1], 4) + " GFLOP/s\n" + about(p.data.trial)}},
				],
			});
		},

		progress(c) {
			const xs = state.axis === "seconds" ? trials.seconds : trials.at;
			const ys = timed.map((i) => trials.ms[i]).concat(data.levels.map((l) => l.ms));
			const stair = [];
			let best = Infinity;
			for (const i of timed) {
				if (trials.ms[i] < best) {
					best = trials.ms[i];
					stair.push([xs[i], best]);
				}
			}
			if (stair.length) {
				stair.push([xs[n - 1], best]);
			}
			const failed = [...Array(n).keys()].filter((i) => !(trials.ms[i] > 0));
			const y = ys.length ? range(c, extent(ys), {nameGap: 42}) : axis(c, {type: "value", min: 0, max: 1, axisLabel: {show: false}});
			return Object.assign(base(c), {
				grid: {left: 36, right: 16, top: 24, bottom: 24, containLabel: true},
				xAxis: axis(c, {type: "value", min: state.axis === "seconds" ? 0 : 1, max: xs[n - 1] || 1, minInterval: state.axis === "seconds" ? 0 : 1, name: state.axis === "seconds" ? "seconds" : "evaluations", splitLine: {show: false},
					axisLabel: {color: c.faint, showMaxLabel: false}}),
				yAxis: y,
				series: [
					...dots(c, (i) => [xs[i], trials.ms[i]]),
					{type: "line", step: "end", symbol: "none", silent: true, z: 3, lineStyle: {color: c.accent, width: 2}, data: stair, markLine: levels(c, "yAxis")},
					{type: "scatter", symbol: "rect", symbolSize: [2, 8], itemStyle: {color: c.bad}, data: failed.map((i) => ({value: [xs[i], y.max], trial: i})), tooltip: {formatter: (p) => about(p.data.trial)}},
				],
			});
		},

		templates(c) {
			const names = data.templates.map((t) => t.name);
			const order = names.map((_, k) => k).sort((a, b) => median(b) - median(a));
			const row = new Map(order.map((k, place) => [k, place]));
			const spread = (i) => ((trials.at[i] * 2654435761 % 4294967296) / 4294967296 - .5) * .6;
			return Object.assign(base(c), {
				grid: {left: 8, right: 16, top: 24, bottom: 24, containLabel: true},
				xAxis: range(c, extent(timed.map((i) => trials.ms[i]).concat(data.levels.map((l) => l.ms))), {splitLine: {show: false}}),
				yAxis: axis(c, {type: "value", min: -.5, max: names.length - .5, interval: 1, axisTick: {show: false}, splitLine: {show: false}, axisLabel: Object.assign(label(c), {
					customValues: order.map((_, k) => k), formatter: (v) => names[order[Math.round(v)]] || ""})}),
				series: [
					...dots(c, (i) => [trials.ms[i], row.get(trials.template[i]) + spread(i)]),
					{type: "scatter", symbol: "rect", symbolSize: [3, 22], silent: true, itemStyle: {color: c.ink}, data: order.filter((k) => median(k) < Infinity).map((k) => [median(k), row.get(k)]), markLine: levels(c, "xAxis")},
				],
			});
		},

		pairs(c) {
			const template = data.templates[state.template], [a, b] = pair();
			if (a === undefined || b === undefined || a === b) {
				return Object.assign(base(c), {xAxis: {show: false}, yAxis: {show: false}, series: []});
			}
			const cells = new Map();
			for (const i of timed) {
				if (trials.template[i] !== state.template || trials.values[i][a] === undefined || trials.values[i][b] === undefined) {
					continue;
				}
				const key = trials.values[i][a] + " " + trials.values[i][b], known = cells.get(key);
				cells.set(key, known === undefined || trials.ms[i] < trials.ms[known] ? i : known);
			}
			const list = [...cells].map(([key, i]) => [...key.split(" ").map(Number), i]);
			const [low, high] = extent(list.map(([, , i]) => trials.ms[i]));
			const x = template.tunables[a], y = template.tunables[b];
			const mix = mixer(c.accent, c.panel);
			return Object.assign(base(c), {
				grid: {left: 28, right: 16, top: 8, bottom: 24, containLabel: true},
				xAxis: axis(c, {type: "category", data: x.values, name: x.name, splitLine: {show: false}, axisTick: {show: false}}),
				yAxis: axis(c, {type: "category", data: y.values, name: y.name, nameGap: 16 + 7 * Math.max(...y.values.map((v) => v.length)), splitLine: {show: false}, axisTick: {show: false}}),
				series: [{
					type: "custom", data: list.map(([u, v, i]) => ({value: [u, v], trial: i, pair: [[a, u], [b, v]]})),
					tooltip: {formatter: (p) => "best with " + x.name + "=" + x.values[p.value[0]] + " " + y.name + "=" + y.values[p.value[1]] + "\n" + about(p.data.trial)},
					renderItem(params, api) {
						const i = list[params.dataIndex][2], at = api.coord([api.value(0), api.value(1)]), [w, h] = api.size([1, 1]);
						const far = high > low ? Math.log(trials.ms[i] / low) / Math.log(high / low) : 0;
						const chosen = active() && state.trial < 0 && state.values.has(a) === true && state.values.get(a) === api.value(0) && state.values.get(b) === api.value(1);
						const has = (k, v) => !state.values.has(k) || state.values.get(k) === v;
						const matches = !active() || state.trial >= 0 ? true : has(a, api.value(0)) && has(b, api.value(1));
						return {type: "group", children: [
							{type: "rect", shape: {x: at[0] - w / 2 + 1, y: at[1] - h / 2 + 1, width: w - 2, height: h - 2}, style: {fill: mix(far), opacity: matches ? 1 : .35, stroke: chosen ? c.ink : "none", lineWidth: 3}},
							{type: "text", style: {text: w > 46 ? significant(trials.ms[i] * data.unit.per_ms, 3) : "", x: at[0], y: at[1], fill: readable(mix(far), c), textAlign: "center", textVerticalAlign: "middle", fontSize: 11, opacity: matches ? 1 : .5}},
						]};
					},
				}],
			});
		},
	};

	const medians = data.templates.map((_, k) => {
		const list = timed.filter((i) => trials.template[i] === k).map((i) => trials.ms[i]).sort((a, b) => a - b);
		return list.length ? list[Math.floor(list.length / 2)] : Infinity;
	});
	const median = (k) => medians[k];
	const pair = () => ["first", "second"].map((name) => one("select." + name)).map((s) => s && s.value !== "" ? Number(s.value) : undefined);

	// effects are the tunables of the template that is looked at, with a button a value.
	function effects() {
		const box = one(".effects");
		if (!box) {
			return;
		}
		const template = data.templates[state.template];
		const best = template.tunables.map((t) => t.values.map(() => Infinity));
		for (const i of timed) {
			if (trials.template[i] === state.template) {
				trials.values[i].forEach((v, k) => { if (v >= 0) { best[k][v] = Math.min(best[k][v], trials.ms[i]); } });
			}
		}
		const fastest = Math.min(...best.flat());
		const focused = document.activeElement && document.activeElement.dataset ? document.activeElement.dataset.value : undefined;
		box.replaceChildren(...template.tunables.map((t, k) => {
			const row = document.createElement("div"), list = document.createElement("div"), name = document.createElement("span");
			row.className = "effect";
			name.textContent = t.name;
			name.id = article.id + "-t" + k;
			list.setAttribute("role", "group");
			list.setAttribute("aria-labelledby", name.id);
			t.values.forEach((text, v) => {
				const button = document.createElement("button"), label = document.createElement("b"), meter = document.createElement("meter");
				button.type = "button";
				button.dataset.value = k + " " + v;
				button.setAttribute("aria-pressed", String(state.values.get(k) === v));
				label.textContent = text;
				const known = best[k][v] < Infinity;
				button.append(label, known ? time(best[k][v]) : "none right");
				if (known) {
					meter.max = 1;
					meter.value = fastest / best[k][v];
					meter.setAttribute("aria-hidden", "true");
					button.append(meter);
				}
				if (data.winner >= 0 && trials.template[data.winner] === state.template && trials.values[data.winner][k] === v) {
					button.className = "winner";
					button.title = "the winner's";
				}
				button.addEventListener("click", () => { choose([[k, v]]); });
				list.append(button);
			});
			row.append(name, list);
			return row;
		}));
		if (focused !== undefined) {
			const again = box.querySelector('button[data-value="' + focused + '"]');
			if (again) {
				again.focus();
			}
		}
	}

	// choose selects values, or takes them back if they are selected.
	function choose(values) {
		const had = state.trial < 0 && values.every(([k, v]) => state.values.get(k) === v);
		state.trial = -1;
		for (const [k, v] of values) {
			had ? state.values.delete(k) : state.values.set(k, v);
		}
		changed();
	}
	function chooseTrial(i) {
		state.trial = state.trial === i ? -1 : i;
		state.values.clear();
		if (state.trial >= 0 && trials.template[i] !== state.template) {
			look(trials.template[i]);
		}
		changed();
	}
	// look turns to a template.
	function look(k) {
		state.template = k;
		state.values.clear();
		const list = data.templates[k].tunables.map((t, at) => [t, at]).filter(([t]) => t.values.length > 1);
		const spread = list.map(([t, at]) => [at, t.values.length]).sort((a, b) => b[1] - a[1]).map(([at]) => at);
		["first", "second"].forEach((name, which) => {
			const box = one("select." + name);
			box.replaceChildren(...list.map(([t, at]) => new Option(t.name, String(at))));
			box.value = spread.length > which ? String(spread[which]) : "";
		});
		one("select.template").value = String(k);
	}
	function tellSelection() {
		const bar = one(".selection");
		if (!bar) {
			return;
		}
		const text = bar.querySelector("p");
		bar.hidden = false;
		bar.querySelector(".clear").hidden = !active();
		if (!active()) {
			text.textContent = "";
			bar.hidden = true;
			return;
		}
		if (state.trial >= 0) {
			text.textContent = "Selected: " + about(state.trial).replace(/\n/g, " ");
			return;
		}
		const template = data.templates[state.template];
		const on = timed.filter(selected);
		const what = [...state.values].map(([k, v]) => template.tunables[k].name + "=" + template.tunables[k].values[v]).join(" ");
		text.textContent = "Selected: " + on.length + (on.length === 1 ? " trial" : " trials") + " of " + template.name + " with " + what +
			(on.length ? "; the best takes " + time(Math.min(...on.map((i) => trials.ms[i]))) : "");
	}
	function changed() {
		tellSelection();
		effects();
		article.querySelectorAll(".chart").forEach(redraw);
	}

	article.querySelectorAll(".drawn, .chart").forEach((e) => { e.hidden = false; });
	if (!data.roofline) {
		article.querySelectorAll('[data-needs="roofline"]').forEach((e) => e.remove());
	}
	if (!timed.length) {
		article.querySelectorAll('.chart[data-chart="templates"], .chart[data-chart="pairs"]').forEach((e) => e.remove());
	}
	if (one(".axis") && !trials.seconds) {
		one(".axis").remove();
	}
	if (one("select.template")) {
		one("select.template").replaceChildren(...data.templates.map((t, k) => new Option(t.name, String(k))));
		look(state.template);
		one("select.template").addEventListener("change", (e) => { look(Number(e.target.value)); state.trial = -1; changed(); });
		for (const name of ["first", "second"]) {
			one("select." + name).addEventListener("change", changed);
		}
		one("button.clear").addEventListener("click", () => { state.values.clear(); state.trial = -1; changed(); });
		effects();
	}
	article.querySelectorAll(".axis input").forEach((input) => input.addEventListener("change", () => { state.axis = input.value; changed(); }));
	article.querySelectorAll(".chart").forEach((element) => {
		charts.set(element, {chart: null, draw: () => draw[element.dataset.chart](colors()), picked: (p) => {
			if (p.data && p.data.pair) {
				choose(p.data.pair);
			} else if (p.data && p.data.trial !== undefined) {
				chooseTrial(p.data.trial);
			}
		}});
	});
	// The arrow keys go from trial to trial, from the winner on.
	const progress = one('.chart[data-chart="progress"]');
	progress && progress.addEventListener("keydown", (e) => {
		const step = {ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1}[e.key], at = timed.indexOf(state.trial);
		if (step && timed.length) {
			const next = at < 0 ? Math.max(0, timed.indexOf(data.winner)) : Math.min(timed.length - 1, Math.max(0, at + step));
			e.preventDefault();
			if (timed[next] !== state.trial) {
				chooseTrial(timed[next]);
			}
		} else if (e.key === "Escape" && active()) {
			state.trial = -1;
			state.values.clear();
			changed();
		}
	});
	// What a program that tests the page may ask.
	article.selection = () => ({template: state.template, values: [...state.values], trial: state.trial, selected: active() ? timed.filter(selected).length : 0});
	article.option = (name) => { const e = one('.chart[data-chart="' + name + '"]'), c = e && charts.get(e); return c && c.chart ? c.chart.getOption() : null; };
}
