// Supervisor's plugin for OpenCode, in one file: tells the sidecar what happens, asks it at every stop, and carries
// out what it answers. It decides one thing alone: which calls of tools would change what is the user's (`refusal`).
// Everything it knows of the host was seen in version 1.18.33.
//
// - One link for the whole process, opened when it is needed, however often the host sets the plugin up.
// - Nothing here may throw at the host or keep it waiting: a hook that throws at once breaks the host's events.
// - A stop that cannot be judged lets the agent rest; a typed command that nothing would enforce is refused.
import { spawn } from "node:child_process"
import { accessSync, closeSync, constants, existsSync, openSync, readFileSync, realpathSync } from "node:fs"
import { createConnection } from "node:net"
import { homedir } from "node:os"
import { fileURLToPath } from "node:url"
import { basename, delimiter, dirname, isAbsolute, join, resolve, sep } from "node:path"

const VERSION = "0.3.0"
const SETUP = {} // filled in by `supervisor install opencode`
// Longest waits, in milliseconds: for a start, for a sign of life (which a working sidecar gives every 2 s), in all.
const STOP = { start: 40_000, silence: 20_000, limit: 900_000 }
const COMMAND = { start: 15_000, silence: 6_000, limit: 30_000 } // a person waits for it
const PROMPT = { start: 2_000, silence: 2_000, limit: 2_000 } // it is only told
const LINE = 15 << 20 // bytes of an answer; the sidecar takes lines of 16 MiB
const RETRY_MS = 20_000 // how long a full queue of connections is tried again
const REMEMBERED = 1000 // events and sessions
const JUDGE = "Supervisor's judge" // the title of its sessions
const TOOLS = "supervisor_" // what the names of our MCP server's tools begin with, as the host lists them
const MARK = { supervisor: true } // on what we write into a session

const argv = process.argv.slice(2)
const words = argv.includes("--") ? argv.slice(0, argv.indexOf("--")) : argv // options end there
const verb = words.find((word) => ["run", "serve", "web", "acp", "attach", "github", "pr"].includes(word))
const has = (...names) =>
  words.some((word, at) => {
    const [name, value = words[at + 1]] = word.split("=")
    return names.includes(name) && value !== "false"
  })
// A run that ends at its first rest: it goes on, and prints, inside of `dispose`.
const RUN = verb === "run" && !has("--attach", "-i", "--interactive", "--mini")
const AUTO = has("--auto", "--yolo", "--dangerously-skip-permissions")
const JSON_LINES = /(^|,)--format[=,]json(,|$)/.test(words.join(","))

// A host that an agent's shell started: what is typed there into a session that was there before is no person's word.
// The host sets these variables for itself, so only how it was started tells.
const NESTED = (() => {
  try {
    return /(^|\0)(OPENCODE|CLAUDECODE)=1(\0|$)/.test(readFileSync("/proc/self/environ", "utf8"))
  } catch {
    return false
  }
})()

// `supervisor acp` stands between the editor and this host: it takes the commands, and reports prompts and stops.
const PROXIED = Boolean(process.env.SUPERVISOR_PROXIED)

const base = (named = "", ...usual) => (isAbsolute(named) ? named : join(homedir(), ...usual))
const STATE = join(base(process.env.XDG_STATE_HOME, ".local", "state"), "supervisor")

// One per process: hosts set a plugin up once for every folder, and sometimes twice.
const own = (globalThis[Symbol.for("supervisor.opencode")] ??= {
  link: undefined, // promise of the link
  places: new Map(), // folder -> the host's API there, the folder's repository, and which commands are ours
  born: new Set(), // sessions that began in this process
  met: new Set(), // sessions that the sidecar was told of
  facts: new Map(), // session -> promise of what the host knows of it
  ours: new Map(), // sessions of our judge -> its instructions
  judging: new Map(), // session -> the message whose stop is being judged
  goals: new Map(), // session -> the message that set its goal
  undone: new Map(), // session -> the message that an undo which is not settled goes back to
  seen: new Set(), // events
  taken: new WeakSet(), // parts of prompts that were dealt with
  resting: undefined, // in a run: the session that rests, and where
  holding: undefined, // in a run: the session that we keep going
  lacking: false, // the person was told that no sidecar can run here
  fence: undefined, // the folders and files that only the user changes
})

const keep = (set, item) => {
  set.add(item)
  if (set.size > REMEMBERED) set.delete(set.values().next().value)
}

// ---- the link to the sidecar: newline-delimited JSON-RPC 2.0, both ways ----------------------------------------------

const failure = (why, more) => Object.assign(new Error(why), more)

class Link {
  constructor(socket) {
    this.socket = socket
    this.waiting = new Map()
    this.number = 0
    this.heard = []
    this.size = 0
    this.open = true
    socket.on("data", (chunk) => this.hear(chunk))
    socket.on("error", () => this.end())
    socket.on("close", () => this.end())
    socket.unref()
  }

