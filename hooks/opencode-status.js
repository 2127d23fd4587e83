// Where the goal stands, beside OpenCode's prompt: a plugin of its terminal interface, which tui.json names.
// It only asks `supervisor status-line`, as Claude Code does for its status line, and shows what that prints.
import { createElement } from "@opentui/solid"
import { spawn } from "node:child_process"

const SETUP = {} // filled in by `supervisor install opencode --status-line`
const EVERY_MS = 5000

export default {
  id: "supervisor-status",
  tui: async (api) => {
    api.slots.register({ slots: { session_prompt_right: (_, { session_id }) => line(session_id, api.theme) } })
  },
}

function line(session, theme) {
  const text = createElement("text")
  text.content = ""
  text.fg = theme.current.textMuted
  const look = () => {
    if (text.isDestroyed) return clearInterval(timer)
    ask(session, (said) => { if (!text.isDestroyed && said !== text.plainText) text.content = said })
  }
  const timer = setInterval(look, EVERY_MS)
  timer.unref?.()
  look()
  return text
}

function ask(session, hear) {
  const child = spawn(SETUP.command, ["status-line"], { stdio: ["pipe", "pipe", "ignore"], timeout: EVERY_MS })
  let said = ""
  child.on("error", () => {}) // without Supervisor there is nothing to show
  child.stdin.on("error", () => {})
  child.stdout.on("data", (chunk) => { said += chunk })
  child.on("close", () => hear(said.trim()))
  child.stdin.end(JSON.stringify({ host: "opencode", session_id: session }))
}
