// A page with data inside it is a report; one without asks its server.

import "uplot/dist/uPlot.min.css";
import "./style.css";
import { render } from "preact";
import { watchLook } from "./look";
import { LivePage } from "./live";
import { ReportPage } from "./report";
import type { Report } from "./types";

watchLook();
const app = document.getElementById("app")!;
const data = document.getElementById("data");
if (data) render(<ReportPage report={JSON.parse(data.textContent ?? "{}") as Report} />, app);
else render(<LivePage />, app);