  call(method, params, { silence, limit }) {
    const id = ++this.number
    return new Promise((resolve, reject) => {
      const fail = (why) => this.settle(id, () => reject(new Error(why)))
      const hung = () => (silence < STOP.silence ? fail("it is silent") : this.end("it is silent", false))
      const one = { resolve, reject, limit: setTimeout(() => fail("it took too long"), limit) }
      one.renew = () => {
        clearTimeout(one.quiet)
        one.quiet = setTimeout(hung, silence)
        if (!RUN) one.quiet.unref()
      }
      if (!RUN) one.limit.unref()
      this.waiting.set(id, one)
      one.renew()
      this.send({ jsonrpc: "2.0", id, method, params })
    })
  }

  send(message) {
    const line = JSON.stringify(message)
    if (line.length <= CARRIED || !message.params?.event?.messages) return this.socket.write(line + "\n")
    delete message.params.event.messages // the sidecar asks for them by itself
    this.send(message)
  }

  settle(id, then) {
    const one = this.waiting.get(id)
    if (!one) return
    this.waiting.delete(id)
    clearTimeout(one.limit)
    clearTimeout(one.quiet)
    then(one)
  }

  hear(chunk) {
    this.heard.push(chunk)
    this.size += chunk.length
    if (!chunk.includes(10)) return this.size > 2 * LINE && this.end("its answer has no end")
    const all = Buffer.concat(this.heard)
    const end = all.lastIndexOf(10)
    this.heard = [all.subarray(end + 1)]
    this.size = this.heard[0].length
    for (const line of all.toString("utf8", 0, end).split("\n")) {
      try {
        this.take(JSON.parse(line))
      } catch {
        this.end("its answer makes no sense")
      }
    }
  }

  take(message) {
    for (const one of this.waiting.values()) one.renew()
    if (message.method === "opencode") void serve(this, message)
    else if (message.method === "replace") start().catch(() => {})
    else if (message.method === "working")
      for (const session of own.judging.keys()) saying(session, message.params?.judging?.[session])
    else if (message.error) {
      const error = failure(message.error.message, { told: true })
      this.settle(message.id, (one) => one.reject(error))
    } else this.settle(message.id, (one) => one.resolve(message.result))
  }

  end(why = "it hung up", gone = true) {
    if (!this.open) return
    this.open = false
    this.socket.destroy()
    const error = failure(why, { gone })
    for (const id of [...this.waiting.keys()]) this.settle(id, (one) => one.reject(error))
    for (const [id, judge] of own.ours) void leaveNoTrace(id, judge)
  }
}

function dial() {
  if (process.platform === "win32") return Promise.reject(failure("it does not run on Windows yet", { code: "NEVER" }))
  return new Promise((resolve, reject) => {
    // A socket's path may have 108 bytes; a folder that is open has a short name, on Linux.
    const run = join(STATE, "run")
    let path = join(run, "sidecar.sock")
    let folder
    if (Buffer.byteLength(path) > 100) {
      folder = openSync(run, constants.O_RDONLY)
      path = `/proc/self/fd/${folder}/sidecar.sock`
    }
    const done = () => folder !== undefined && closeSync(folder)
    const end = Date.now() + RETRY_MS
    const attempt = () => {
      const socket = createConnection({ path })
      socket.once("connect", () => (done(), resolve(new Link(socket))))
      socket.once("error", (error) => {
        // The sidecar's queue of connections is full.
        if (error.code === "EAGAIN" && Date.now() < end) return setTimeout(attempt, 50)
        done()
        reject(error)
      })
    }
    attempt()
  })
}

async function reach() {
  const asked = (own.link ??= dial().catch(async (error) => {
    if (!["ENOENT", "ECONNREFUSED"].includes(error.code)) throw error
    await start()
    return dial()
  }))
  const link = await asked.catch((error) => error)
  if (link.open) return link
  if (own.link === asked) own.link = undefined
  if (link instanceof Error) throw link
  return reach()
}

function within(promise, ms) {
  let late
  const end = new Promise((_, reject) => (late = setTimeout(() => reject(new Error("it does not start")), ms)))
  if (!RUN) late.unref()
  return Promise.race([promise, end]).finally(() => clearTimeout(late))
}

const fits = (answer) =>
  answer !== null &&
  typeof answer === "object" &&
  ["notice", "say", "context"].every((key) => typeof (answer[key] ?? "") === "string")

