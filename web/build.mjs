// `npm run build` writes the bundle that ships with bedside; `--check` compares it with the sources instead.

import { build } from "esbuild";
import { createHash } from "node:crypto";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";

const STATIC = new URL("../src/bedside/report/static/", import.meta.url);

const made = await build({
  entryPoints: ["src/main.tsx"],
  bundle: true,
  minify: true,
  write: false,
  format: "iife",
  target: "es2022",
  charset: "utf8",
  legalComments: "none", // the licences are in LICENSES.txt, whole
  jsx: "automatic",
  jsxImportSource: "preact",
  outdir: "out",
});

const licences = ["preact", "uplot"]
  .map((name) => {
    const version = JSON.parse(readFileSync(`node_modules/${name}/package.json`, "utf8")).version;
    return `${name} ${version}\n\n${readFileSync(`node_modules/${name}/LICENSE`, "utf8").trim()}\n`;
  })
  .join(`\n${"-".repeat(80)}\n\n`);

// What the bundle was made from, so that a test without node can tell whether it is up to date.
const sources = createHash("sha256");
for (const name of [...readdirSync("src").sort().map((each) => `src/${each}`), "package-lock.json", "build.mjs"]) {
  sources.update(readFileSync(name));
}

const files = {
  "SOURCES.sha256": `${sources.digest("hex")}\n`,
  "app.js": made.outputFiles.find((file) => file.path.endsWith(".js")).text,
  "app.css": made.outputFiles.find((file) => file.path.endsWith(".css")).text,
  "LICENSES.txt": `What is bundled into app.js and app.css, besides bedside itself.\n\n${licences}`,
};

let stale = false;
for (const [name, text] of Object.entries(files)) {
  const place = new URL(name, STATIC);
  if (!process.argv.includes("--check")) {
    writeFileSync(place, text);
    console.log(`${name}: ${(text.length / 1024).toFixed(0)} KB`);
  } else if (readFileSync(place, "utf8") !== text) {
    console.error(`src/bedside/report/static/${name} is not what web/ builds.\n  Expected: the committed bundle to match its sources\n  Try: cd web && npm ci && npm run build`);
    stale = true;
  }
}
process.exit(stale ? 1 : 0);
