// The local page in a real browser. Started by browser.py: node browser.mjs URL MODULES CHROMIUM FOLDER
// It writes pictures into FOLDER ("" for none) and one line of JSON at its end: what is wrong, and how many
// places the keyboard reached of each page. A line before that, "ready", says that the last stop may come.
import { createRequire } from "node:module";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

const [url, modules, executablePath, folder] = process.argv.slice(2);
const load = createRequire(join(resolve(modules), "x.js"));
const axe = readFileSync(load.resolve("axe-core/axe.min.js"), "utf-8");
const SIZES = { 360: [360, 740], 1280: [1280, 800], "4k": [3840, 2160] };
const SCHEMES = ["light", "dark"];
const PLACES = "a[href], summary, button:not([hidden]), [tabindex='0']";
const LIMIT = { timeout: 120_000 };
const QUIET = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
  "--disable-background-networking", "--disable-component-update"];

const faults = [];
const places = {};
const browser = await load("playwright-core").chromium.launch({ executablePath, args: QUIET, ...LIMIT });
const context = await browser.newContext();
const page = await context.newPage();
page.setDefaultTimeout(LIMIT.timeout);
page.on("console", (said) => { if (said.type() === "error") faults.push(`console: ${said.text()}`); });
page.on("pageerror", (error) => faults.push(`script: ${error.message}`));
page.on("request", (asked) => {
  if (!asked.url().startsWith(new URL(url).origin) && !asked.url().startsWith("data:")) faults.push(`outside: ${asked.url()}`);
});
const isLive = () => page.waitForFunction(() => document.getElementById("state")?.textContent === "Live");
const links = (part) => page.$$eval("main a", (all, wanted) => all.map((a) => a.href).filter((to) => to.includes(wanted)), part);
const picture = async (name) => {
  if (!folder) return;
  mkdirSync(folder, { recursive: true });
  const devtools = await context.newCDPSession(page);
  const { data } = await devtools.send("Page.captureScreenshot", { format: "webp", quality: 45 });
  writeFileSync(join(folder, `${name}.webp`), Buffer.from(data, "base64"));
};

async function looksRight(name, size, scheme) {
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  if (wide > 0) faults.push(`${name}, ${size}, ${scheme}: ${wide} pixels wider than the screen`);
  if (size === "4k") return; // axe finds there what it finds at 1,280
  for (const one of (await page.evaluate(() => window.axe.run())).violations) {
    if (["serious", "critical"].includes(one.impact)) {
      faults.push(`${name}, ${size}, ${scheme}: axe ${one.id}, ${one.nodes.length} times, ${one.nodes[0].html.slice(0, 120)}`);
    }
  }
}

async function isReachedByKeyboard(name) {
  const seen = new Set();
  const wanted = (await page.$$(PLACES)).length;
  await page.evaluate(() => document.activeElement.blur());
  for (let at = 0; at < wanted + 1; at += 1) {
    await page.keyboard.press("Tab");
    seen.add(await page.evaluate((all) => [...document.querySelectorAll(all)].indexOf(document.activeElement), PLACES));
  }
  seen.delete(-1);
  if (seen.size < wanted) faults.push(`${name}: the keyboard reaches ${seen.size} of ${wanted}`);
  places[name] = seen.size;
}

// It is live: the next stop is shown without being asked for.
await page.goto(url);
await isLive();
const home = page.url();
const before = await page.textContent("#newest");
console.log("ready");
await page.waitForFunction((was) => document.getElementById("newest").textContent !== was, before);

// The keyboard alone opens a session and pauses the updates.
await page.reload();
await isLive();
await page.focus("#sessions a");
await page.keyboard.press("Enter");
await page.waitForURL(/session\?/);
await isLive();
await page.focus("#pause");
await page.keyboard.press("Space");
await page.waitForFunction(() => document.getElementById("state").textContent === "Paused");

await page.goto(home);
const stops = await links("stop?");
const told = await page.$$eval("#stops a", (all) => all.findLast((a) => a.textContent.includes("old-checks")).href);
const session = (await links("session?")).find((to) => told.includes(new URL(to).searchParams.get("id")));
const pages = { overview: home, checks: new URL("checks", home).href, session, stop: told, newest: stops[0] };
for (const [name, at] of Object.entries(pages)) {
  await page.goto(at, { waitUntil: "domcontentloaded" });
  await isLive();
  await page.evaluate(axe);
  for (const scheme of SCHEMES) {
    await page.emulateMedia({ colorScheme: scheme });
    for (const [size, [width, height]] of Object.entries(SIZES)) {
      await page.setViewportSize({ width, height });
      await page.evaluate(() => window.scrollTo(0, 0));
      if (name === "overview") await picture(`page-${size}-${scheme}`);
      if (name === "checks" || name === "stop") await picture(`page-${name}-${size}-${scheme}`);
      if (name === "stop" && size !== "4k" && (scheme === "dark") === (size === "1280")) {
        await page.evaluate(() => document.querySelector(".sides").scrollIntoView());
        await picture(`page-tests-${size}-${scheme}`);
      }
      await looksRight(name, size, scheme);
    }
  }
  await isReachedByKeyboard(name);
}

// Without JavaScript it is whole.
const plain = await browser.newContext({ javaScriptEnabled: false, storageState: await context.storageState() });
const still = await plain.newPage();
await still.goto(home);
if (!(await still.textContent("#stops")).includes("achieved")) faults.push("without JavaScript the stops are missing");
await browser.close();
console.log(JSON.stringify({ faults, places }));