// Ask; that the sidecar went away meanwhile is forgiven twice: one that is dying may still take a call.
async function ask(event, limits, again = 2) {
  try {
    const link = await within(reach(), limits.start)
    const params = { event, host: "opencode", version: VERSION, environment: process.env }
    const answer = await link.call("hook", params, limits)
    if (fits(answer)) return answer
    throw new Error("its answer makes no sense")
  } catch (error) {
    if (!error.gone || !again) throw error
    await new Promise((resolve) => setTimeout(resolve, 200))
    return ask(event, limits, again - 1)
  }
}

// ---- the runtime -----------------------------------------------------------------------------------------------------

const KEPT = /^(HOME|PATH|LANG|LC_.*|XDG_.*|TMPDIR|USER|LOGNAME|SUPERVISOR_.*)$/

// Start the runtime and wait until it listens: then it closes its output.
function start() {
  const runtime = [...candidates()].find(usable)
  if (!runtime) return Promise.reject(failure("it has no runtime", { code: "NONE" }))
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => KEPT.test(name)))
  const listens = new Promise((resolve, reject) => {
    const child = spawn(runtime, ["serve"], { cwd: "/", env, detached: true, stdio: ["ignore", "pipe", "ignore"] })
    child.once("error", reject)
    child.stdout.once("close", resolve)
    child.stdout.resume()
    child.unref()
  })
  return within(listens, STOP.start)
}

// First found: what an install recorded, $SUPERVISOR_BIN, PATH without the folders of the projects.
function* candidates() {
  try {
    yield readFileSync(join(STATE, "runtime"), "utf8").trim()
  } catch {}
  yield process.env.SUPERVISOR_BIN ?? ""
  for (const folder of (process.env.PATH ?? "").split(delimiter)) {
    const path = join(folder, "supervisor")
    try {
      const real = realpathSync(path)
      const roots = [...own.places.values()].flatMap((place) => [place.directory, place.worktree])
      const within = (one) => roots.some((root) => root !== "/" && one.startsWith(root + sep))
      if (!within(path) && !within(real) && readFileSync(path, "utf8").slice(0, 4096).includes("sidecar")) yield path
    } catch {}
  }
}

function usable(path) {
  try {
    accessSync(path, constants.X_OK)
    return isAbsolute(path)
  } catch {
    return false
  }
}

// Entries whose servers are started with the runtime that is found here.
function started(entries) {
  const runtime = [...candidates()].find(usable)
  const ours = ({ command }) => runtime && Array.isArray(command) && { command: [runtime, ...command.slice(1)] }
  return Object.fromEntries(Object.entries(entries).map(([name, entry]) => [name, { ...entry, ...ours(entry) }]))
}

// ---- what the sidecar may ask of the host ----------------------------------------------------------------------------

const OFFERED = ["session.abort", "session.create", "session.delete", "session.messages", "session.prompt"]
if (!verb) OFFERED.push("tui.showToast") // elsewhere the host says that it was shown, and nobody sees it

