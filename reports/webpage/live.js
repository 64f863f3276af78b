// A page of searches that go on takes what changes from the program that searches, and keeps what
// is selected in it.

if ("live" in document.documentElement.dataset) {
	const status = document.querySelector(".live"), content = document.getElementById("content");
	const events = new EventSource("events" + location.search);
	let waiting = null, shown = "";
	const take = () => {
		const part = waiting;
		waiting = null;
		status.textContent = part.status;
		if (part.content === shown) {
			return; // charts would be drawn anew each second
		}
		shown = part.content;
		const kept = new Map([...content.querySelectorAll("article:not(.family)")].map((a) => [a.id, a.selection.keep()]));
		charts.forEach((c) => c.chart && c.chart.dispose());
		charts.clear();
		all = part.data;
		content.innerHTML = part.content; // made by the page's own template, as the page was
		begin();
		charts.forEach((_, element) => { // else they would be blank until the browser has time
			const {top, bottom} = element.getBoundingClientRect();
			if (bottom > 0 && top < innerHeight) {
				create(element);
			}
		});
		content.querySelectorAll("article:not(.family)").forEach((a) => kept.has(a.id) && a.selection.restore(kept.get(a.id)));
	};
	// A list that is open stays as it is until it is left.
	const busy = () => content.contains(document.activeElement) && document.activeElement.tagName === "SELECT";
	events.addEventListener("part", (e) => { waiting = JSON.parse(e.data); busy() || take(); });
	content.addEventListener("focusout", () => setTimeout(() => waiting && !busy() && take()));
	events.addEventListener("end", () => { events.close(); waiting && take(); });
	events.addEventListener("error", () => { status.textContent = "The connection is lost: the program has ended, or is busy."; });
}
