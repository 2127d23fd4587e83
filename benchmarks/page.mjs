// Started by page.py: node page.mjs URL FOLDER MODULES CHROMIUM
import { createRequire } from "node:module";
import { readFileSync, mkdirSync } from "node:fs";
import { join, resolve } from "node:path";

const [url, folder, modules, chromium] = process.argv.slice(2);
const load = createRequire(join(resolve(modules), "x.js"));
const puppeteer = load("puppeteer-core");
const axe = readFileSync(load.resolve("axe-core/axe.min.js"), "utf-8");
const SIZES = { phone: [360, 740], desk: [1280, 800], wall: [3840, 2160] };

mkdirSync(folder, { recursive: true });
const found = load("node:child_process").execSync(`command -v ${chromium}`).toString().trim();
const browser = await puppeteer.launch({ executablePath: found, args: ["--no-sandbox", "--disable-lcd-text"] });
const page = await browser.newPage();
const faults = [];
page.on("console", (said) => { if (said.type() === "error") faults.push(`console: ${said.text()}`); });
page.on("pageerror", (error) => faults.push(`script: ${error.message}`));
page.on("request", (asked) => {
  if (!asked.url().startsWith(new URL(url).origin) && !asked.url().startsWith("data:")) faults.push(`outside: ${asked.url()}`);
});

await page.goto(url);
await page.waitForSelector("#main");
const home = page.url();
const links = (pattern) => page.$$eval("main a", (all, part) => all.map((a) => a.href).filter((to) => to.includes(part)), pattern);
const session = (await links("session?"))[0];
const stops = await links("stop?");
const pages = { overview: home, checks: new URL("checks", home).href, session, stop: stops.find(Boolean), told: stops.at(-2) };

async function reachedByKeyboard() {
  const wanted = await page.$$eval("a[href], button:not([hidden]), [tabindex='0']", (all) => all.length);
  await page.evaluate(() => { document.activeElement.blur(); window.scrollTo(0, 0); });
  const seen = new Set();
  for (let at = 0; at < wanted + 5; at += 1) {
    await page.keyboard.press("Tab");
    seen.add(await page.evaluate(() => [...document.querySelectorAll("*")].indexOf(document.activeElement)));
  }
  seen.delete(await page.evaluate(() => [...document.querySelectorAll("*")].indexOf(document.body)));
  if (seen.size < wanted) faults.push(`keyboard: ${seen.size} of ${wanted} at ${page.url()}`);
  return wanted;
}

for (const [name, at] of Object.entries(pages)) {
  for (const scheme of ["light", "dark"]) {
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
    for (const [size, [width, height]] of Object.entries(SIZES)) {
      await page.setViewport({ width, height });
      await page.goto(at, { waitUntil: "domcontentloaded" });
      await page.waitForFunction(() => document.getElementById("state").textContent === "Live");
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      if (wide > 0) faults.push(`${name} ${size}: ${wide} pixels too wide`);
      await page.screenshot({ path: join(folder, `${name}-${size}-${scheme}.png`) });
    }
    await page.setBypassCSP(true);
    await page.setViewport({ width: 1280, height: 800 });
    await page.reload({ waitUntil: "domcontentloaded" });
    await page.evaluate(axe);
    const told = await page.evaluate(() => window.axe.run());
    for (const one of told.violations) {
      const line = `axe ${one.impact}: ${one.id}, ${one.nodes.length} times, ${one.nodes[0].html.slice(0, 120)} (${name}, ${scheme})`;
      if (["serious", "critical"].includes(one.impact)) faults.push(line);
      else console.log(line);
    }
    await page.setBypassCSP(false);
  }
  await page.goto(at, { waitUntil: "domcontentloaded" });
  console.log(`${name}: ${await reachedByKeyboard()} places for the keyboard`);
}
await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: "light" }]);
await page.setViewport({ width: 880, height: 540 });
await page.goto(home, { waitUntil: "domcontentloaded" });
await page.screenshot({ path: join(folder, "dashboard-overview.png") });
await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: "dark" }]);
await page.goto(session, { waitUntil: "domcontentloaded" });
await (await page.$("#tests")).screenshot({ path: join(folder, "dashboard-tests.png") });
await browser.close();
console.log(faults.length ? faults.join("\n") : "nothing serious");
process.exit(faults.length ? 1 : 0);
