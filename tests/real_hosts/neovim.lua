-- Edits the rubric that nvim was started with, as a person would, and prints what it showed as one JSON object.
-- Every wait is for a condition and bounded; a wait that ends in vain ends nvim with 1 and says for what.

local LIMIT_MS = 60000
local seen = { published = {} }

local function wait_for(what, condition)
  if not vim.wait(LIMIT_MS, condition, 20) then
    error("waited in vain for " .. what)
  end
end

local function shown()
  return vim.tbl_map(function(found)
    return { line = found.lnum, message = found.message, severity = found.severity, source = found.source }
  end, vim.diagnostic.get(0))
end

local function count_publications()
  local heard = vim.lsp.handlers["textDocument/publishDiagnostics"]
  vim.lsp.handlers["textDocument/publishDiagnostics"] = function(err, result, ...)
    table.insert(seen.published, vim.fn.fnamemodify(vim.uri_to_fname(result.uri), ":h:t"))
    return heard(err, result, ...)
  end
end

local function errors()
  return vim.diagnostic.get(0, { severity = vim.diagnostic.severity.ERROR })
end

local function play(elsewhere)
  count_publications()
  local rubric = vim.fn.expand("%:p")
  vim.cmd("edit " .. elsewhere)
  vim.cmd("edit " .. rubric)
  wait_for("the first diagnostics", function() return #seen.published > 0 end)
  seen.opened = shown()

  local criterion = vim.fn.search("NO-PRINT")
  vim.api.nvim_buf_set_lines(0, criterion - 1, criterion, false, {})
  wait_for("an error", function() return #errors() > 0 end)
  seen.broken = shown()

  vim.api.nvim_win_set_cursor(0, { errors()[1].lnum + 1, 0 })
  vim.ui.select = function(offered, _, choose)
    seen.offered = vim.tbl_map(function(one) return (one[2] or one.action or one).title end, offered)
    choose(offered[1], 1)
  end
  vim.lsp.buf.code_action()
  wait_for("the cure", function() return #errors() == 0 end)
  seen.cured = vim.api.nvim_buf_get_lines(0, 0, -1, false)

  vim.fn.search("DONE", "w")
  local place = vim.lsp.util.make_position_params()
  for _, answer in pairs(vim.lsp.buf_request_sync(0, "textDocument/hover", place, LIMIT_MS) or {}) do
    seen.hover = answer.result and answer.result.contents.value or vim.inspect(answer)
  end

  vim.api.nvim_buf_set_lines(0, -1, -1, false, { "", "## " })
  vim.api.nvim_win_set_cursor(0, { vim.api.nvim_buf_line_count(0), 3 })
  local params = vim.lsp.util.make_position_params()
  for _, answer in pairs(vim.lsp.buf_request_sync(0, "textDocument/completion", params, LIMIT_MS) or {}) do
    seen.completed = vim.tbl_map(function(one) return one.label end, answer.result or {})
  end
end

local good, why = xpcall(function() play(vim.env.ELSEWHERE) end, debug.traceback)
seen.trouble = not good and why or nil
io.stdout:write(vim.fn.json_encode(seen))
vim.cmd(good and "quitall!" or "cquit 1")
