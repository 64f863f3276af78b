// The parts of ECharts that pages use: lines, dots, and custom marks for bars, intervals and
// heat maps.
import { use, init } from "echarts/core";
import { CustomChart, LineChart, ScatterChart } from "echarts/charts";
import { AriaComponent, GridComponent, MarkLineComponent, TooltipComponent } from "echarts/components";
import { LabelLayout } from "echarts/features";
import { CanvasRenderer } from "echarts/renderers";

use([CustomChart, LineChart, ScatterChart, AriaComponent, GridComponent, MarkLineComponent, TooltipComponent, LabelLayout, CanvasRenderer]);
globalThis.echarts = { init };
