import { execFileSync } from "node:child_process"
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, expect, test } from "vitest"
import { completed, completionScripts } from "../../src/boot/command/completion.ts"
import type { CommandTable } from "../../src/boot/command-line.ts"

const run = async () => ({})
const commands: CommandTable = {
  serve: {
    help: "Run",
    flags: {
      "--data": { hint: "DIR", help: "Folder" },
      "--log-level": { hint: "LEVEL", help: "How much", of: ["info", "debug"] },
      "--name": { hint: "NAME", help: "Any" },
    },
    plain: true,
    run,
  },
  backup: { help: "Save", words: { FILE: { help: "Where to" } }, flags: {}, run },
  "config check": { help: "Check", flags: {}, run },
  "config show": { help: "Show", flags: {}, run },
  completion: { help: "Shells", words: { SHELL: { help: "s", of: ["bash"] } }, flags: {}, run },
}

const words = (...typed: string[]) => completed(commands, typed).map((each) => each.split("\t")[0])

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
])("after %j come %j", (typed, offered) => {
  expect(words(...typed)).toEqual(offered)
})

test("a candidate tells its help, but for a word that begins several commands", () => {
  expect(completed(commands, ["s"])).toEqual(["serve\tRun"])
  expect(completed(commands, ["con"])).toEqual(["config"])
})

const folder = mkdtempSync(join(tmpdir(), "latchkey-completion-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test("bash takes the script, and asks the program with what is typed", () => {
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
