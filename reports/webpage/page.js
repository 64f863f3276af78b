// The page begins: its articles, buttons that copy commands, and when charts are drawn.

document.querySelectorAll("article:not(.family)").forEach((article, i) => search(article, all.searches[i]));
document.querySelectorAll("article.family").forEach((article, i) => family(article, all.families[i]));
document.querySelectorAll("pre").forEach((pre) => {
	const button = document.createElement("button");
	button.type = "button";
	button.className = "copy";
	button.textContent = "Copy";
	button.addEventListener("click", async () => {
		try {
			await navigator.clipboard.writeText(pre.firstElementChild.textContent);
			button.textContent = "Copied";
		} catch {
			getSelection().selectAllChildren(pre.firstElementChild);
			button.textContent = "Selected";
		}
	});
	pre.append(button);
});

// Charts are made when they come into sight, and all of them before a print.
const seen = new IntersectionObserver((entries) => entries.forEach((e) => { if (e.isIntersecting) { create(e.target); } }), {rootMargin: "400px"});
const everything = () => charts.forEach((_, element) => { create(element); redraw(element); });
let resizing = 0;
addEventListener("resize", () => {
	clearTimeout(resizing);
	resizing = setTimeout(() => charts.forEach((c, element) => { if (c.chart) { c.chart.resize(); redraw(element); } }), 100);
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => charts.forEach((_, element) => redraw(element)));
addEventListener("beforeprint", () => { document.documentElement.classList.add("print"); everything(); });
addEventListener("afterprint", () => { document.documentElement.classList.remove("print"); everything(); });
charts.forEach((_, element) => seen.observe(element));
