import { execFileSync } from "node:child_process"
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, expect, test } from "vitest"
import { completionScripts, completionsFor } from "../../src/boot/command/completion.ts"
import type { CommandTable } from "../../src/boot/command-line.ts"

const runNothing = async () => ({})
const commands: CommandTable = {
  serve: {
    help: "Run",
    flags: {
      "--data": { hint: "DIR", help: "Folder" },
      "--log-level": { hint: "LEVEL", help: "How much", values: ["info", "debug"] },
      "--name": { hint: "NAME", help: "Any" },
    },
    hasNoJson: true,
    run: runNothing,
  },
  backup: { help: "Save", arguments: { FILE: { help: "Where to" } }, flags: {}, run: runNothing },
  "config check": { help: "Check", flags: {}, run: runNothing },
  "config show": { help: "Show", flags: {}, run: runNothing },
  completion: {
    help: "Shells",
    arguments: { SHELL: { help: "s", values: ["bash"] } },
    flags: {},
    run: runNothing,
  },
}

const listCompletions = (...typed: string[]) =>
  completionsFor(commands, typed).map((each) => each.split("\t")[0])

test.each<[typed: string[], offered: string[]]>([
  [[""], ["serve", "backup", "config", "completion"]],
  [["co"], ["config", "completion"]],
  [
    ["config", ""],
    ["check", "show"],
  ],
  [["config", "show", "--j"], ["--json"]],
  [
    ["serve", "--"],
    ["--data", "--log-level", "--name", "--help"],
  ],
  [["serve", "--name", "x", "--n"], []],
  [
    ["serve", "--log-level", ""],
    ["info", "debug"],
  ],
  [["serve", "--log-level=d"], ["--log-level=debug"]],
  [["serve", "--data", "/e"], [":files"]],
  [["serve", "--name", ""], []],
  [["backup", ""], [":files"]],
  [
    ["backup", "a", "-"],
    ["--json", "--help"],
  ],
  [["completion", "b"], ["bash"]],
  [["unknown", ""], []],
])("completes %j with %j", (typed, offered) => {
  expect(listCompletions(...typed)).toEqual(offered)
})

test("a candidate has its help, except for a word that starts several commands", () => {
  expect(completionsFor(commands, ["s"])).toEqual(["serve\tRun"])
  expect(completionsFor(commands, ["con"])).toEqual(["config"])
})

const folder = mkdtempSync(join(tmpdir(), "latchkey-completion-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test("bash loads the script, which calls the program with the typed words", () => {
  const asked = join(folder, "latchkey")
  writeFileSync(
    asked,
    `#!/bin/sh\necho "$*" >> ${folder}/asked\nprintf 'serve\\tRun\\n--data\\tDir\\n'`,
  )
  chmodSync(asked, 0o755)
  const script = `${completionScripts.bash}
    COMP_WORDS=(${asked} serve --d) COMP_CWORD=2
    _latchkey
    printf '%s,' "\${COMPREPLY[@]}"
    cat ${folder}/asked
    complete -p latchkey`
  const printed = execFileSync("bash", ["-c", script], { encoding: "utf8" })
  expect(printed).toBe(
    "serve,--data,__complete serve --d\ncomplete -o filenames -F _latchkey latchkey\n",
  )
})