async function serve(link, { id, params }) {
  try {
    const { directory, call, given = {} } = params
    const place = own.places.get(directory)
    if (!place || !OFFERED.includes(call)) throw new Error(`${call} is not offered for this folder`)
    const text = await carryOut(place.host, call, given)
    if (!link.open) return call === "session.create" && (await leaveNoTrace(JSON.parse(text).id, place))
    if (Buffer.byteLength(text) > LINE) throw new Error("the answer is too long")
    link.socket.write(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${text}}\n`)
  } catch (error) {
    link.send({ jsonrpc: "2.0", id, error: { code: -32000, message: String(error?.message ?? error) } })
  }
}

async function carryOut(host, call, given) {
  const [group, name] = call.split(".")
  const session = given.path?.id
  if (name === "prompt" && own.ours.has(session)) own.ours.set(session, { host, system: given.body.system })
  const { data, error } = await host[group][name]({ ...given, parseAs: "text" })
  if (error !== undefined) throw new Error(typeof error === "string" ? error : JSON.stringify(error))
  if (name === "create") own.ours.set(JSON.parse(data).id, { host })
  if (name === "delete") own.ours.delete(session)
  return data || "null"
}

async function leaveNoTrace(id, { host }) {
  own.ours.delete(id)
  try {
    await host.session.abort({ path: { id } })
    await host.session.delete({ path: { id } })
  } catch {}
}

// ---- speaking to the person ------------------------------------------------------------------------------------------

const SHOWN = 8000 // how long a toast stands, in milliseconds
const BETWEEN = 10_000 // how often a screen says again what is done
const AGAIN = 60_000 // how often a run says again what is done

function toast({ host }, text, variant = "info", duration = SHOWN) {
  const message = text.replace(/^Supervisor: /, "") // the title says so
  if (duration === SHOWN) own.shown = Date.now() + SHOWN
  return host.tui.showToast({ body: { title: "Supervisor", message, variant, duration } }).catch(() => {})
}

const say = (place, text, variant) => (RUN ? process.stderr.write(`${text}\n`) : toast(place, text, variant))

// While judging goes on, say what is done, and for how long: the sidecar tells it every 2 s. On a screen it is told now
// and then, as a toast covers the agent's answer where the screen is small, and ends with the judging; another toast that
// is still to be read comes first. In a run it is a line for each thing.
function saying(session, doing) {
  const one = own.judging.get(session)
  if (!one || !doing) return
  if (!RUN) {
    if (own.shown > Date.now() || Date.now() < one.again) return
    one.again = Date.now() + BETWEEN
    return void toast(one.place, `${doing}\nTo end it, type a prompt or /supervisor:goal clear`, "info", 3000)
  }
  const what = doing.replace(/, \d+ \S+$/, "")
  if (what === one.said && Date.now() < one.again) return
  Object.assign(one, { said: what, again: Date.now() + AGAIN })
  process.stderr.write(`Supervisor: ${doing}\n`)
}

// A message that is no part of the conversation: a line of ours, a command of the person's own, a summary.
function aside({ info, parts }) {
  const beside = (part) => part.ignored || part.type === "compaction" || (part.synthetic && !part.metadata)
  if (info.role === "user") return parts.length > 0 && parts.every(beside)
  const shell = !info.finish && !info.error && info.time?.completed && !parts.some((part) => part.type === "step-start")
  return info.summary === true || shell
}

const NEWEST = 64 // messages in which the last turn mostly is, as many as the sidecar would ask for first
const CARRIED = 1 << 20 // characters of an event with messages

// The newest message of the conversation, the newest of all, and the messages that were asked for.
async function newest({ host }, id, limits = [8, NEWEST]) {
  for (const limit of limits) {
    const { data } = await host.session.messages({ path: { id }, query: { limit } })
    const found = data?.findLast((message) => !aside(message))
    if (found || !data || data.length < limit) return { last: found?.info, latest: data?.at(-1)?.info, listed: data }
  }
  return {}
}

// Whether a person could be overruled by what we write now: a newer word, work, or an undo that is not settled.
async function moved(place, id, last) {
  const asked = place.host.session.get({ path: { id } })
  const [now, works, { data }] = await Promise.all([newest(place, id), busy(place, id), asked])
  return now.last?.id !== last?.id || works || !data || Boolean(data.revert)
}

const busy = async ({ host }, id) => Boolean(((await host.session.status()).data ?? {})[id])

// Agent, model and variant of the last prompt: without them the host takes its default agent, which may write
// where the session's may not.
async function route(place, id, last) {
  const path = last?.role === "assistant" && { id, messageID: last.parentID }
  const { agent, model, variant } = (path && (await place.host.session.message({ path })).data?.info) || last || {}
  if (!model) return {}
  return { agent, model: { providerID: model.providerID, modelID: model.modelID }, variant: model.variant ?? variant }
}

// A line that stays in the session and that no model reads. In a busy session it would cost a model request.
// Without an earlier prompt there is no agent to name, and the host would take its default one from then on.
async function note(place, id, text, way) {
  if (RUN || !way?.agent) return false
  const parts = [{ type: "text", text, ignored: true, metadata: MARK }]
  await place.host.session.prompt({ path: { id }, body: { ...way, noReply: true, parts } })
  return true
}

async function noteAtRest(place, id, text) {
  const { last } = await newest(place, id)
  const way = await route(place, id, last)
  return !(await moved(place, id, last)) && (await note(place, id, text, way))
}

function trouble(error, so) {
  if (error.told) return `Supervisor: ${error.message}`
  if (error.code === "NONE") return "Supervisor has no runtime. Type in a shell: supervisor install opencode"
  if (error.code === "NEVER") return `Supervisor: ${error.message}`
  return `Supervisor did not answer (${error.message}): ${so}. Type in a shell: supervisor doctor`
}

// ---- what only the user changes --------------------------------------------------------------------------------------
// A fence against the plain ways, and no more: a tool that edits files and is given a path into one of these folders,
// and a shell line that names state or configuration and has a command in it that is not known to read alone. It runs
// at each call of a tool, so it asks nobody. A folder that is merely called `supervisor` is none of these.

const SECRETS = ["mcp-token", "team-password"].map((name) => join(STATE, name)) // not to be read either
const FOLDERS = [
  STATE,
  join(base(process.env.XDG_CONFIG_HOME, ".config"), "supervisor"),
  join(homedir(), ".config", "opencode", "supervisor"),
  join(process.env.CLAUDE_CONFIG_DIR || join(homedir(), ".claude"), "plugins", "cache", "supervisor"),
  fileURLToPath(import.meta.url), // this file
]
const WRITERS = ["edit", "write", "multiedit", "apply_patch", "patch"]
const READERS = "cat|cd|diff|du|echo|file|grep|head|jq|ls|pwd|rg|stat|tail|wc"
const READS = new RegExp(`^\\s*(?:(?:${READERS})\\b[^;&|<>\`()\\n]*(?:[;\\n]|\\|\\|?|&&|$)\\s*)+$`)
const PATCHED = /^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+)$/gm

// Where a path leads, also where there is nothing yet.
function real(path) {
  try {
    return realpathSync(path)
  } catch {
    return dirname(path) === path ? path : join(real(dirname(path)), basename(path))
  }
}

// The ways to write a folder in a shell line whose quotes and braces are taken out.
function spellings(folder) {
  const plain = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")
  const inside = folder.startsWith(homedir() + sep)
  return inside ? `(?:~|\\$HOME|${plain(homedir())})${plain(folder.slice(homedir().length))}` : plain(folder)
}

const NAMED = new RegExp(`(?:\\$XDG_(?:STATE|CONFIG)_HOME/supervisor|${FOLDERS.map(spellings).join("|")})(?![\\w.-])`)

// The runtime's command, and the environment that it runs in: what an install recorded.
function runtimeFiles() {
  try {
    const command = readFileSync(join(STATE, "runtime"), "utf8").trim()
    const environment = dirname(dirname(real(command)))
    return existsSync(join(environment, "pyvenv.cfg")) ? [command, environment] : [command]
  } catch {
    return []
  }
}

function fenced(path) {
  own.fence ??= [...FOLDERS, ...runtimeFiles()].flatMap((one) => [one, real(one)])
  return own.fence.some((one) => path === one || path.startsWith(one + sep))
}

// Why this call is refused; undefined where it is not.
function refusal(directory, tool, { filePath, path, patchText, command, workdir }) {
  const at = (name) => real(resolve(directory, name.replace(/^~(?=\/|$)/, homedir())))
  const texts = (...all) => all.filter((one) => typeof one === "string")
  const only = "only the user changes it. Go on without it, or tell the user what to change there."
  if (WRITERS.includes(tool)) {
    const patched = texts(patchText).flatMap((text) => [...text.matchAll(PATCHED)].map((found) => found[1].trim()))
    const found = [...texts(filePath), ...patched].find((name) => fenced(at(name)))
    return found && `${found} is Supervisor's own: ${only}`
  }
  if (["read", "grep"].includes(tool)) {
    const read = SECRETS.find((secret) => texts(filePath, path).some((name) => at(name) === real(secret)))
    return read && `${read} is the user's secret.`
  }
  if (tool !== "bash" || typeof command !== "string") return
  const line = command.replace(/["'{}\\]/g, "")
  if (!NAMED.test(line) && !texts(workdir).some((name) => fenced(at(name)))) return
  const named = SECRETS.find((secret) => line.includes(basename(secret)))
  if (named) return `${named} is the user's secret.`
  if (READS.test(line.replace(/2>(?:&1|\s*\/dev\/null)/g, ""))) return
  return `This line names a folder of Supervisor's own, and not only to read it: ${only}`
}

// ---- what happens ----------------------------------------------------------------------------------------------------

// What the host knows of a session, which never changes while the session lives.
function facts({ host, directory }, id) {
  if (!own.facts.has(id)) {
    const asked = host.session.get({ path: { id } }).then(({ data }) => {
      if (!data) throw new Error("the host does not know the session")
      return { id, parentID: data.parentID, directory }
    })
    asked.catch(() => own.facts.delete(id))
    own.facts.set(id, asked)
    if (own.facts.size > REMEMBERED) own.facts.delete(own.facts.keys().next().value)
  }
  return own.facts.get(id)
}

// The session that a helper works for; its own where it is none.
async function patron(place, id) {
  const { parentID } = await facts(place, id)
  return parentID ? patron(place, parentID) : id
}

// Say in a call of our own tool whose it is, and tell of it: the sidecar may not have met the session yet.
// A tool of somebody else's whose name only begins as ours do keeps what it was given.
async function identify(place, id, tool, args) {
  const { session: given } = args
  delete args.session // whatever the model put there
  try {
    const session = await patron(place, id)
    args.session = PROXIED ? `acp:${session}` : session
    if (PROXIED) return
    const { ours } = await tell(place, session, { type: "tool", tool }, PROMPT)
    if (ours) return
    delete args.session
    if (given !== undefined) args.session = given
  } catch {} // then the tool says what is wrong
}

async function tell(place, id, event, limits) {
  const asked = facts(place, id)
  const session = await asked
  if (!own.met.has(id)) {
    keep(own.met, id)
    try {
      void sweep(place, id).catch(() => {})
      const fresh = own.born.has(id)
      const greeting = await ask({ type: "session.start", session, fresh, run: RUN }, limits)
      // A terminal that goes from its first screen to a new session loses what is shown meanwhile; a command answers.
      if (greeting.notice && !fresh) say(place, greeting.notice)
      else if (greeting.notice && event.type === "prompt") setTimeout(() => toast(place, greeting.notice), 2000).unref()
    } catch (error) {
      own.met.delete(id)
      throw error
    }
  }
  // Told after its deletion, it would be kept as a new one.
  if (own.facts.get(id) !== asked) throw failure("the session is gone")
  return ask({ ...event, session }, limits)
}

// A host that was killed may have left the session of a judge behind.
async function sweep({ host }, id) {
  const { data } = await host.session.children({ path: { id } })
  const old = data?.filter(({ title, time }) => title === JUDGE && time.created < Date.now() - STOP.limit)
  for (const child of old ?? []) await host.session.delete({ path: { id: child.id } })
}

// An undo goes back to the newest message of a user, and puts its text into the prompt box. A line of ours is none of
// their words: what they said before it is what they take back.
const ofOurs = ({ info, parts }) =>
  info.role === "user" && parts.length > 0 && parts.every((part) => part.metadata?.supervisor)

async function undo({ host }, { id, revert }) {
  const known = own.undone.get(id)
  own.undone.set(id, revert?.messageID)
  if (!revert || known === revert.messageID) return
  const { data } = await host.session.messages({ path: { id } })
  const at = data.findIndex(({ info }) => info.id === revert.messageID)
  if (at < 0 || !ofOurs(data[at])) return
  await host.tui.clearPrompt()
  const meant = data.slice(0, at).findLast((message) => message.info.role === "user" && !ofOurs(message))
  if (!meant) return
  await host.session.revert({ path: { id }, body: { messageID: meant.info.id } })
  const said = meant.parts.filter((part) => part.type === "text" && !part.synthetic).map(({ text }) => text)
  await host.tui.appendPrompt({ body: { text: said.join("") } })
}

// The prompt that set the goal was taken back, and something else was typed instead.
async function takenBack(place, id) {
  own.goals.delete(id)
  const { notice } = await tell(place, id, { type: "command", name: "goal", arguments: "clear" }, COMMAND)
  toast(place, `${notice}\nYou took back the prompt that set it. To set it again, type it again`, "warning")
}

// One stop: what to say to the agent, or undefined where it may rest.
async function judge(place, id) {
  const mine = { place }
  try {
    const { last, latest, listed } = await newest(place, id, [NEWEST])
    if (!last) return
    const judged = own.judging.get(id)
    if (judged?.message === last.id) {
      // A rest that brings nothing new while it is judged is an abort: the person wants it to end.
      const error = { name: "MessageAbortedError" }
      if (judged.latest === latest.id) await tell(place, id, { type: "session.error", error }, COMMAND)
      judged.latest = latest.id
      return
    }
    Object.assign(mine, { message: last.id, latest: latest.id })
    own.judging.set(id, mine)
    const told = await tell(place, id, { type: "session.idle", last, messages: listed, run: RUN }, STOP)
    const way = told.notice && (await route(place, id, last))
    const overruled = await moved(place, id, last) // the user was faster
    const tells = told.notice && !(told.say && overruled)
    if (tells && (RUN || overruled)) say(place, told.notice, told.variant)
    if (overruled) return
    if (told.say) return continuation(way, told)
    // A line in the session says it; a toast would say it twice.
    if (tells && !RUN && !(await note(place, id, told.notice, way))) say(place, told.notice, told.variant)
  } catch (error) {
    const never = ["NONE", "NEVER"].includes(error.code)
    if (never && own.lacking) return
    own.lacking = never
    const text = trouble(error, "this stop was not judged")
    if (!(await noteAtRest(place, id, text).catch(() => false))) say(place, text, "warning")
  } finally {
    if (own.judging.get(id) === mine) own.judging.delete(id)
    if (mine.again > Date.now() && !RUN && own.shown < Date.now()) toast(place, "done", "info", 1) // ends "running"
  }
}

const continuation = (way, told) => ({
  ...way,
  parts: [
    { type: "text", text: told.say, synthetic: true, metadata: MARK },
    { type: "text", text: told.notice, ignored: true, metadata: MARK },
  ],
})

// A typed command: what the model is to read beside it. Throwing is the only way to end one without a model.
async function typed(place, id, name, given) {
  let told
  try {
    if ((await facts(place, id)).parentID) throw failure("a helper's session has no goal of its own", { told: true })
    const nested = NESTED && !own.born.has(id)
    told = await tell(place, id, { type: "command", name, arguments: given, nested }, COMMAND)
    if (!told.notice) throw failure("its answer says nothing")
  } catch (error) {
    told = { notice: trouble(error, "nothing would enforce this command"), variant: "error", refused: true }
  }
  if (told.work) {
    say(place, told.notice, told.variant)
    return told.context
  }
  if (RUN) {
    const part = { type: "text", text: told.notice, sessionID: id, metadata: MARK }
    const line = JSON_LINES ? jsonLine("text", id, { part }) : told.notice
    process.stdout.write(`${line}\n`, () => process.exit(told.refused ? 1 : 0))
    return new Promise(() => {})
  }
  const written = await noteAtRest(place, id, told.notice).catch(() => false)
  // A terminal that goes from its first screen to a new session loses what is shown meanwhile.
  if (!written) setTimeout(() => toast(place, told.notice, told.variant), 2000)
  throw new Error(told.notice)
}

// `opencode run` hands words on in quotes, and escapes those in them.
function unquoted(text) {
  const word = text.trim()
  const inner = word.slice(1, -1)
  const quoted = /^"[^]*"$/.test(word) && !inner.replaceAll('\\"', "").includes('"')
  return quoted ? inner.replaceAll('\\"', '"') : text
}

// `opencode run "/supervisor:goal ..."` and other programs send a command as a prompt, in quotes or not.
async function typedAsPrompt(place, id, parts, part) {
  const found = /^\/supervisor:(\w+)(?:\s+([^]*))?$/.exec(unquoted(part.text).trim())
  if (!found || !place.commands.has(`supervisor:${found[1]}`) || (await facts(place, id)).parentID) return false
  const [, name, given = ""] = found
  const context = await typed(place, id, name, given)
  const { template = "$ARGUMENTS" } = SETUP.config?.command?.[`supervisor:${name}`] ?? {}
  setToWork(parts, part, { name, given, body: template.replaceAll("$ARGUMENTS", () => given), context })
  return true
}

// What was typed stays what the person sees and what counts as said; what it stands for is for the agent alone.
function setToWork(parts, part, { name, given, body, context }) {
  part.text = `/supervisor:${name} ${given}`
  const { sessionID, messageID } = part // of a message that is made already: its parts need these, and an order
  const id = part.id && { id: part.id.slice(0, -4) + "zzzz", sessionID, messageID }
  parts.push({ ...id, type: "text", text: `${body}\n\n${context ?? ""}`.trim(), synthetic: true, metadata: MARK })
}

// In a run the host prints no more when it has rested once; so this does, as the host would.
const jsonLine = (type, id, rest) => JSON.stringify({ type, timestamp: Date.now(), sessionID: id, ...rest })

function print(type, id, rest) {
  if (JSON_LINES) process.stdout.write(`${jsonLine(type, id, rest)}\n`)
}

// A call as the host draws it: a sign, what it is, and for some what came of it.
function drawn({ tool, state }) {
  const input = state.input ?? {}
  if (tool === "bash") return `$ ${input.command}\n${state.output?.trim() || state.error || "(no output)"}`
  const name = `${tool[0].toUpperCase()}${tool.slice(1)} ${state.title ?? input.filePath ?? ""}`.trim()
  if (state.error) return `✗ ${name} failed\nError: ${state.error}`
  return `${{ read: "→", write: "←", edit: "←" }[tool] ?? "⚙"} ${name}`
}

function show(part) {
  const ended = part.type === "tool" && ["completed", "error"].includes(part.state.status)
  if (ended) print("tool_use", part.sessionID, { part })
  if (ended && !JSON_LINES) process.stderr.write(`${drawn(part)}\n\n`)
  if (part.type === "step-start") print("step_start", part.sessionID, { part })
  if (part.type === "step-finish") print("step_finish", part.sessionID, { part })
  if (part.type !== "text" || !part.time?.end) return
  print("text", part.sessionID, { part })
  if (!JSON_LINES && part.text.trim()) process.stdout.write(`${part.text.trim()}\n`)
}

async function answerPermission({ host }, { id, sessionID, permission }) {
  const response = AUTO ? "once" : "reject"
  if (!AUTO && !JSON_LINES) process.stderr.write(`! permission requested: ${permission}; auto-rejecting\n`)
  await host.postSessionIdPermissionsPermissionId({ path: { id: sessionID, permissionID: id }, body: { response } })
}

async function happened(place, { type, properties }) {
  const id = properties?.sessionID ?? properties?.info?.id
  if (own.ours.has(id)) return
  const held = own.holding
  if (held && type === "message.part.updated" && properties.part.sessionID === held) show(properties.part)
  if (held && type === "permission.asked") await answerPermission(place, properties)
  if (type === "session.created") keep(own.born, id)
  if (type === "session.updated" && !verb) await undo(place, properties.info)
  if (type === "message.removed" && own.goals.get(id) === properties.messageID) await takenBack(place, id)
  if (type === "session.error" && id) {
    if (held === id) print("error", id, { error: properties.error })
    const why = properties.error?.data?.message ?? properties.error?.name
    if (held === id && !JSON_LINES) process.stderr.write(`Error: ${why}\n`)
    await tell(place, id, { type, error: properties.error }, COMMAND)
  }
  if (type === "session.deleted") {
    own.met.delete(id)
    own.facts.delete(id)
    const session = { id, parentID: properties.info.parentID, directory: place.directory }
    await ask({ type, session }, COMMAND)
  }
  if (type !== "session.idle") return
  if (RUN) {
    if (!held && !(await facts(place, id)).parentID) own.resting = { place, id }
    return
  }
  const body = await judge(place, id)
  const failed = body && (await place.host.session.promptAsync({ path: { id }, body })).error
  if (failed) say(place, "Supervisor could not send the agent back: the session takes no prompt. Type one to go on", "warning")
}

// ---- what the host calls ---------------------------------------------------------------------------------------------

export const Supervisor = async ({ client: host, directory, worktree }) => {
  if (process.env.SUPERVISOR_WORKER) return {} // a worker or judge of ours
  const place = { host, directory, worktree, commands: own.places.get(directory)?.commands ?? new Set() }
  own.places.set(directory, place)
  const hooks = {
    config: async (config) => {
      for (const [section, entries] of Object.entries(SETUP.config ?? {})) {
        if (PROXIED && section === "command") continue
        const theirs = config[section] ?? {}
        if (typeof theirs === "object") config[section] = { ...started(entries), ...theirs }
      }
      // What the user has under a name of ours is the user's.
      for (const [name, { template }] of Object.entries(SETUP.config?.command ?? {}))
        if (config.command?.[name]?.template === template) place.commands.add(name)
      // Where the user has no language servers, one entry would switch on all of the host's own.
      if (SETUP.lsp && config.lsp) config.lsp = { ...started(SETUP.lsp), ...(config.lsp === true ? {} : config.lsp) }
    },
    event: async ({ event }) => {
      try {
        if (event.id && own.seen.has(event.id)) return
        if (event.id) keep(own.seen, event.id)
        await happened(place, event)
      } catch {} // there is nobody to tell; the next stop says what is wrong
    },
    "chat.message": async ({ sessionID }, { message, parts }) => {
      const marked = () => parts.some((part) => part.metadata?.supervisor)
      const sets = () => marked() && parts.some(({ text }) => /^\/supervisor:goal\s/.test(text ?? ""))
      if (sets()) own.goals.set(sessionID, message.id)
      if (own.ours.has(sessionID) || own.taken.has(parts) || marked()) return
      own.taken.add(parts)
      const said = parts.filter((part) => part.type === "text" && !part.synthetic && !part.ignored)
      if (said.length === 1 && (await typedAsPrompt(place, sessionID, parts, said[0])))
        return void (sets() && own.goals.set(sessionID, message.id))
      const told = parts.map(({ type, synthetic, ignored }) => ({ type, synthetic, ignored }))
      const event = { type: "prompt", message: message.id, agent: message.agent, parts: told }
      const { notice } = (await tell(place, sessionID, event, PROMPT).catch(() => {})) ?? {}
      if (notice) say(place, notice, "warning")
    },
    "command.execute.before": async ({ command, sessionID, arguments: given }, { parts }) => {
      if (!place.commands.has(command) || own.taken.has(parts)) return
      const name = command.slice("supervisor:".length)
      own.taken.add(parts)
      const context = await typed(place, sessionID, name, given)
      const part = parts.find(({ type }) => type === "text")
      const plain = unquoted(given)
      if (part) setToWork(parts, part, { name, given: plain, body: part.text.replaceAll(given, () => plain), context })
    },
    "tool.execute.before": async ({ tool, sessionID }, output) => {
      const refused = refusal(directory, tool, output.args ?? {})
      if (refused) throw new Error(refused) // how a plugin refuses a call; the host shows it, and the agent reads it
      if (tool.startsWith(TOOLS)) await identify(place, sessionID, tool.slice(TOOLS.length), output.args)
    },
    "experimental.chat.system.transform": async ({ sessionID }, { system }) => {
      const judge = own.ours.get(sessionID)
      if (judge?.system) system.splice(0, system.length, judge.system)
    },
    dispose: async () => {
      const { place: here, id } = own.resting ?? {}
      if (!RUN || own.holding || !id) return
      own.holding = id
      try {
        await here.host.config.providers() // the host comes up again, our `config` before its list of agents
        for (let body; (body = await judge(here, id)); ) {
          const { data, error } = await here.host.session.prompt({ path: { id }, body })
          if (error || data?.info?.error) return void (process.exitCode = 1) // as the host ends a run that failed
        }
      } catch (error) {
        process.stderr.write(`Supervisor: ${error.message}\n`)
      }
    },
  }
  const { config, "tool.execute.before": before } = hooks
  return PROXIED ? { config, "tool.execute.before": before } : hooks
}
